#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.h"

namespace brio {
namespace {

// In a child: the limit would stay with the tests that follow.
TEST(MemoryLimit, IsTheAddressSpaceWhereThatIsLess) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer takes all address space";
  const int64_t without = memory_limit_bytes();
  ASSERT_GT(without, 0);
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = static_cast<rlim_t>(without) / 2;
    const bool set = setrlimit(RLIMIT_AS, &limit) == 0;
    _exit(set && memory_limit_bytes() == without / 2 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace brio
