// TemplateTraits: what a chat template does with tools, found out by rendering two conversations when a model is loaded.
// Families differ in the form they want assistant messages with tool calls in; the wrong form is lost without an error.
#pragma once

#include <string_view>

#include "chat/template.h"

namespace brio::chat {

struct TemplateTraits {
  bool takes_tools = true;      // the tools of a request appear in the prompt
  bool text_arguments = false;  // arguments of a call as JSON text, not as an object
  bool null_content = false;    // the content of a message that has only calls is null, not ""
};

TemplateTraits probe_template(const Template& chat_template, std::string_view bos, std::string_view eos);

}  // namespace brio::chat
