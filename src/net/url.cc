#include "net/url.h"

#include <charconv>

#include <algorithm>
#include <cctype>

namespace brio::net {
namespace {

constexpr size_t kMaxUrlBytes = 8192;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Error bad_url(std::string_view text, std::string_view why) {
  std::string shown;
  for (const char c : text.substr(0, 200)) shown += static_cast<unsigned char>(c) < 0x21 || c == 0x7F ? '?' : c;
  return error(ErrorCode::kInvalidArgument, "'{}' is no address brio can fetch: {}", shown, why);
}

// host, host:port or [v6]:port
Result<void> parse_authority(std::string_view text, std::string_view authority, Url& url) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return bad_url(text, "the bracket is not closed");
    url.host = lower(authority.substr(1, close - 1));
    port = authority.substr(close + 1);
    if (!port.empty() && port[0] != ':') return bad_url(text, "no port behind the bracket");
  } else {
    const size_t colon = authority.find(':');
    url.host = lower(authority.substr(0, colon));
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (url.host.empty()) return bad_url(text, "it names no host");
  const bool plain = std::all_of(url.host.begin(), url.host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  });
  if (!plain) return bad_url(text, "the host has characters that hosts do not have");
  url.port = port.empty() ? (url.scheme == "https" ? "443" : "80") : std::string(port.substr(1));
  if (!is_digits(url.port) || url.port.size() > 5 || std::stoi(url.port) > 65535)
    return bad_url(text, "the port is no number");
  return {};
}

}  // namespace

bool Url::is_loopback() const {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

std::string Url::host_header() const {
  const std::string name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
  return port == (scheme == "https" ? "443" : "80") ? name : fmt::format("{}:{}", name, port);
}

std::string Url::text() const {
  return fmt::format("{}://{}{}", scheme, host_header(), target);
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes) return bad_url(text, "it is too long");
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7F)
      return bad_url(text, "it holds a space or control character");
  }
  Url url;
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) return bad_url(text, "it does not start with https://");
  url.scheme = lower(text.substr(0, colon));
  if (url.scheme != "https" && url.scheme != "http") return bad_url(text, "it does not start with https://");
  std::string_view rest = text.substr(colon + 3);
  if (const size_t hash = rest.find('#'); hash != std::string_view::npos) {
    url.fragment = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
  }
  const size_t slash = rest.find_first_of("/?");
  const std::string_view authority = rest.substr(0, slash);
  if (authority.find('@') != std::string_view::npos) return bad_url(text, "user names in addresses are not supported");
  BRIO_TRY_OK(parse_authority(text, authority, url));
  const std::string_view path_and_query = slash == std::string_view::npos ? "" : rest.substr(slash);
  url.target = fmt::format("{}{}", path_and_query.starts_with('/') ? "" : "/", path_and_query);
  return url;
}

Result<Url> resolve_reference(const Url& base, std::string_view reference) {
  if (reference.find("://") < reference.find_first_of("/?#")) return parse_url(reference);
  if (reference.starts_with("//")) return parse_url(fmt::format("{}:{}", base.scheme, reference));
  std::string_view kept;  // what stays of the base's target
  if (!reference.starts_with('/')) {
    kept = std::string_view(base.target).substr(0, base.target.find('?'));
    if (!reference.starts_with('?')) kept = kept.substr(0, kept.rfind('/') + 1);
  }
  return parse_url(fmt::format("{}://{}{}{}", base.scheme, base.host_header(), kept, reference));
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    out += escape ? static_cast<char>(value) : text[i];
    i += escape ? 2 : 0;
  }
  return out;
}

}  // namespace brio::net
