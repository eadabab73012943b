// The byte alphabet of byte-level BPE vocabularies (Radford et al. 2019): every byte is spelled as one printable
// character. Printable Latin-1 bytes stand for themselves, the other 68 are U+0100, U+0101, ... in ascending order: a
// space is U+0120.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brio::tokenizer {

// The bytes that a vocabulary entry stands for; nothing when it has a character outside the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);
std::string spelling_of_bytes(std::string_view bytes);

}  // namespace brio::tokenizer
