#include "net/sse.h"

#include <gtest/gtest.h>

namespace brio::net {
namespace {

TEST(Sse, EventsEndWithAnEmptyLine) {
  EXPECT_EQ(sse_event("{\"a\":1}"), "data: {\"a\":1}\n\n");
  EXPECT_EQ(sse_event(""), "data: \n\n");
  EXPECT_EQ(sse_event("two\nlines"), "data: two\ndata: lines\n\n") << "one event, joined by the client";
  EXPECT_EQ(sse_event("{}", "ping"), "event: ping\ndata: {}\n\n");
  EXPECT_EQ(sse_comment("waiting"), ": waiting\n");
}

}  // namespace
}  // namespace brio::net
