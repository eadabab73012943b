// check_property: one property over many random cases, with rapidcheck. A case is one value; what its check returns is
// what is wrong with it, empty when nothing is. A failing case is shrunk and printed with the line that runs it again.
//
//   check_property(kCases, kSeed, gen_history(), [](const History& history) { return run(history); });
//
//   RC_PARAMS="max_success=1000000 seed=7"  more cases, other cases
//   RC_PARAMS="reproduce=..."               one failed case: its report has the line
//   BRIO_ISOLATE=1                          each case in a process of its own: those that abort or hang are shrunk too
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

namespace brio::testing {

// Debug checks and sanitizers make a case slow.
#ifdef NDEBUG
inline constexpr int kSlowdown = 1;
#else
inline constexpr int kSlowdown = 20;
#endif

inline rc::Gen<int> gen_below(int bound) {  // uniform, whatever rapidcheck's size
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

// What is running, for whoever reads about a broken invariant.
inline std::function<void(std::ostream&)>& current_case() {
  static std::function<void(std::ostream&)> show;
  return show;
}

inline void print_case_and_abort(int) {
  std::signal(SIGABRT, SIG_DFL);
  if (current_case()) {
    current_case()(std::cerr << "This case aborts; BRIO_ISOLATE=1 in the environment shrinks it:\n");
    std::cerr << std::endl;
  }
  std::abort();
}

inline bool isolates_cases() {
  return std::getenv("BRIO_ISOLATE") != nullptr;
}

// The check in a child: whatever kills it is what is wrong.
inline std::string run_isolated(const std::function<std::string()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    alarm(20);  // seconds; it kills
    const std::string wrong = check();
    if (!wrong.empty()) std::cerr << wrong << std::endl;
    _exit(wrong.empty() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "no child process";
  return status == 0 ? "" : "the case's process fails; what it said is above";
}

class SilentListener final : public rc::detail::TestListener {
 public:
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

template <typename Case, typename Check>
void check_property(int cases, uint64_t seed, const rc::Gen<Case>& generator, Check check) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = std::string(test.test_suite_name()) + "." + test.name();
  rc::detail::Configuration asked;  // rapidcheck's own default seed is another in every run
  asked.testParams.seed = seed;
  asked.testParams.maxSuccess = cases;
  if (std::getenv("RC_PARAMS") != nullptr) asked = rc::detail::configuration();
  const auto previous = std::signal(SIGABRT, print_case_and_abort);
  const auto body = [&] {
    const Case tried = *generator;
    current_case() = [&tried](std::ostream& out) { rc::show(tried, out); };
    const std::string wrong = isolates_cases() ? run_isolated([&] { return check(tried); }) : check(tried);
    current_case() = nullptr;
    if (!wrong.empty()) RC_FAIL(wrong);
  };
  SilentListener silent;
  const rc::detail::TestResult result =
      rc::detail::checkTestable(body, metadata, asked.testParams, silent, asked.reproduce);
  std::signal(SIGABRT, previous);
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  if (result.is<rc::detail::FailureResult>()) {
    rc::detail::Configuration again;
    again.reproduce[metadata.id] = result.get<rc::detail::FailureResult>().reproduce;
    report << "\nSeed " << asked.testParams.seed << "; again: RC_PARAMS=\"" << rc::detail::configToMinimalString(again)
           << "\"";
  }
  ADD_FAILURE() << report.str();
}

}  // namespace brio::testing
