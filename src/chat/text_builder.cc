#include "chat/text_builder.h"

#include <algorithm>

namespace brio::chat {

bool TextBuilder::reserve(size_t bytes, size_t runs) {
  if (full_) return false;
  const size_t new_size = text_.size() + bytes;
  const size_t needed = new_size + (text_.runs().size() + runs) * sizeof(Text::Run);
  if (new_size > max_bytes_) {
    full_ = too_long_ = true;
  } else if (needed > charged_bytes_) {
    // Twice what is there, as std::string grows; less when that is all there is.
    const size_t wanted = std::max(needed, std::min(2 * charged_bytes_, charged_bytes_ + budget_.memory_left()));
    full_ = !charge_.grow(budget_, wanted - charged_bytes_);
    charged_bytes_ = wanted;
  }
  return !full_;
}

Result<Text> TextBuilder::finish() {
  if (too_long_) return render_error("the chat template writes more than {} bytes", max_bytes_);
  if (full_) return budget_.out_of_memory();
  BRIO_TRY_OK(budget_.spend_bytes(text_.size()));
  return std::move(text_);
}

Result<Value> TextBuilder::finish_value() {
  BRIO_TRY(Text text, finish());
  { const MemoryCharge released = std::move(charge_); }
  return Value::string(budget_, std::move(text));
}

}  // namespace brio::chat
