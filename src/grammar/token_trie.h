// TokenTrie: the byte strings of a vocabulary as a trie in preorder, so that one pass over an array meets every token and
// a branch that cannot match is jumped over. Made once a model. Immutable, any thread.
//
// Control tokens and tokens without bytes are not in it: no mask allows them. The tokens that end generation are kept
// apart: a mask allows them exactly where the grammar is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace brio::grammar {

class TokenTrie {
 public:
  struct Node {
    uint32_t end = 0;          // first node behind this one's branch
    uint32_t first_token = 0;  // into tokens(); the next node's says where they end
    uint16_t depth = 0;        // bytes from the root, at least 1
    uint8_t byte = 0;
  };

  static std::shared_ptr<const TokenTrie> create(const tokenizer::Tokenizer& tokenizer);
  // tokens[id]: the bytes, empty for what no mask may allow.
  TokenTrie(std::vector<std::string> tokens, std::vector<int32_t> ends);

  int32_t vocab_size() const { return static_cast<int32_t>(bytes_.size()); }
  size_t num_words() const { return (bytes_.size() + 63) / 64; }  // of a mask
  const std::string& bytes(int32_t token) const { return bytes_[static_cast<size_t>(token)]; }
  const std::vector<int32_t>& ends() const { return ends_; }  // ascending
  bool is_end(int32_t token) const;

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()) - 1; }  // the last one only ends the others
  const Node* nodes() const { return nodes_.data(); }
  std::span<const int32_t> tokens(uint32_t node) const {
    return {tokens_.data() + nodes_[node].first_token, nodes_[node + 1].first_token - nodes_[node].first_token};
  }
  int max_depth() const { return max_depth_; }

 private:
  std::vector<std::string> bytes_;
  std::vector<int32_t> ends_;
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;
  int max_depth_ = 0;
};

}  // namespace brio::grammar
