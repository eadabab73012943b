#include "api/openai_dialect.h"

#include <fmt/format.h>

#include <utility>

namespace brio::api {
namespace {

class Stream final : public StreamWriter {
 public:
  explicit Stream(OpenAiShape shape) : stream_(std::move(shape)) {}
  void write(const Event& event, std::vector<Frame>& frames) override {
    std::vector<std::string> payloads;
    stream_.write(event, payloads);
    for (std::string& payload : payloads) frames.push_back({std::move(payload), {}});
  }

 private:
  OpenAiStream stream_;
};

class Fold final : public AnswerFold {
 public:
  explicit Fold(OpenAiShape shape) : fold_(std::move(shape)) {}
  void add(const Event& event) override { fold_.add(event); }
  std::string json() const override { return fold_.json(); }

 private:
  OpenAiFold fold_;
};

}  // namespace

std::unique_ptr<StreamWriter> openai_stream(OpenAiShape shape) {
  return std::make_unique<Stream>(std::move(shape));
}

std::unique_ptr<AnswerFold> openai_fold(OpenAiShape shape) {
  return std::make_unique<Fold>(std::move(shape));
}

std::string whole_message(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{}. {}", error.message, error.hint);
}

const Dialect kOpenAi = {"openai", Framing::kServerSentEvents, "x-request-id",
                         [](const Error& error, std::string_view /*request_id*/) { return openai_error(error); },
                         [](int status, std::string_view message, std::string_view /*request_id*/) {
                           return openai_error(status, message);
                         }};

}  // namespace brio::api
