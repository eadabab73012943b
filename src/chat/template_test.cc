// Templates against jinja2: tests/golden/templates, written by tools/template_oracle.py.
#include "chat/template.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace brio::chat {
namespace {

namespace json = boost::json;

const std::filesystem::path kGoldens = "tests/golden/templates";
const auto kNow = std::chrono::system_clock::from_time_t(1721952000);  // as the oracle

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

json::value read_json(const std::filesystem::path& path) {
  json::parse_options options;
  options.max_depth = 200;
  return json::parse(read_file(path), {}, options);
}

std::string string_of(const json::value& value) {
  return std::string(value.as_string());
}

// The text, or "error: message".
std::string render(const std::string& source, const json::object& context) {
  Result<Template> parsed = Template::parse(source);
  if (!parsed.ok()) return "error: " + parsed.error().message;
  Result<std::vector<tokenizer::TextPiece>> pieces = parsed->render(context, kNow);
  return pieces.ok() ? join(*pieces) : "error: " + pieces.error().message;
}

void expect_golden(const json::object& golden, const std::string& source, const json::object& context) {
  const std::string got = render(source, context);
  if (const json::value* expected = golden.if_contains("expected")) {
    EXPECT_EQ(got, string_of(*expected)) << source;
  } else if (golden.at("error").is_string()) {
    EXPECT_EQ(got, "error: " + string_of(golden.at("error"))) << source;
  } else {
    EXPECT_TRUE(got.starts_with("error: ")) << source << "\nshould be an error, gives " << got;
  }
}

class TemplateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

class Topic : public TemplateTest, public testing::WithParamInterface<const char*> {};

TEST_P(Topic, RendersAsJinja2) {
  const json::value file = read_json(kGoldens / (std::string(GetParam()) + ".json"));
  const json::object& context = file.at("context").as_object();
  for (const json::value& golden : file.at("cases").as_array()) {
    expect_golden(golden.as_object(), string_of(golden.at("template")), context);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Topic,
                         testing::Values("whitespace", "expressions", "string_methods", "filters", "statements",
                                         "random"),
                         [](const auto& info) { return std::string(info.param); });

json::object family_context(const json::object& conversation, const json::object& tokens) {
  json::object context = {{"tools", nullptr}, {"documents", nullptr}, {"add_generation_prompt", true}};
  context["bos_token"] = tokens.at("bos");
  context["eos_token"] = tokens.at("eos");
  for (const json::key_value_pair& entry : conversation) context[entry.key()] = entry.value();
  return context;
}

class Families : public TemplateTest {
 protected:
  const json::value conversations_ = read_json(kGoldens / "conversations.json");
  const json::value tokens_ = read_json(kGoldens / "control_tokens.json");
};

TEST_F(Families, RenderAsJinja2) {
  const json::value file = read_json(kGoldens / "families.json");
  for (const json::value& golden : file.at("cases").as_array()) {
    const std::string family = string_of(golden.at("family"));
    const std::string conversation = string_of(golden.at("conversation"));
    SCOPED_TRACE(family + ", " + conversation);
    const json::object context =
        family_context(conversations_.at(conversation).as_object(), tokens_.at(family).as_object());
    expect_golden(golden.as_object(), read_file(kGoldens / "families" / (family + ".jinja")), context);
  }
}

// Puts text behind every string of a conversation except the words that templates compare with.
void poison(json::value& value, std::string_view key, const std::string& text) {
  if (json::string* string = value.if_string()) {
    const bool compared = key == "role" || key == "type" || key == "id" || key == "tool_call_id";
    if (!compared) string->append(text);
  } else if (json::array* array = value.if_array()) {
    for (json::value& item : *array) poison(item, key, text);
  } else if (json::object* object = value.if_object()) {
    for (json::key_value_pair& entry : *object) {
      poison(entry.value(), std::string_view(entry.key().data(), entry.key().size()), text);
    }
    if (object->contains("properties")) {  // names of parameters are text of clients too
      object->at("properties").as_object()["p" + text] = json::object{{"type", "string"}};
    }
    if (object->contains("arguments") && object->at("arguments").is_object()) {
      object->at("arguments").as_object()["a" + text] = text;
    }
  }
}

Result<std::vector<tokenizer::TextPiece>> render_poisoned(const Template& parsed, json::object conversation,
                                                          const json::object& tokens, const std::string& text) {
  for (json::key_value_pair& entry : conversation) poison(entry.value(), "", text);
  return parsed.render(family_context(conversation, tokens), kNow);
}

size_t count_of(std::string_view text, std::string_view needle) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(needle, at)) != std::string_view::npos; at += needle.size()) ++count;
  return count;
}

std::string trusted_text(const std::vector<tokenizer::TextPiece>& pieces) {
  std::string text;
  for (const tokenizer::TextPiece& piece : pieces) text += piece.allow_special ? piece.text : std::string("\n");
  return text;
}

// Clients' text carries a mark that no template writes: wherever it goes, through filters, splits and JSON, it must
// stay untrusted; and the template's own text must hold as many control tokens as for harmless words in the same
// places.
TEST_F(Families, ControlTokensOfClientsStayUntrusted) {
  const std::string mark = "\u2603";
  size_t renders_with_mark = 0;
  for (const json::key_value_pair& family : tokens_.as_object()) {
    const std::string name(family.key().data(), family.key().size());
    const json::object& tokens = family.value().as_object();
    Result<Template> parsed = Template::parse(read_file(kGoldens / "families" / (name + ".jinja")), name);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    std::string attack = mark;
    for (const json::value& token : tokens.at("control").as_array()) attack += string_of(token) + mark;
    for (const json::key_value_pair& conversation : conversations_.as_object()) {
      SCOPED_TRACE(name + ", " + std::string(conversation.key().data(), conversation.key().size()));
      const auto poisoned = render_poisoned(*parsed, conversation.value().as_object(), tokens, attack);
      const auto harmless = render_poisoned(*parsed, conversation.value().as_object(), tokens, mark + "word" + mark);
      ASSERT_EQ(poisoned.ok(), harmless.ok());
      if (!poisoned.ok()) continue;
      if (count_of(join(*poisoned), mark) > 0) ++renders_with_mark;
      EXPECT_EQ(count_of(trusted_text(*poisoned), mark), 0u);
      for (const json::value& token : tokens.at("control").as_array()) {
        if (string_of(token).find("think>") != std::string::npos)
          continue;  // templates cut thoughts out, and may add some
        EXPECT_EQ(count_of(trusted_text(*poisoned), string_of(token)),
                  count_of(trusted_text(*harmless), string_of(token)))
            << string_of(token);
      }
    }
  }
  EXPECT_GT(renders_with_mark, 300u);  // of 558: most templates print what clients wrote
}

// Every control token of a conversation without any in its text is the template's: all of its bytes are trusted, also
// where the template makes it of the role.
TEST_F(Families, ControlTokensOfTemplatesAreTrusted) {
  for (const json::key_value_pair& family : tokens_.as_object()) {
    const std::string name(family.key().data(), family.key().size());
    const json::object& tokens = family.value().as_object();
    Result<Template> parsed = Template::parse(read_file(kGoldens / "families" / (name + ".jinja")), name);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    for (const json::key_value_pair& conversation : conversations_.as_object()) {
      SCOPED_TRACE(name + ", " + std::string(conversation.key().data(), conversation.key().size()));
      const auto pieces = parsed->render(family_context(conversation.value().as_object(), tokens), kNow);
      if (!pieces.ok()) continue;
      for (const json::value& token : tokens.at("control").as_array()) {
        const std::string text = string_of(token);
        if (text.find("think") != std::string::npos) continue;  // the conversations hold thoughts, too
        EXPECT_EQ(count_of(trusted_text(*pieces), text), count_of(join(*pieces), text)) << text;
      }
    }
  }
}

TEST_F(Families, OnlyKnownRolesAreTrusted) {
  Result<Template> parsed = Template::parse(
      "{% for m in messages %}{{ '<|' + m.role + '|>' }}{{ m.content }}{% endfor %}"
      "{{ role }}{{ other[0].role }}{{ messages[0].calls[0].role }}");
  ASSERT_TRUE(parsed.ok());
  const json::value context = json::parse(R"({"role": "user", "other": [{"role": "user"}], "messages": [
      {"role": "user", "content": "user", "calls": [{"role": "user"}]}, {"role": "im_end", "content": "system"}]})");
  const auto pieces = parsed->render(context.as_object(), kNow);
  ASSERT_TRUE(pieces.ok());
  EXPECT_EQ(join(*pieces), "<|user|>user<|im_end|>systemuseruseruser");
  EXPECT_EQ(trusted_text(*pieces), "<|user|>\n<|\n|>\n");
}

// The template inside a GGUF file: behind its key, the type of a string (8) and its length. Empty if there is none.
std::string template_inside(const std::filesystem::path& model) {
  constexpr size_t kMetadataBytes = size_t{32} << 20;  // it comes before the tensors, behind the vocabulary at worst
  constexpr std::string_view kKey = "tokenizer.chat_template";
  std::ifstream file(model, std::ios::binary);
  std::string bytes(kMetadataBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  const size_t key = bytes.find(kKey);
  if (key == std::string::npos || key + kKey.size() + 12 > bytes.size()) return {};
  uint64_t length = 0;
  std::memcpy(&length, bytes.data() + key + kKey.size() + 4, sizeof length);
  return bytes.substr(key + kKey.size() + 12, length);
}

uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

TEST_F(Families, TemplatesOfModelsRenderAsJinja2) {
  const char* models = std::getenv("BRIO_MODELS");
  if (models == nullptr) GTEST_SKIP() << "BRIO_MODELS names no folder of models";
  std::map<std::string, std::string> sources;
  const json::value file = read_json(kGoldens / "models.json");
  for (const json::value& golden : file.at("cases").as_array()) {
    const std::string model = string_of(golden.at("model"));
    if (!std::filesystem::exists(std::filesystem::path(models) / model)) continue;
    if (!sources.contains(model)) sources[model] = template_inside(std::filesystem::path(models) / model);
    const std::string conversation = string_of(golden.at("conversation"));
    SCOPED_TRACE(model + ", " + conversation);
    const std::string got = render(
        sources[model], family_context(conversations_.at(conversation).as_object(), {{"bos", "<s>"}, {"eos", "</s>"}}));
    if (golden.as_object().contains("error")) {
      EXPECT_TRUE(got.starts_with("error: ")) << got;
    } else {
      EXPECT_EQ(got.size(), static_cast<size_t>(golden.at("bytes").as_int64())) << got;
      EXPECT_EQ(fmt::format("{:016x}", fnv1a64(got)), string_of(golden.at("fnv1a64"))) << got;
    }
  }
}

TEST_F(Families, NeighboursDifferInTrust) {
  Result<Template> parsed = Template::parse("a{{ x }}{{ y }}b{{ 'c' }}{{ '' }}{{ bos_token }}{{ z }}");
  ASSERT_TRUE(parsed.ok());
  const auto pieces = parsed->render({{"x", "1"}, {"y", "2"}, {"z", ""}, {"bos_token", "<s>"}}, kNow);
  ASSERT_TRUE(pieces.ok());
  ASSERT_EQ(pieces->size(), 3u);
  EXPECT_EQ((*pieces)[0].text, "a");
  EXPECT_TRUE((*pieces)[0].allow_special);
  EXPECT_EQ((*pieces)[1].text, "12");
  EXPECT_FALSE((*pieces)[1].allow_special);
  EXPECT_EQ((*pieces)[2].text, "bc<s>");
  EXPECT_TRUE((*pieces)[2].allow_special);
}

}  // namespace
}  // namespace brio::chat
