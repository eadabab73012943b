// Python's operators on Values: arithmetic with overflow as an error (Python's integers have no limit, ours have 64
// bits), equality, order, membership.
#pragma once

#include "chat/syntax.h"
#include "chat/value.h"

namespace brio::chat {

Result<Value> binary(Budget& budget, BinaryOp op, const Value& left, const Value& right);
Result<Value> unary(UnaryOp op, const Value& operand);
Result<bool> compare(Budget& budget, CompareOp op, const Value& left, const Value& right);

Result<bool> equal(Budget& budget, const Value& left, const Value& right);
Result<bool> less(Budget& budget, const Value& left, const Value& right);  // error: the two have no order
Result<bool> contains(Budget& budget, const Value& container, const Value& item);

}  // namespace brio::chat
