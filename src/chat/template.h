// Template: a chat template in the Jinja language, as GGUF files carry it; turns a conversation into prompt text.
//
//   BRIO_TRY(chat::Template chat_template, chat::Template::parse(source));           // once per model
//   BRIO_TRY(auto pieces, chat_template.render(context, std::chrono::system_clock::now()));
//   tokens = tokenizer.encode(pieces);
//
// Set up as the Python package transformers sets up jinja2: trim_blocks, lstrip_blocks, loop controls, generation
// blocks, json.dumps as tojson, raise_exception, strftime_now (local time); immutable sandbox.
//
// Every character knows whether the template wrote it (trusted) or the context did. Pieces alternate between the two,
// so text of a control token inside a message never becomes that token. Trusted context: bos_token, eos_token,
// unk_token and pad_token at the top level only; a server must not let clients set these four.
//
// A template may be hostile as well: it cannot reach files, other templates or code, and ends within RenderLimits.
// Immutable after parse: any thread may render.
#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/text_piece.h"

namespace brio::chat {

struct RenderLimits {
  int64_t max_steps = 10'000'000;               // nodes evaluated, plus one per 128 bytes of text produced or compared
  size_t max_output_bytes = size_t{64} << 20;   // of the prompt
  size_t max_memory_bytes = size_t{192} << 20;  // alive at once in values and text under construction
  int max_depth = 800;                          // of nested evaluation, macro calls and nested lists
  std::chrono::milliseconds max_time{5000};     // wall clock; the steps usually end first
};

class Template {
 public:
  // At most 1 MiB of source. Errors (kInvalidFile) name `name`, line and column.
  static Result<Template> parse(std::string_view source, std::string name = "chat template");

  std::string_view source() const;

  // context: messages, tools, documents, add_generation_prompt, bos_token, eos_token and whatever else the template
  // reads. As in transformers, tools and documents should be present and null when there are none. now: what
  // strftime_now formats. Errors (kInvalidArgument): raise_exception gives the template's message as it stands, others
  // name the line.
  Result<std::vector<tokenizer::TextPiece>> render(const boost::json::object& context,
                                                   std::chrono::system_clock::time_point now,
                                                   const RenderLimits& limits = {}) const;

 private:
  struct Parsed;
  explicit Template(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

// The pieces as one string.
std::string join(std::span<const tokenizer::TextPiece> pieces);

}  // namespace brio::chat
