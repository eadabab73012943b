// The parts of Hugging Face's tokenizer.json around the vocabulary: normaliser, pretokenizer, post-processor. Each
// reads its object into the spec; what brio cannot do exactly is kUnsupported. Used by tokenizer_json.cc only.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer_spec.h"

namespace brio::tokenizer {

struct PipelineFacts {
  bool byte_level = false;     // a ByteLevel step: the vocabulary is in the byte alphabet
  bool escapes_space = false;  // spaces become U+2581
  bool bert = false;           // BertPreTokenizer
};

// Field access that never throws; absent, null or of another type gives the default.
const boost::json::value* field(const boost::json::value& object,
                                std::string_view key);  // null pointer: absent or null
std::string_view text_field(const boost::json::value& object, std::string_view key);
bool flag_field(const boost::json::value& object, std::string_view key, bool otherwise);

Result<void> read_normalizer(const boost::json::value& step, TokenizerSpec& spec, PipelineFacts& facts);
Result<void> read_pretokenizer(const boost::json::value& step, TokenizerSpec& spec, PipelineFacts& facts);
Result<void> read_post_processor(const boost::json::value& step, TokenizerSpec& spec);

}  // namespace brio::tokenizer
