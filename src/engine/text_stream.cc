#include "engine/text_stream.h"

#include <utility>

namespace brio::engine {

TextStream::TextStream(const tokenizer::Tokenizer* tokenizer, const std::vector<std::string>& stops,
                       const std::vector<int32_t>& shown)
    : matcher_(stops) {
  if (tokenizer != nullptr) detokenizer_.emplace(*tokenizer, tokenizer::RenderSpecial::kNo, shown);
}

TextStream::Piece TextStream::append(int32_t token) {
  return detokenizer_ ? push(detokenizer_->append(token)) : Piece{};
}

TextStream::Piece TextStream::finish() {
  if (!detokenizer_) return {};
  Piece piece = push(detokenizer_->flush());
  if (!piece.stop) piece.text += std::exchange(held_, {});
  return piece;
}

TextStream::Piece TextStream::push(const std::string& text) {
  const size_t before = held_.size();
  held_ += text;
  if (const auto match = matcher_.feed(text)) {
    const std::string& stop = matcher_.stop(match->stop);
    Piece piece{held_.substr(0, before + match->end - stop.size()), stop};
    held_.clear();
    return piece;
  }
  // Stop strings begin at a character, so the cut is between characters.
  const size_t certain = held_.size() - matcher_.undecided();
  Piece piece{held_.substr(0, certain), std::nullopt};
  held_.erase(0, certain);
  return piece;
}

}  // namespace brio::engine
