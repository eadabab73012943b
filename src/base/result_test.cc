#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace brio {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return error(ErrorCode::kInvalidArgument, "{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) {
  BRIO_TRY(const int once, half(value));
  BRIO_TRY(const int twice, half(once));
  return twice;
}

Result<void> check(int value) {
  BRIO_TRY_OK(half(value));
  return {};
}

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(quarter(12).value(), 3);
  const auto failed = quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "3 is odd");
  EXPECT_TRUE(check(4).ok());
  EXPECT_EQ(check(5).error().code, ErrorCode::kInvalidArgument);
}

TEST(Result, CarriesMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 5);
}

TEST(ErrorCode, EveryCodeHasItsOwnNameAndAFailingStatus) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    const auto value = static_cast<ErrorCode>(code);
    names.insert(name(value));
    EXPECT_GE(http_status(value), 400);
    EXPECT_GT(exit_code(value), 0);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(ErrorCode::kInternal) + 1);
}

}  // namespace
}  // namespace brio
