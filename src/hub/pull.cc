#include "hub/pull.h"

#include <fstream>

#include "hub/partial_file.h"
#include "hub/reference.h"
#include "hub/source.h"

namespace brio::hub {
namespace {

namespace fs = std::filesystem;

// Everything about one pull; the store's lock is held.
class Pull {
 public:
  Pull(const Reference& reference, const Store& store, const PullOptions& options)
      : entry_(reference.entry), reference_(reference), store_(store), options_(options), sha256_(entry_.sha256) {}

  Result<Pulled> run() {
    if (store_.has(entry_.name)) {
      BRIO_TRY(bool same, is_here());
      if (same) return outcome(true);
    }
    const int64_t room = free_bytes(store_.folder());
    BRIO_TRY(PartialFile file, PartialFile::open(store_.partial_path(entry_.name)));
    if (room > 0 && entry_.size_bytes - file.size_bytes() > room) {
      return error(ErrorCode::kIo, "{}: {} more bytes are needed, the disk has {}", store_.folder().string(),
                   entry_.size_bytes - file.size_bytes(), room);
    }
    std::vector<Error> failures;
    for (const Source& source : entry_.sources) {
      auto fetched = fetch(source, file);
      if (fetched.ok()) fetched = verify(file);
      if (fetched.ok()) {
        BRIO_TRY_OK(file.finish(store_.path(entry_.name)));
        clean_up();
        return outcome(false);
      }
      if (fetched.error().code == ErrorCode::kCancelled) return std::move(fetched).error();
      failures.push_back(std::move(fetched).error());
    }
    return all_failed(failures);
  }

 private:
  // Whether the stored file is the one asked for; one that is damaged is fetched again.
  Result<bool> is_here() const {
    std::error_code ignored;
    const auto size = static_cast<int64_t>(fs::file_size(store_.path(entry_.name), ignored));
    if (entry_.size_bytes > 0 && size != entry_.size_bytes) return false;
    if (!entry_.sha256.empty()) {
      ProgressMeter meter(options_.progress, "verifying", 0, size);
      BRIO_TRY(const std::string digest, sha256_of_file(store_.path(entry_.name), meter));
      return digest == entry_.sha256;
    }
    if (entry_.size_bytes > 0) return true;
    std::string from;
    std::ifstream in(source_path());
    std::getline(in, from);
    if (from == entry_.sources[0].url) return true;
    Error taken = error(ErrorCode::kInvalidArgument, "the store has another model called '{}'{}", entry_.name,
                        from.empty() ? "" : ", from " + from);
    taken.hint = fmt::format("Remove it first: brio rm {}", entry_.name);
    return taken;
  }

  Result<void> fetch(const Source& source, PartialFile& file) {
    if (!source.packages.empty()) {
      return fetch_packages(source.packages, store_.work_folder(entry_.name), file, options_.progress);
    }
    UrlRequest request;
    BRIO_TRY(request.url, net::parse_url(source.url));
    request.bearer_token = reference_.bearer_token;
    request.expected_bytes = entry_.size_bytes;
    request.expected_sha256 = sha256_;
    request.trust_linked_etag = reference_.from_hub;
    request.etag_path = store_.folder() / fmt::format("{}.etag", entry_.name);
    auto fetched = fetch_url(request, file, options_.progress);
    sha256_ = request.expected_sha256;
    return fetched;
  }

  // A file that fails is emptied: trying again starts from nothing.
  Result<void> verify(PartialFile& file) {
    auto checked = check(file);
    if (!checked.ok() && checked.error().code != ErrorCode::kCancelled) BRIO_TRY_OK(file.truncate(0));
    return checked;
  }

  Result<void> check(PartialFile& file) const {
    if (entry_.size_bytes > 0 && file.size_bytes() != entry_.size_bytes) {
      return error(ErrorCode::kChecksum, "'{}' has {} bytes, expected {}", entry_.name, file.size_bytes(),
                   entry_.size_bytes);
    }
    BRIO_TRY(bool gguf, file.starts_as_gguf());
    if (!gguf) return error(ErrorCode::kInvalidFile, "'{}': what arrived is not a GGUF file", entry_.name);
    if (sha256_.empty()) return {};
    ProgressMeter meter(options_.progress, "verifying", 0, file.size_bytes());
    BRIO_TRY(std::string digest, file.sha256(meter));
    if (digest == sha256_) return {};
    return error(ErrorCode::kChecksum, "'{}' has the SHA-256 {}, expected {}", entry_.name, digest, sha256_);
  }

  void clean_up() const {
    std::error_code ignored;
    fs::remove_all(store_.work_folder(entry_.name), ignored);
    fs::remove(store_.folder() / fmt::format("{}.etag", entry_.name), ignored);
    if (!entry_.sources[0].url.empty()) std::ofstream(source_path(), std::ios::trunc) << entry_.sources[0].url << '\n';
  }

  fs::path source_path() const { return store_.folder() / fmt::format("{}.source", entry_.name); }

  Pulled outcome(bool was_here) const {
    std::error_code ignored;
    const fs::path path = store_.path(entry_.name);
    return {entry_.name, path, static_cast<int64_t>(fs::file_size(path, ignored)), was_here, !sha256_.empty()};
  }

  Error all_failed(std::vector<Error>& failures) const {
    Error all = std::move(failures.back());
    failures.pop_back();
    if (!failures.empty()) {
      std::string messages;
      for (const Error& failure : failures) messages += failure.message + "; ";
      all.message = fmt::format("'{}': every source failed: {}{}", entry_.name, messages, all.message);
    }
    const bool may_go_on = all.code == ErrorCode::kNetwork || all.code == ErrorCode::kTimeout;
    if (all.hint.empty() && may_go_on) all.hint = "What has arrived is kept: the same command goes on from there.";
    return all;
  }

  const CatalogueEntry& entry_;
  const Reference& reference_;
  const Store& store_;
  const PullOptions& options_;
  std::string sha256_;  // known beforehand, or learnt from the hub
};

Result<Pulled> pull_reference(const Reference& reference, const Store& store, const PullOptions& options) {
  BRIO_TRY_OK(check_name(reference.entry.name));
  if (reference.entry.sources.empty()) {
    return error(ErrorCode::kNotFound, "'{}' has no source", reference.entry.name);
  }
  BRIO_TRY_OK(store.create_folder());
  BRIO_TRY(StoreLock lock, store.lock(reference.entry.name));
  return Pull(reference, store, options).run();
}

}  // namespace

Result<Pulled> pull(const std::string& what, const Store& store, const PullOptions& options) {
  BRIO_TRY(Reference reference, parse_reference(what));
  return pull_reference(reference, store, options);
}

Result<Pulled> pull_entry(const CatalogueEntry& entry, const Store& store, const PullOptions& options) {
  return pull_reference(Reference{entry, "", false}, store, options);
}

}  // namespace brio::hub
