#include "base/sha256.h"

#include <gtest/gtest.h>

namespace brio {
namespace {

TEST(Sha256, EqualsTheStandardsExamples) {  // FIPS 180-4, "abc" and the empty message
  Sha256 abc;
  abc.update("a");
  abc.update("bc");
  EXPECT_EQ(abc.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace brio
