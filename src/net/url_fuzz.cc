// libFuzzer: an address, a line feed, a reference as a Location header holds it. What is accepted is the same address
// when it is written out and read again, has nothing in it that could end a request line, and a reference without a
// host stays on its host.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/url.h"

namespace {

using namespace brio;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

void check(const net::Url& url) {
  require(url.scheme == "http" || url.scheme == "https");
  require(!url.host.empty() && !url.port.empty() && url.target.starts_with('/'));
  for (const std::string& part : {url.host_header(), url.target, url.fragment}) {
    for (const char c : part) require(static_cast<unsigned char>(c) > 0x20 && c != 0x7F);
  }
  const auto again = net::parse_url(url.text());
  require(again.ok() && again->same_origin(url) && again->target == url.target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\n'), size);
  const std::string_view reference = input.substr(std::min(end + 1, size));
  require(net::percent_decoded(input).size() <= size);
  const auto base = net::parse_url(input.substr(0, end));
  if (!base.ok()) return 0;
  check(*base);
  const auto resolved = net::resolve_reference(*base, reference);
  if (!resolved.ok()) return 0;
  check(*resolved);
  const bool names_host = reference.starts_with("//") || reference.find("://") < reference.find_first_of("/?#");
  require(names_host || resolved->same_origin(*base));
  return 0;
}
