#include "api/text_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/json_text.h"
#include "api/openai_request.h"
#include "api/request_fields.h"

namespace brio::api {

namespace json = boost::json;

Result<Request> parse_apply_template(std::string_view body) {
  BRIO_TRY(OpenAiRequest chat, parse_openai_chat(body));
  return std::move(chat.request);
}

Result<Request> parse_tokenize(std::string_view body) {
  BRIO_TRY(const json::object object, parse_object(body));
  JsonFields fields(object, "");
  if (fields.find("messages")) return parse_apply_template(body);
  CompletionRequest out;
  std::string text;
  const bool is_prompt = fields.find("prompt") != nullptr;
  if (!is_prompt && !fields.find("content")) fields.fail("prompt", "is missing; 'messages' and 'content' will do too");
  fields.text("model", out.generation.model);
  fields.text(is_prompt ? "prompt" : "content", text);
  out.add_special_tokens = is_prompt;
  fields.flag("add_special", out.add_special_tokens);
  fields.flag("add_special_tokens", out.add_special_tokens);
  BRIO_TRY_OK(fields.result());
  out.prompts.emplace_back(std::move(text));
  return Request(std::move(out));
}

Result<DetokenizeRequest> parse_detokenize(std::string_view body) {
  BRIO_TRY(const json::object object, parse_object(body));
  DetokenizeRequest out;
  JsonFields fields(object, "");
  fields.text("model", out.model);
  const json::value* tokens = fields.find("tokens");
  if (!tokens || !tokens->is_array()) {
    fields.fail("tokens", "has to be a list of token ids");
  } else {
    read_ids(fields, "tokens", tokens->get_array(), out.tokens);
  }
  BRIO_TRY_OK(fields.result());
  return out;
}

std::string tokenized_json(std::span<const int32_t> ids, int context) {
  return fmt::format(R"({{"tokens":[{}],"count":{},"max_model_len":{}}})", fmt::join(ids, ","), ids.size(), context);
}

std::string text_json(std::string_view text) {
  const std::string quoted = json_string(text);
  return fmt::format(R"({{"prompt":{},"content":{}}})", quoted, quoted);
}

}  // namespace brio::api
