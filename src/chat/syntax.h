// The syntax tree of a template. Built once by the parser, then read-only and shared by all renderings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chat/value.h"

namespace brio::chat {

// ---- expressions ----

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star;         // f(*star), null if absent
  ExprPtr double_star;  // f(**double_star)
};

enum class UnaryOp : uint8_t { kNot, kMinus, kPlus };
enum class BinaryOp : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
enum class CompareOp : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };
enum class LogicOp : uint8_t { kAnd, kOr };

// clang-format off
struct LiteralExpr { Value value; };
struct NameExpr { std::string name; };
struct ListExpr { ListForm form; std::vector<ExprPtr> items; };
struct DictExpr { std::vector<std::pair<ExprPtr, ExprPtr>> entries; };
struct UnaryExpr { UnaryOp op; ExprPtr operand; };
struct BinaryExpr { BinaryOp op; ExprPtr left, right; };
struct LogicExpr { LogicOp op; ExprPtr left, right; };
struct ConcatExpr { std::vector<ExprPtr> parts; };                                      // a ~ b ~ c
struct CompareExpr { ExprPtr first; std::vector<std::pair<CompareOp, ExprPtr>> rest; };  // a < b <= c
struct ConditionalExpr { ExprPtr test, then, otherwise; };                              // otherwise may be null
struct AttributeExpr { ExprPtr object; std::string name; };
struct ItemExpr { ExprPtr object, index; };
struct SliceExpr { ExprPtr object, start, stop, step; };                                // bounds may be null
struct CallExpr { ExprPtr callee; CallArguments arguments; };
struct FilterExpr { ExprPtr input; std::string name; CallArguments arguments; };        // input null: the text of a block
struct TestExpr { ExprPtr input; std::string name; CallArguments arguments; };
// clang-format on

using ExprNode =
    std::variant<LiteralExpr, NameExpr, ListExpr, DictExpr, UnaryExpr, BinaryExpr, LogicExpr, ConcatExpr, CompareExpr,
                 ConditionalExpr, AttributeExpr, ItemExpr, SliceExpr, CallExpr, FilterExpr, TestExpr>;

struct Expr {
  ExprNode node;
  int depth = 1;  // levels below, this one included; the parser bounds it, so recursion over trees is safe
};

// ---- statements ----

struct Statement;
using Block = std::vector<Statement>;

// Where an assignment goes: a name, an attribute of a namespace, or several of them.
struct Target {
  std::string name;           // empty: a tuple
  std::string attribute;      // if any: name.attribute = ...
  std::vector<Target> items;  // of a tuple
};

struct MacroDefinition {
  std::string name;
  std::vector<std::pair<std::string, ExprPtr>> parameters;  // default may be null
  Block body;
  bool uses_caller = false;  // the body mentions caller, varargs, kwargs
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

// clang-format off
struct TextStatement { Value text; };
struct OutputStatement { ExprPtr value; };
struct IfStatement { std::vector<std::pair<ExprPtr, Block>> branches; };  // else: null condition
struct ForStatement {
  Target target;
  ExprPtr iterable;
  ExprPtr filter;  // may be null
  bool recursive;
  Block body, otherwise;
};
struct SetStatement { Target target; ExprPtr value; };
struct SetBlockStatement { Target target; ExprPtr filter; Block body; };  // filter may be null
struct WithStatement { std::vector<std::pair<Target, ExprPtr>> variables; Block body; };
struct FilterStatement { ExprPtr filter; Block body; };
struct GenerationStatement { Block body; };
struct MacroStatement { std::shared_ptr<const MacroDefinition> macro; };
struct CallStatement { ExprPtr call; std::shared_ptr<const MacroDefinition> caller; };
struct BreakStatement {};
struct ContinueStatement {};
// clang-format on

struct Statement {
  std::variant<TextStatement, OutputStatement, IfStatement, ForStatement, SetStatement, SetBlockStatement,
               WithStatement, FilterStatement, GenerationStatement, MacroStatement, CallStatement, BreakStatement,
               ContinueStatement>
      node;
  int line = 0;
};

}  // namespace brio::chat
