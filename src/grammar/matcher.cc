#include "grammar/matcher.h"

#include <algorithm>
#include <bit>

#include "grammar/trie_walk.h"

namespace brio::grammar {
namespace {

constexpr int64_t kWorthKeeping = 200;  // steps that cost more than a mask's copy

// The mask of one set of configurations, into `words`.
class Filler {
 public:
  Filler(const CompiledGrammar& grammar, const std::vector<Frame>& frames, std::span<uint64_t> words)
      : grammar_(grammar),
        automaton_(grammar.automaton()),
        trie_(grammar.trie()),
        words_(words),
        walk_(automaton_, trie_) {
    walk_.simulation.frames = frames;
  }

  bool add(const Config& config) {
    const std::shared_ptr<const LocalMask> local = grammar_.local(config.node);
    if (local->failed) return false;
    const Automaton::Rule& rule = automaton_.rules[static_cast<size_t>(node(config.node).rule)];
    const int64_t count = rule.is_loop ? frame(config.frame).count : 0;
    if (!rule.is_loop) {
      local->add_to(words_, -1);
    } else {
      local->add_to(words_, rule.max < 0 ? -1 : rule.max - count);
    }
    ++work;
    if (config.frame < 0 || local->exits.empty()) return true;
    return add_exits(config, rule, count, *local);
  }

  int64_t work = 0;

 private:
  const Automaton::Node& node(int32_t id) const { return automaton_.nodes[static_cast<size_t>(id)]; }
  const Frame& frame(int32_t id) const { return walk_.simulation.frames[static_cast<size_t>(id)]; }

  void accept(uint32_t at) {
    for (const int32_t token : trie_.tokens(at)) words_[static_cast<size_t>(token) >> 6] |= uint64_t{1} << (token & 63);
  }

  // What comes after the rule: its first byte at each exit, then the rest of the tokens.
  bool add_exits(const Config& config, const Automaton::Rule& rule, int64_t count, const LocalMask& local) {
    const Frame top = frame(config.frame);
    const size_t frames_before = walk_.simulation.frames.size();
    walk_.sets.clear();
    bool complete = false;
    bool fine = walk_.simulation.expand(top.then, top.parent, walk_.sets, 0, complete);
    const size_t after = walk_.sets.size();
    if (fine && local.leaves_out_own_bytes && overlaps(rule, after)) {
      fine = add_whole(config, frames_before);
    } else {
      for (int c = 0; fine && c < automaton_.num_classes; ++c) {
        const auto begin = local.exits_begin[static_cast<size_t>(c)];
        const auto end = local.exits_begin[static_cast<size_t>(c) + 1];
        if (begin != end) fine = add_class(c, after, rule, count, {local.exits.data() + begin, end - begin});
      }
    }
    work += walk_.simulation.work;
    walk_.simulation.work = 0;
    walk_.simulation.frames.resize(frames_before);
    return fine;
  }

  bool add_class(int byte_class, size_t after, const Automaton::Rule& rule, int64_t count,
                 std::span<const LocalMask::Exit> exits) {
    const size_t frames_before = walk_.simulation.frames.size();
    bool complete = false;
    if (!walk_.simulation.step(byte_class, 0, after, walk_.sets, complete)) return false;
    const size_t end = walk_.sets.size();
    bool fine = true;
    if (end > after || complete) {
      for (const LocalMask::Exit& exit : exits) {
        const int64_t rounds = count + exit.rounds;
        if (rule.is_loop && (rounds < rule.min || (rule.max >= 0 && rounds > rule.max))) continue;
        accept(exit.trie_node);
        ++work;
        const TokenTrie::Node& at = trie_.nodes()[exit.trie_node];
        if (end == after || at.end == exit.trie_node + 1) continue;
        fine = walk_.run(exit.trie_node + 1, at.end, at.depth, after, end, [&](uint32_t i, bool) { accept(i); });
        if (!fine) break;
      }
    }
    walk_.sets.resize(after);
    walk_.simulation.frames.resize(frames_before);
    return fine;
  }

  bool overlaps(const Automaton::Rule& rule, size_t after) const {
    for (size_t i = 0; i < after; ++i) {
      for (int c = 0; c < automaton_.num_classes; ++c) {
        if (automaton_.step(rule.start, c) >= 0 && automaton_.step(walk_.sets[i].node, c) >= 0) return true;
      }
    }
    return false;
  }

  bool add_whole(const Config& config, size_t frames_before) {
    walk_.simulation.frames.resize(frames_before);
    walk_.sets.assign(1, config);
    return walk_.run(0, trie_.size(), 0, 0, 1, [&](uint32_t i, bool) { accept(i); });
  }

  const CompiledGrammar& grammar_;
  const Automaton& automaton_;
  const TokenTrie& trie_;
  std::span<uint64_t> words_;
  TrieWalk walk_;
};

}  // namespace

Matcher::Matcher(std::shared_ptr<const CompiledGrammar> grammar) : grammar_(std::move(grammar)) {
  Simulation simulation(grammar_->automaton());
  std::vector<Config> configs;
  const Automaton& automaton = grammar_->automaton();
  const int32_t start = automaton.rules[static_cast<size_t>(automaton.root)].start;
  if (!simulation.expand(start, -1, configs, 0, complete_)) configs.clear();
  compact(simulation, configs);
}

// Keeps the frames that are still needed, numbered by their first use: equal states get equal keys.
void Matcher::compact(const Simulation& simulation, std::span<const Config> configs) {
  std::vector<int32_t> renamed(simulation.frames.size(), -1);
  std::vector<Frame> frames;
  std::vector<Config> kept;
  std::vector<int32_t> path;
  for (const Config& config : configs) {
    for (int32_t f = config.frame; f >= 0 && renamed[static_cast<size_t>(f)] < 0;
         f = simulation.frames[static_cast<size_t>(f)].parent) {
      path.push_back(f);
    }
    for (; !path.empty(); path.pop_back()) {
      Frame frame = simulation.frames[static_cast<size_t>(path.back())];
      if (frame.parent >= 0) frame.parent = renamed[static_cast<size_t>(frame.parent)];
      renamed[static_cast<size_t>(path.back())] = static_cast<int32_t>(frames.size());
      frames.push_back(frame);
    }
    kept.push_back({config.node, config.frame < 0 ? -1 : renamed[static_cast<size_t>(config.frame)]});
  }
  frames_ = std::move(frames);
  configs_ = std::move(kept);
}

bool Matcher::accept_bytes(std::string_view bytes) {
  if (ended_) return false;
  Simulation simulation(grammar_->automaton());
  simulation.frames = frames_;
  std::vector<Config> configs = configs_;
  bool complete = complete_;
  for (const char c : bytes) {
    const size_t before = configs.size();
    complete = false;
    const uint8_t byte_class = grammar_->automaton().class_of[static_cast<uint8_t>(c)];
    if (!simulation.step(byte_class, 0, before, configs, complete)) return false;
    configs.erase(configs.begin(), configs.begin() + static_cast<ptrdiff_t>(before));
    if (configs.empty() && !complete) return false;
  }
  complete_ = complete;
  compact(simulation, configs);
  return true;
}

bool Matcher::accept(int32_t token) {
  const TokenTrie& trie = grammar_->trie();
  if (token < 0 || token >= trie.vocab_size() || ended_) return false;
  if (trie.is_end(token)) return ended_ = complete_;
  const std::string& bytes = trie.bytes(token);
  return !bytes.empty() && accept_bytes(bytes);
}

std::string Matcher::key() const {
  std::string key(reinterpret_cast<const char*>(configs_.data()), configs_.size() * sizeof(Config));
  key.append(reinterpret_cast<const char*>(frames_.data()), frames_.size() * sizeof(Frame));
  key += complete_ ? '1' : '0';
  return key;
}

bool Matcher::fill(std::span<uint64_t> words, int64_t& work) const {
  Filler filler(*grammar_, frames_, words);
  for (const Config& config : configs_) {
    if (!filler.add(config)) return false;
    if ((work = filler.work) > kMaxWalkWork) return false;
  }
  return true;
}

Result<void> Matcher::mask(std::span<uint64_t> words) const {
  std::fill(words.begin(), words.end(), 0);
  if (ended_) return {};
  std::string state = key();
  if (const auto known = grammar_->find(state)) {
    std::copy(known->begin(), known->end(), words.begin());
    return {};
  }
  int64_t work = 0;
  if (!fill(words, work)) {
    return error(ErrorCode::kInvalidArgument, "the grammar is too ambiguous: more than {} ways to read the text so far",
                 kMaxConfigs);
  }
  if (complete_) {
    for (const int32_t end : grammar_->trie().ends()) {
      words[static_cast<size_t>(end) >> 6] |= uint64_t{1} << (end & 63);
    }
  }
  if (work > kWorthKeeping) {
    grammar_->keep(std::move(state), std::make_shared<const CompiledGrammar::Words>(words.begin(), words.end()));
  }
  return {};
}

std::optional<int32_t> only_token(std::span<const uint64_t> words) {
  std::optional<int32_t> found;
  for (size_t w = 0; w < words.size(); ++w) {
    if (words[w] == 0) continue;
    if (found || (words[w] & (words[w] - 1)) != 0) return std::nullopt;
    found = static_cast<int32_t>(w * 64 + static_cast<size_t>(std::countr_zero(words[w])));
  }
  return found;
}

}  // namespace brio::grammar
