#include "chat/template_traits.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace brio::chat {
namespace {

namespace json = boost::json;

constexpr std::string_view kTool = "brio_probe_tool";
constexpr std::string_view kCall = "brio_probe_call";

json::object message(std::string_view role, json::value content) {
  return {{"role", role}, {"content", std::move(content)}};
}

json::array tools() {
  const json::object parameters = {
      {"type", "object"},
      {"properties", {{"city", {{"type", "string"}, {"description", "A city."}}}}},
      {"required", json::array{"city"}},
  };
  return {
      {{"type", "function"}, {"function", {{"name", kTool}, {"description", "A probe."}, {"parameters", parameters}}}}};
}

class Probe {
 public:
  Probe(const Template& chat_template, std::string_view bos, std::string_view eos)
      : template_(chat_template), bos_(bos), eos_(eos) {}

  // The prompt, or nothing where the template refuses.
  std::string render(json::array messages) const {
    const json::object context = {{"messages", std::move(messages)}, {"tools", tools()},  {"documents", nullptr},
                                  {"add_generation_prompt", true},   {"bos_token", bos_}, {"eos_token", eos_}};
    const auto pieces = template_.render(context, std::chrono::system_clock::time_point());
    return pieces.ok() ? join(*pieces) : std::string();
  }

  bool shows_tools() const {
    const json::object user = message("user", "Hello");
    return render({message("system", "Be brief."), user}).find(kTool) != std::string::npos ||
           render({user}).find(kTool) != std::string::npos;
  }

  // Whether a message with one call in this form comes out as a call with JSON arguments.
  bool shows_call(const TemplateTraits& form) const {
    json::value arguments = json::object{{"city", "Bonn"}};
    if (form.text_arguments) arguments = R"({"city": "Bonn"})";
    json::object assistant = message("assistant", form.null_content ? json::value(nullptr) : json::value(""));
    assistant["tool_calls"] = json::array{{{"id", "probecall"},  // nine letters, as Mistral's want it
                                           {"type", "function"},
                                           {"function", {{"name", kCall}, {"arguments", std::move(arguments)}}}}};
    const std::string text = render({message("user", "Hello"), std::move(assistant)});
    return text.find(kCall) != std::string::npos && text.find("\"city\"") != std::string::npos &&
           text.find("\"Bonn\"") != std::string::npos;
  }

 private:
  const Template& template_;
  std::string_view bos_, eos_;
};

}  // namespace

TemplateTraits probe_template(const Template& chat_template, std::string_view bos, std::string_view eos) {
  const Probe probe(chat_template, bos, eos);
  TemplateTraits traits;
  traits.takes_tools = probe.shows_tools();
  constexpr TemplateTraits kForms[] = {
      {true, false, false}, {true, false, true}, {true, true, false}, {true, true, true}};
  for (const TemplateTraits& form : kForms) {
    if (!probe.shows_call(form)) continue;
    traits.text_arguments = form.text_arguments;
    traits.null_content = form.null_content;
    break;
  }
  return traits;
}

}  // namespace brio::chat
