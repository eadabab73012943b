#include "tokenizer/detokenizer.h"

#include <algorithm>

#include "tokenizer/utf8.h"

namespace brio::tokenizer {

std::string Detokenizer::append(int32_t id) {
  const bool shown = std::find(shown_.begin(), shown_.end(), id) != shown_.end();
  pending_ += tokenizer_->piece(id, shown ? RenderSpecial::kYes : render_);
  std::string out;
  size_t i = 0;
  while (i < pending_.size()) {
    const CodePoint c = decode_utf8(pending_, i);
    if (c.incomplete) break;
    append_utf8(out, c.value);
    i += c.size;
  }
  pending_.erase(0, i);
  return out;
}

std::string Detokenizer::flush() {
  std::string out = repair_utf8(pending_);
  pending_.clear();
  return out;
}

}  // namespace brio::tokenizer
