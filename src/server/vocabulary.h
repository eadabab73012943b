// Reads the vocabulary of a checkpoint (GGUF metadata, or tokenizer.json beside config.json) into a TokenizerSpec.
#pragma once

#include "base/result.h"
#include "tokenizer/tokenizer_spec.h"
#include "weights/checkpoint.h"

namespace brio::server {

// Errors name the key at fault; a checkpoint without a vocabulary is kUnsupported.
Result<tokenizer::TokenizerSpec> read_vocabulary(const weights::Checkpoint& checkpoint);

}  // namespace brio::server
