// Dialect: how one family of clients is answered. A dialect parses its bodies into native requests (openai_request.h,
// ...) and writes native events as its own answers; what is the same for all of them (framing, status codes, headers)
// is the server's, which knows a dialect only by this page.
//
//   std::unique_ptr<StreamWriter> stream = ...;       // of the dialect
//   for each event: stream->write(event, frames);     // a streamed answer
//
//   std::unique_ptr<AnswerFold> fold = ...;
//   for each event: fold->add(event);                 // a whole answer: the same events
//   body = fold->json();                              // after Done
//
// One writer per answer, one thread at a time. Dialects are constants: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/event.h"
#include "base/result.h"

namespace brio::api {

// One piece of a streamed answer, before it is framed.
struct Frame {
  std::string data;       // JSON, or "[DONE]"
  std::string_view name;  // of a server-sent event, a constant; empty: it has none
};

class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  virtual void write(const Event& event, std::vector<Frame>& frames) = 0;
  // What tells a waiting client that the server is at work. None: the framing's own way, if it has one.
  virtual std::optional<Frame> keep_alive() { return std::nullopt; }
};

class AnswerFold {
 public:
  virtual ~AnswerFold() = default;
  virtual void add(const Event& event) = 0;
  virtual std::string json() const = 0;
};

enum class Framing { kServerSentEvents, kJsonLines };

struct Dialect {
  std::string_view name;
  Framing framing;
  std::string_view request_id_header;
  // Bodies of refusals. request_id: as in the header.
  std::string (*error_body)(const Error& error, std::string_view request_id);
  std::string (*status_body)(int status, std::string_view message, std::string_view request_id);  // of the HTTP layer
};

extern const Dialect kOpenAi;
extern const Dialect kAnthropic;
extern const Dialect kOllama;

// The message with its hint, as clients see it.
std::string whole_message(const Error& error);

}  // namespace brio::api
