// The OpenAI dialect as the server sees it: writers over openai_response.h.
#pragma once

#include <memory>

#include "api/dialect.h"
#include "api/openai_response.h"

namespace brio::api {

std::unique_ptr<StreamWriter> openai_stream(OpenAiShape shape);
std::unique_ptr<AnswerFold> openai_fold(OpenAiShape shape);

}  // namespace brio::api
