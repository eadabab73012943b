#include "prove/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/sha256.h"

namespace brio::prove {
namespace {

constexpr int kRunsUntilItOccurs = 20;  // times as many before a row is called vacuous

std::string show(const Operation& operation) {
  return operation.layer == kNoLayer ? operation.name : fmt::format("layer {}, {}", operation.layer, operation.name);
}

// "element 3 of 64: 0.25 became 0.26, 17 differ"
std::string show_values(const std::vector<float>& expected, const std::vector<float>& got) {
  if (expected.size() != got.size()) return fmt::format("{} values became {}", expected.size(), got.size());
  size_t first = expected.size();
  size_t differing = 0;
  for (size_t i = expected.size(); i-- > 0;) {
    if (std::memcmp(&expected[i], &got[i], sizeof(float)) == 0) continue;
    first = i;
    ++differing;
  }
  if (differing == 0) return "values equal when run again";
  return fmt::format("element {} of {}: {:.9g} became {:.9g}, {} differ", first, expected.size(), expected[first],
                     got[first], differing);
}

std::string show(const Setup& setup) {
  return fmt::format("{}, {} threads, {} visits, steps of {} rows", name(setup.isa), setup.threads, setup.visits.size(),
                     setup.max_rows);
}

}  // namespace

Matrix::Matrix(TracedModel& model, Material material, uint64_t seed)
    : model_(model), material_(std::move(material)), seed_(seed), answers_(material_.texts.size()) {}

Result<void> Matrix::run_alone(const std::function<bool(int done, int of)>& on_text) {
  const int count = static_cast<int>(material_.texts.size());
  for (int text = 0; text < count; ++text) {
    if (!on_text(text, count)) return error(ErrorCode::kCancelled, "stopped");
    const Setup setup = alone(text, material_);
    const Outcome outcome = run(model_, material_.texts, answers_, setup);
    if (outcome.difference) {
      return error(ErrorCode::kNumeric, "text {} alone: {}", text, describe(setup, *outcome.difference));
    }
  }
  return {};
}

RowResult Matrix::prove(const Row& row, int runs, const RowResult& earlier, const OnRun& on_run) {
  RowResult result = earlier;
  result.name = row.name;
  runs = std::max(runs, row.least_runs);
  Evidence seen;
  while (result.runs < (result.status == RowResult::Status::kEqual ? runs : runs * kRunsUntilItOccurs)) {
    Rng rng(hash_bytes(row.name, seed_ + static_cast<uint64_t>(result.runs)));
    Setup setup = random_setup(rng, material_);
    row.arrange(setup, rng, material_, result.runs);
    const Outcome outcome = run(model_, material_.texts, answers_, setup);
    seen.add(outcome.evidence);
    ++result.runs;
    result.combinations += outcome.combinations;
    result.positions += outcome.positions;
    const std::string missing = row.missing(seen, material_);
    const bool was_seen = earlier.status == RowResult::Status::kEqual;  // before these runs
    if (missing.empty() || !was_seen) {
      result.occurred = row.occurred(seen);
      result.detail = missing;
      result.status = missing.empty() ? RowResult::Status::kEqual : RowResult::Status::kVacuous;
    }
    if (outcome.difference) {
      result.status = RowResult::Status::kDiffers;
      result.detail =
          fmt::format("run {} ({}): {}", result.runs - 1, show(setup), describe(setup, *outcome.difference));
      return result;
    }
    if (!on_run(result)) break;
  }
  return result;
}

std::string Matrix::describe(const Setup& setup, const Difference& difference) {
  const auto text = static_cast<size_t>(setup.visits[static_cast<size_t>(difference.visit)].text);
  const std::string where = fmt::format("text {} ({} tokens), choice {}, position {}", text,
                                        material_.texts[text].prompt.size(), difference.choice, difference.position);
  switch (difference.kind) {
    case Difference::Kind::kError:
      return fmt::format("text {}: {}", text, difference.message);
    case Difference::Kind::kToken:
      return fmt::format("{}: sampler: token {}, of equal logits", where, difference.message);
    case Difference::Kind::kLogits:
      break;
  }
  return fmt::format("{}: {}", where, locate(setup, difference));
}

void Matrix::trace(const Setup& setup, int visit, int choice, Trace& trace) {
  std::vector<Answers> answers = answers_;  // a run may stop at a difference: it must not stop before this one
  run(model_, material_.texts, answers, setup, {&trace, visit, choice});
}

// Both runs again, with a trace; then once more for the values.
std::string Matrix::locate(const Setup& setup, const Difference& difference) {
  const Setup expected_setup = alone(setup.visits[static_cast<size_t>(difference.visit)].text, material_);
  const auto compare = [&](std::optional<Place> watched, Trace& expected, Trace& got) {
    expected = got = Trace(difference.position + 1, watched);
    trace(expected_setup, 0, difference.choice, expected);
    trace(setup, difference.visit, difference.choice, got);
    return Trace::first_difference(expected, got);
  };
  Trace expected(0);
  Trace got(0);
  const std::optional<Place> place = compare(std::nullopt, expected, got);
  if (!place) return "logits differ, but no operation did when run again: a race";
  const Operation operation = got.operations()[static_cast<size_t>(place->operation)];
  compare(place, expected, got);
  return fmt::format("first differs at position {}, {}: {}", place->position, show(operation),
                     show_values(expected.watched_values(), got.watched_values()));
}

std::vector<std::string> Matrix::fingerprints() const {
  std::vector<std::string> out;
  for (const Answers& answers : answers_) {
    Sha256 hash;
    for (const Answer& answer : answers) {
      for (const auto& [position, digest] : answer.logits) {
        hash.update(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
      }
      hash.update(std::string_view(reinterpret_cast<const char*>(answer.tokens.data()),
                                   answer.tokens.size() * sizeof(int32_t)));
    }
    out.push_back(hash.finish());
  }
  return out;
}

int64_t Matrix::num_positions() const {
  int64_t count = 0;
  for (const Answers& answers : answers_) {
    for (const Answer& answer : answers) count += static_cast<int64_t>(answer.logits.size());
  }
  return count;
}

}  // namespace brio::prove
