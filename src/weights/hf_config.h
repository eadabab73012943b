// Translates a Hugging Face config.json to the hyperparameters a GGUF file would carry; checkpoint.h lists the keys
// that are brio's own. What brio cannot compute (an unknown rope scaling, quantised weights, biases in the
// feed-forward) is kUnsupported and names the field.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"
#include "weights/gguf_writer.h"

namespace brio::weights {

struct TranslatedConfig {
  std::string architecture;    // GGUF's name, or the class name as it stands where brio does not know it
  bool known = false;          // false: `keys` holds general.architecture alone
  bool tied = false;           // the head is the embedding, whatever tensors the files have
  bool norms_add_one = false;  // norm weights are stored as w and applied as 1 + w
  GgufWriter keys;
};

// `generation` is generation_config.json, empty if there is none. Error messages start with the field's name.
Result<TranslatedConfig> translate_config(const boost::json::object& config, const boost::json::object& generation);

}  // namespace brio::weights
