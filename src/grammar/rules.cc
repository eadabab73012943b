#include "grammar/rules.h"

#include <algorithm>
#include <array>

namespace brio::grammar {
namespace {

using Utf8 = std::array<uint8_t, 4>;

int encode(char32_t value, Utf8& out) {
  if (value < 0x80) {
    out[0] = static_cast<uint8_t>(value);
    return 1;
  }
  const int length = value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
  for (int i = length - 1; i > 0; --i) {
    out[static_cast<size_t>(i)] = static_cast<uint8_t>(0x80 | (value & 0x3F));
    value >>= 6;
  }
  constexpr std::array<uint8_t, 5> kLead = {0, 0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<uint8_t>(kLead[static_cast<size_t>(length)] | value);
  return length;
}

// A range of characters of one encoded length is cut where its sequences stop being a product of byte ranges.
void add_sequences(Rules& rules, char32_t low, char32_t high, std::vector<ExprId>& out) {
  for (const char32_t limit : {0x7FU, 0x7FFU, 0xFFFFU}) {
    if (low <= limit && high > limit) {
      add_sequences(rules, low, limit, out);
      add_sequences(rules, limit + 1, high, out);
      return;
    }
  }
  Utf8 a{}, b{};
  const int length = encode(low, a);
  encode(high, b);
  for (int i = 1; i < length; ++i) {
    const char32_t block = (char32_t{1} << (6 * i)) - 1;  // the last i bytes run freely only over whole blocks
    if ((low & ~block) == (high & ~block)) continue;
    if ((low & block) != 0) {
      add_sequences(rules, low, low | block, out);
      add_sequences(rules, (low | block) + 1, high, out);
      return;
    }
    if ((high & block) != block) {
      add_sequences(rules, low, (high & ~block) - 1, out);
      add_sequences(rules, high & ~block, high, out);
      return;
    }
  }
  std::vector<ExprId> parts;
  for (size_t i = 0; i < static_cast<size_t>(length); ++i) parts.push_back(rules.bytes(ByteSet::range(a[i], b[i])));
  out.push_back(rules.sequence(std::move(parts)));
}

}  // namespace

ExprId Rules::add(Expr expr) {
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId Rules::literal(std::string_view text) {
  std::vector<ExprId> parts;
  for (const char c : text) parts.push_back(bytes(ByteSet::range(static_cast<uint8_t>(c), static_cast<uint8_t>(c))));
  return sequence(std::move(parts));
}

ExprId Rules::chars(const CharSet& set) {
  std::vector<ExprId> parts;
  ByteSet ascii;
  for (const CharRange& range : set.ranges()) {
    for (char32_t c = range.low; c <= range.high && c < 0x80; ++c) ascii.add(static_cast<int>(c));
  }
  if (!ascii.empty()) parts.push_back(bytes(ascii));
  for (const CharRange& range : set.ranges()) {
    if (range.high >= 0x80) add_sequences(*this, std::max(range.low, char32_t{0x80}), range.high, parts);
  }
  return choice(std::move(parts));
}

ExprId Rules::sequence(std::vector<ExprId> parts) {
  if (parts.empty()) return empty();
  if (parts.size() == 1) return parts[0];
  return add({Expr::Op::kSequence, {}, std::move(parts)});
}

ExprId Rules::choice(std::vector<ExprId> parts) {
  if (parts.empty()) return never();
  if (parts.size() == 1) return parts[0];
  return add({Expr::Op::kChoice, {}, std::move(parts)});
}

ExprId Rules::repeat(ExprId part, int min, int max) {
  if (max == 0) return empty();
  if (min == 1 && max == 1) return part;
  return add({Expr::Op::kRepeat, {}, {part}, min, max});
}

ExprId Rules::call(RuleId rule) {
  Expr expr{Expr::Op::kCall};
  expr.rule = rule;
  return add(std::move(expr));
}

RuleId Rules::add_rule(std::string name) {
  rules_.push_back({std::move(name)});
  return static_cast<RuleId>(rules_.size() - 1);
}

RuleId Rules::add_loop(std::string name, ExprId unit, int min, int max) {
  rules_.push_back({std::move(name), Rule::Kind::kLoop, unit, -1, min, max});
  return static_cast<RuleId>(rules_.size() - 1);
}

RuleId Rules::add_product(std::string name, Rule::Kind kind, ExprId body, ExprId other) {
  rules_.push_back({std::move(name), kind, body, other});
  return static_cast<RuleId>(rules_.size() - 1);
}

Rules::First Rules::first(ExprId id) const {
  const Expr& e = expr(id);
  First out;
  switch (e.op) {
    case Expr::Op::kEmpty:
      out.nullable = true;
      break;
    case Expr::Op::kBytes:
      out.bytes = e.bytes;
      break;
    case Expr::Op::kChoice:
      for (const ExprId child : e.children) {
        const First one = first(child);
        out.bytes.add(one.bytes);
        out.nullable = out.nullable || one.nullable;
      }
      break;
    case Expr::Op::kSequence:
    case Expr::Op::kRepeat:
      out.nullable = true;
      for (size_t i = 0; i < e.children.size() && out.nullable; ++i) {
        const First one = first(e.children[i]);
        out.bytes.add(one.bytes);
        out.nullable = one.nullable;
      }
      if (e.op == Expr::Op::kRepeat && e.min == 0) out.nullable = true;
      break;
    case Expr::Op::kNever:
    case Expr::Op::kCall:
      break;
  }
  return out;
}

int Rules::weight(ExprId id, int depth) {
  constexpr int kTooMuch = 1'000'000;
  constexpr int kMaxDepth = 300;
  if (depth > kMaxDepth) return kTooMuch;
  const Expr& e = expr(id);
  if (e.op == Expr::Op::kCall) {
    const auto rule = static_cast<size_t>(e.rule);
    if (rules_[rule].kind != Rule::Kind::kPlain || rule_weights_[rule] == -2) return kTooMuch;
    if (rule_weights_[rule] == -1) {
      rule_weights_[rule] = -2;
      const int found = weight(rules_[rule].body, depth + 1);
      rule_weights_[rule] = found;
    }
    return rule_weights_[rule];
  }
  int sum = 1;
  for (const ExprId child : e.children) sum = std::min(kTooMuch, sum + weight(child, depth + 1));
  if (e.op == Expr::Op::kRepeat) {
    const int64_t rounds = e.max == kUnbounded ? e.min + 1 : e.max;
    return static_cast<int>(std::min<int64_t>(kTooMuch, sum * rounds));
  }
  return sum;
}

void Rules::inline_small(int max_weight) {
  rule_weights_.assign(rules_.size(), -1);
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rule_weights_[i] == -1 && rules_[i].kind == Rule::Kind::kPlain) {
      rule_weights_[i] = -2;
      const int found = weight(rules_[i].body, 0);
      rule_weights_[i] = found;
    }
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    rules_[i].inlined = rules_[i].kind == Rule::Kind::kPlain && rule_weights_[i] >= 0 && rule_weights_[i] <= max_weight;
  }
}

}  // namespace brio::grammar
