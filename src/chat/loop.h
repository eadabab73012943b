// Loop: the variable `loop` inside {% for %}. One object for all passes, as in jinja2.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "chat/interpreter.h"

namespace brio::chat {

class Loop final : public Object {
 public:
  // outer: the scope around a recursive loop, null if it is not recursive.
  Loop(const ForStatement& statement, ScopePtr outer, Value list, int depth0)
      : statement_(statement), outer_(std::move(outer)), list_(std::move(list)), depth0_(depth0) {}

  std::string type_name() const override { return "LoopContext"; }
  bool callable() const override { return true; }
  Result<Value> call(Interpreter& in, const Arguments& arguments) override;  // loop(children) of a recursive loop
  std::optional<Value> attribute(std::string_view name) override;
  int depth() const override { return list_.depth() + 1; }

  void set_index(size_t index) { index_ = index; }
  // After the last pass: what changed() remembers may hold the loop itself, so it is dropped and nothing new is kept.
  void end() {
    ended_ = true;
    last_changed_.reset();
  }
  size_t index() const { return index_; }
  Result<bool> changed(Interpreter& in, const Arguments& arguments);

 private:
  const ForStatement& statement_;
  ScopePtr outer_;
  Value list_;
  int depth0_;
  size_t index_ = 0;
  bool ended_ = false;
  std::optional<Value> last_changed_;
};

}  // namespace brio::chat
