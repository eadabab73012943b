// ExpressionParser: tokens between {{ }} or {% %} -> Expr, with Jinja's precedence (loosest first):
//   a if b else c | or | and | not | comparisons, in | + - | ~ | * / // % | ** | unary - + | postfix . [] () | filters,
//   tests
// Filters and tests bind tighter than any binary operator, looser than postfix; unary minus takes no filter: -1|abs is
// |-1|.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "chat/syntax.h"
#include "chat/token_stream.h"

namespace brio::chat {

// Parentheses and trees deeper than this are refused. jinja2 itself, a recursive parser on Python's stack of 1,000
// calls, gives up near 90 parentheses; a level costs at most 3 kB of stack here.
inline constexpr int kMaxNesting = 100;

// Names that a macro body asks for without declaring them.
struct MacroNames {
  bool caller = false, varargs = false, kwargs = false;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  enum class Conditional { kAllowed, kNot };
  Result<ExprPtr> expression(Conditional conditional = Conditional::kAllowed);
  // An expression, or several with commas between them: a tuple. Ends before `stop_name`, if given.
  Result<ExprPtr> tuple(Conditional conditional = Conditional::kAllowed, std::string_view stop_name = {});
  // name | filter chain without input, for {% filter %} and {% set x | f %}; at the name of the first filter.
  Result<ExprPtr> filter_chain();

  std::vector<MacroNames>& open_macros() { return open_macros_; }

 private:
  // One more open parenthesis, operator or argument list, while it lives.
  class Nesting {
   public:
    explicit Nesting(int& count) : count_(count) { ++count_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --count_; }
    bool too_deep() const { return count_ > kMaxNesting; }

   private:
    int& count_;
  };

  Result<ExprPtr> logical_or();
  Result<ExprPtr> logical_and();
  Result<ExprPtr> logical_not();
  Result<ExprPtr> comparison();
  Result<ExprPtr> sum();
  Result<ExprPtr> concatenation();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  enum class Filters { kAllowed, kNot };
  Result<ExprPtr> unary(Filters filters);
  Result<ExprPtr> primary();
  Result<ExprPtr> name_or_constant();
  Result<ExprPtr> parenthesised();
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr operand);
  Result<ExprPtr> filters_and_tests(ExprPtr operand);
  Result<ExprPtr> subscript(ExprPtr operand);
  Result<ExprPtr> bracket(ExprPtr operand);
  Result<ExprPtr> filter(ExprPtr input);
  Result<ExprPtr> test(ExprPtr input);
  Result<CallArguments> call_arguments();
  Result<void> call_argument(CallArguments& arguments);
  Result<std::string> dotted_name(std::string_view what);
  void note_name(std::string_view name);

  Result<ExprPtr> make(ExprNode node);  // computes and bounds the depth
  Error too_deep() const { return tokens_.fail("this expression is nested too deeply"); }

  TokenStream& tokens_;
  int nesting_ = 0;
  std::vector<MacroNames> open_macros_;  // innermost last
};

}  // namespace brio::chat
