// Tensor names of Hugging Face checkpoints as GGUF calls them: "model.layers.3.mlp.up_proj.weight" ->
// "blk.3.ffn_up.weight".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace brio::weights {

// Nothing for tensors that are no part of the language model's weights (vision towers, stored rotary tables). Names
// that are not known stay as they are. `architecture` is GGUF's: the same Hugging Face name can differ in role.
std::optional<std::string> gguf_tensor_name(std::string_view architecture, std::string_view hf_name);

}  // namespace brio::weights
