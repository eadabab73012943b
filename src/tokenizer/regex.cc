#include "tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace brio::tokenizer {
namespace {

constexpr size_t kMaxPatternBytes = 64 * 1024;  // the longest in use has about 1 kB
// Steps per start position. An honest pattern takes a few per character of the word it matches.
constexpr uint32_t kMatchLimit = 50'000'000;
constexpr uint32_t kHeapLimitKib = 256 * 1024;  // interpreter only, reached by nested repeats over megabytes

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof buffer) < 0) return fmt::format("error {}", code);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

RegexScratch::RegexScratch()
    : match_data_(pcre2_match_data_create(1, nullptr)), match_context_(pcre2_match_context_create(nullptr)) {
  if (match_context_ == nullptr) return;
  auto* context = static_cast<pcre2_match_context*>(match_context_);
  pcre2_set_match_limit(context, kMatchLimit);
  pcre2_set_heap_limit(context, kHeapLimitKib);
}

RegexScratch::~RegexScratch() {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data_));
  pcre2_match_context_free(static_cast<pcre2_match_context*>(match_context_));
}

void Regex::Free::operator()(void* code) const {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return error(ErrorCode::kUnsupported, "pretokenizer pattern has {} bytes, the most is {}", pattern.size(),
                 kMaxPatternBytes);
  int code = 0;
  PCRE2_SIZE offset = 0;
  Regex regex;
  regex.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset, nullptr));
  if (!regex.code_)
    return error(ErrorCode::kUnsupported, "pretokenizer pattern: {} at its byte {}", message_of(code), offset);
  // Without JIT (unsupported machine, no executable memory) pcre2_match interprets: slower, same matches.
  (void)pcre2_jit_compile(static_cast<pcre2_code*>(regex.code_.get()), PCRE2_JIT_COMPLETE);
  return regex;
}

Result<RegexMatch> Regex::find(std::string_view subject, size_t from, RegexScratch& scratch) const {
  auto* data = static_cast<pcre2_match_data*>(scratch.match_data_);
  auto* context = static_cast<pcre2_match_context*>(scratch.match_context_);
  if (data == nullptr || context == nullptr) return error(ErrorCode::kOutOfMemory, "no memory to match a pattern");
  auto match = [&](uint32_t options) {
    return pcre2_match(static_cast<pcre2_code*>(code_.get()), reinterpret_cast<PCRE2_SPTR>(subject.data()),
                       subject.size(), from, options | PCRE2_NO_UTF_CHECK, data, context);
  };
  int rc = match(0);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = match(PCRE2_NO_JIT);  // a long word under a nested repeat: frames on the heap
  if (rc == PCRE2_ERROR_NOMATCH) return RegexMatch{};
  if (rc < 0) return error(ErrorCode::kUnsupported, "pretokenizer gave up after byte {}: {}", from, message_of(rc));
  const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data);
  return RegexMatch{span[0], span[1] < span[0] ? span[0] : span[1], true};  // \K in a lookahead can reverse a match
}

std::string with_unicode_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's') {
        out += in_class ? BRIO_WHITE_SPACE : "[" BRIO_WHITE_SPACE "]";
      } else if (next == 'S' && !in_class) {
        out += "[^" BRIO_WHITE_SPACE "]";
      } else {
        out.append({'\\', next});
      }
      continue;
    }
    if (pattern[i] == '[' && !in_class) {
      in_class = true;
    } else if (pattern[i] == ']') {
      in_class = false;
    }
    out.push_back(pattern[i]);
  }
  return out;
}

}  // namespace brio::tokenizer
