#include "server/local_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/rng.h"
#include "engine/testing/byte_tokenizer.h"
#include "engine/testing/hash_model.h"
#include "server/chat_prompt.h"

namespace brio::server {
namespace {

using api::Delta;
using api::Done;
using api::Failed;
using api::Finish;
using api::Started;

// Collects a call's events; its text by choice.
class Collector final : public api::EventSink {
 public:
  void on_event(api::Event event) override {
    std::lock_guard lock(mutex_);
    if (std::holds_alternative<Done>(event) || std::holds_alternative<Failed>(event)) ++ends_;
    events_.push_back(std::move(event));
    changed_.notify_all();
  }
  std::vector<api::Event> wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return ends_ > 0; })) << "no end";
    return events_;
  }
  void wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return events_.size() >= count; }));
  }
  int ends() {
    std::lock_guard lock(mutex_);
    return ends_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<api::Event> events_;
  int ends_ = 0;
};

constexpr const char* kTemplate =
    "{% for m in messages %}{% if m.content == 'raise' %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{{ m.role }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";

engine::testing::HashModelShape shape() {
  engine::testing::HashModelShape out;
  out.vocab = 128;  // every token the model draws is an ASCII character
  out.context = 256;
  out.nan_token = '!';
  return out;
}

LoadedModel load(const char* chat_template = kTemplate) {
  LoadedModel out;
  out.name = "hash";
  out.model = std::make_unique<engine::testing::HashModel>(shape(), model::Limits{64, 16});
  out.tokenizer = engine::testing::byte_tokenizer();
  if (chat_template) out.chat_template = std::move(chat::Template::parse(chat_template)).value();
  return out;
}

class LocalBackendTest : public ::testing::Test {
 protected:
  LocalBackendTest() { start(load()); }
  void start(LoadedModel model) {
    engine::EngineOptions options;
    options.max_sequences = 8;
    options.max_waiting = 64;
    options.check_invariants = true;
    options.poison_freed_blocks = true;
    auto created = LocalBackend::create(std::move(model), options, nullptr, {});
    ASSERT_TRUE(created.ok()) << created.error().message;
    backend = std::move(created).value();
  }
  std::vector<api::Event> run(api::Request request) {
    auto sink = std::make_shared<Collector>();
    const auto call = backend->start(std::move(request), sink);
    return sink->wait();
  }
  void expect_idle() {
    backend->drain(std::chrono::seconds(60));
    EXPECT_EQ(backend->stats().kv_used_blocks, 0);
    EXPECT_EQ(backend->stats().running, 0);
  }

  std::shared_ptr<LocalBackend> backend;
};

api::CompletionRequest completion(std::vector<api::Prompt> prompts, int max_tokens) {
  api::CompletionRequest out;
  out.prompts = std::move(prompts);
  out.generation.max_tokens = max_tokens;
  out.generation.sampling.temperature = 0.0F;
  return out;
}

api::ChatRequest chat(std::string content, int max_tokens) {
  api::ChatRequest out;
  api::Message message;
  message.role = "user";
  message.content = std::move(content);
  out.messages.push_back(std::move(message));
  out.generation.max_tokens = max_tokens;
  out.generation.sampling.temperature = 0.0F;
  return out;
}

std::string text_of(const std::vector<api::Event>& events, int choice = 0) {
  std::string out;
  for (const api::Event& event : events) {
    if (const auto* delta = std::get_if<Delta>(&event); delta && delta->choice == choice) out += delta->text;
  }
  return out;
}

std::string reference(std::vector<int32_t> prompt, int count) {
  std::string out;
  for (int32_t token : engine::testing::reference_greedy(shape(), std::move(prompt), count)) {
    out.push_back(static_cast<char>(token));
  }
  return out;
}
std::vector<int32_t> bytes(std::string_view text) {
  return {text.begin(), text.end()};
}

const Error* failure(const std::vector<api::Event>& events) {
  const auto* failed = std::get_if<Failed>(&events.back());
  return failed ? &failed->error : nullptr;
}

TEST_F(LocalBackendTest, AChatIsRenderedAnsweredAndCounted) {
  const auto events = run(chat("hi", 12));
  const std::vector<int32_t> prompt = bytes("user:hi;assistant:");
  ASSERT_TRUE(std::holds_alternative<Started>(events.front()));
  EXPECT_EQ(std::get<Started>(events.front()).prompt_tokens, static_cast<int>(prompt.size()));
  EXPECT_EQ(text_of(events), reference(prompt, 12));
  ASSERT_TRUE(std::holds_alternative<Finish>(events[events.size() - 2]));
  EXPECT_EQ(std::get<Finish>(events[events.size() - 2]).reason, api::FinishReason::kLength);
  const auto& done = std::get<Done>(events.back());
  EXPECT_EQ(done.usage.prompt_tokens, static_cast<int>(prompt.size()));
  EXPECT_EQ(done.usage.completion_tokens, 12);
  EXPECT_GE(done.timings.total_ms, done.timings.ttft_ms);
}

TEST(ChatPrompt, WhatClientsWriteIsNeverAControlToken) {
  const LoadedModel model = load("{{ messages[0].content }}<|end|>");
  const auto chat_ids = chat_prompt(model, chat("a<|end|>b", 1));
  ASSERT_TRUE(chat_ids.ok());
  EXPECT_EQ(std::count(chat_ids->begin(), chat_ids->end(), engine::testing::kEndToken), 1) << "the template's own";
  const auto raw = completion_prompt(model, "a<|end|>b");
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ(std::count(raw->begin(), raw->end(), engine::testing::kEndToken), 1)
      << "completions write the whole prompt";
}

TEST_F(LocalBackendTest, SeveralPromptsAndChoicesKeepTheirPlaces) {
  api::CompletionRequest request = completion({"one", bytes("two"), "three"}, 9);
  request.generation.n = 2;
  const auto events = run(request);
  const char* prompts[] = {"one", "one", "two", "two", "three", "three"};
  int finishes = 0;
  for (const api::Event& event : events) finishes += std::holds_alternative<Finish>(event) ? 1 : 0;
  EXPECT_EQ(finishes, 6);
  for (int choice = 0; choice < 6; ++choice) EXPECT_EQ(text_of(events, choice), reference(bytes(prompts[choice]), 9));
  EXPECT_EQ(std::get<Done>(events.back()).usage.prompt_tokens, 11) << "a prompt counts once whatever n";
  EXPECT_EQ(std::get<Done>(events.back()).usage.completion_tokens, 54);
}

TEST_F(LocalBackendTest, EchoPutsThePromptInFront) {
  api::CompletionRequest request = completion({"abc", bytes("de")}, 4);
  request.echo = true;
  for (const int logprobs : {-1, 2}) {
    request.generation.top_logprobs = logprobs;
    const auto events = run(request);
    EXPECT_EQ(text_of(events, 0), "abc" + reference(bytes("abc"), 4));
    EXPECT_EQ(text_of(events, 1), "de" + reference(bytes("de"), 4));
    std::string tokens;
    int unknown = 0;
    for (const api::Event& event : events) {
      const auto* delta = std::get_if<Delta>(&event);
      if (!delta || delta->choice != 0) continue;
      for (const api::PositionLogprobs& position : delta->logprobs) {
        tokens += position.chosen.bytes;
        unknown += position.known ? 0 : 1;
      }
    }
    EXPECT_EQ(tokens, logprobs < 0 ? "" : text_of(events, 0));
    EXPECT_EQ(unknown, logprobs < 0 ? 0 : 1) << "the first token has no predecessor";
  }
}

TEST_F(LocalBackendTest, StopStringsAreNamed) {
  const std::string whole = reference(bytes("stop here"), 40);
  api::CompletionRequest request = completion({"stop here"}, 40);
  request.generation.stop = {whole.substr(20, 4)};
  const auto events = run(request);
  EXPECT_EQ(text_of(events), whole.substr(0, whole.find(request.generation.stop[0])));
  for (const api::Event& event : events) {
    if (const auto* finish = std::get_if<Finish>(&event)) {
      EXPECT_EQ(finish->reason, api::FinishReason::kStop);
      EXPECT_EQ(finish->matched_stop, request.generation.stop[0]);
    }
  }
}

TEST_F(LocalBackendTest, RefusalsComeBeforeStartedAndLeaveNothingBehind) {
  api::CompletionRequest biased = completion({"x"}, 1);
  biased.generation.sampling.logit_bias = {{100'000, 1.0F}};
  api::CompletionRequest many = completion({"x"}, 1);
  many.generation.n = 9;
  const std::pair<api::Request, std::pair<ErrorCode, std::string>> cases[] = {
      {completion({std::string(300, 'x')}, 1), {ErrorCode::kContextLengthExceeded, ""}},
      {completion({"fits", std::string(300, 'x')}, 1), {ErrorCode::kContextLengthExceeded, ""}},
      {completion({"x"}, 300), {ErrorCode::kContextLengthExceeded, ""}},
      {completion({bytes("")}, 1), {ErrorCode::kInvalidArgument, "'prompt' "}},
      {completion({std::vector<int32_t>{99'999}}, 1), {ErrorCode::kInvalidArgument, "'prompt' "}},
      {biased, {ErrorCode::kInvalidArgument, "'logit_bias' "}},
      {many, {ErrorCode::kInvalidArgument, "'n' "}},
      {chat("raise", 1), {ErrorCode::kInvalidArgument, "roles must alternate"}},
  };
  for (const auto& [request, expected] : cases) {
    const auto events = run(request);
    ASSERT_EQ(events.size(), 1U);
    ASSERT_NE(failure(events), nullptr);
    EXPECT_EQ(failure(events)->code, expected.first) << failure(events)->message;
    EXPECT_TRUE(failure(events)->message.starts_with(expected.second)) << failure(events)->message;
  }
  expect_idle();
}

TEST_F(LocalBackendTest, ABaseModelRefusesChatAndPointsToCompletions) {
  start(load(nullptr));
  const auto events = run(chat("hi", 1));
  ASSERT_NE(failure(events), nullptr);
  EXPECT_EQ(failure(events)->code, ErrorCode::kUnsupported);
  EXPECT_NE(failure(events)->hint.find("/v1/completions"), std::string::npos);
  EXPECT_FALSE(backend->models()[0].chat);
  EXPECT_EQ(text_of(run(completion({"go on"}, 3))), reference(bytes("go on"), 3));
}

TEST_F(LocalBackendTest, LogitsThatAreNotFiniteFailTheirRequestOnly) {
  auto good = std::make_shared<Collector>();
  const auto call = backend->start(completion({"fine"}, 30), good);
  const auto events = run(completion({"bad!"}, 5));
  ASSERT_NE(failure(events), nullptr);
  EXPECT_EQ(failure(events)->code, ErrorCode::kNumeric);
  EXPECT_TRUE(std::holds_alternative<Done>(good->wait().back()));
  expect_idle();
}

TEST_F(LocalBackendTest, CancelEndsACallAtAnyTime) {
  for (const size_t after : {size_t{0}, size_t{1}, size_t{3}}) {
    auto sink = std::make_shared<Collector>();
    const auto call = backend->start(completion({"a", "b"}, 250), sink);
    sink->wait_for(after);
    call->cancel();
    call->cancel();
    const auto events = sink->wait();
    ASSERT_TRUE(failure(events) || std::holds_alternative<Done>(events.back()));
    EXPECT_TRUE(!failure(events) || failure(events)->code == ErrorCode::kCancelled) << failure(events)->message;
    call->cancel();
  }
  expect_idle();
}

TEST_F(LocalBackendTest, AfterADrainNothingIsAccepted) {
  auto sink = std::make_shared<Collector>();
  const auto call = backend->start(completion({"last"}, 40), sink);
  EXPECT_TRUE(backend->drain(std::chrono::seconds(60)));
  EXPECT_TRUE(std::holds_alternative<Done>(sink->wait().back()));
  const auto events = run(completion({"late"}, 1));
  EXPECT_EQ(failure(events)->code, ErrorCode::kUnavailable);
}

TEST_F(LocalBackendTest, StopEndsWhatIsLeft) {
  auto sink = std::make_shared<Collector>();
  const auto call = backend->start(completion({"endless", "too"}, 240), sink);
  sink->wait_for(2);
  backend->stop();
  sink->wait();
  EXPECT_EQ(sink->ends(), 1);
}

TEST_F(LocalBackendTest, CallsFromManyThreadsEachEndOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      Rng rng(static_cast<uint64_t>(t));
      for (int i = 0; i < 20; ++i) {
        const std::string prompt = fmt::format("{} {}", t, i);
        const int length = 1 + static_cast<int>(rng.below(30));
        auto sink = std::make_shared<Collector>();
        const auto call = backend->start(completion({prompt}, length), sink);
        const bool cancel = rng.below(3) == 0;
        if (cancel) call->cancel();
        const auto events = sink->wait();
        if (sink->ends() != 1) wrong.fetch_add(1);
        if (!cancel && text_of(events) != reference(bytes(prompt), length)) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  expect_idle();
}

TEST(ChatPrompt, ToolCallsReachTheTemplateAsObjects) {
  const LoadedModel model = load(
      "{{ tools is none }} {{ extra }} {% for m in messages %}{{ m.role }} {{ m.content }} {{ m.name }} {{ "
      "m.tool_call_id }} "
      "{{ m.reasoning_content }} {% for c in m.tool_calls %}{{ c.function.name }} {{ c.function.arguments.x }}{% "
      "endfor %};{% endfor %}");
  api::ChatRequest request = chat("q", 1);
  request.template_kwargs_json = R"({"extra": 7})";
  api::Message call;
  call.role = "assistant";
  call.reasoning = "why";
  call.tool_calls.push_back({"c1", "f", R"({"x": 42})"});
  request.messages.push_back(call);
  api::Message result;
  result.role = "tool";
  result.content = "ok";
  result.name = "f";
  result.tool_call_id = "c1";
  request.messages.push_back(result);
  const auto ids = chat_prompt(model, request);
  ASSERT_TRUE(ids.ok()) << ids.error().message;
  EXPECT_EQ(model.tokenizer->decode(*ids), "True 7 user q    ;assistant    why f 42;tool ok f c1  ;");
}

}  // namespace
}  // namespace brio::server
