#include "prove/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "base/check.h"
#include "prove/texts.h"
#include "tensor/kv_layout.h"

namespace brio::prove {
namespace {

using engine::BatchingMode;
using engine::Chunking;

int between(Rng& rng, int low, int high) {  // both included
  return low + static_cast<int>(rng.below(static_cast<uint32_t>(high - low + 1)));
}

constexpr int kShortWholePrompt = 16;  // tokens; quick proofs have few texts between a block and their most rows

bool any_text(const Text&) {
  return true;
}

// Visits for the rest of the run, arriving one after the other and some together.
void invite(Setup& setup, Rng& rng, const Material& material, int count) {
  for (int i = 0; i < count; ++i) {
    Visit visit;
    visit.text = material.draw(rng, any_text);
    visit.arrival = between(rng, 0, 2 * count);
    visit.scored = rng.below(3) == 0;
    setup.visits.push_back(visit);
  }
}

// The row's own visit comes first, among at least one other.
Visit& star(Setup& setup, int text) {
  setup.visits.resize(std::max<size_t>(setup.visits.size(), 2));
  setup.visits[0].text = text;
  return setup.visits[0];
}

std::string need(bool occurred, std::string what) {
  return occurred ? std::string() : std::move(what);
}

Row budget(int rows_of_step) {
  Row row;
  row.name = fmt::format("budget {}", rows_of_step);
  row.arrange = [rows_of_step](Setup& setup, Rng& rng, const Material& material, int) {
    setup.max_rows = std::min(rows_of_step, material.most_rows);
    setup.chunking = {};
    const size_t length = static_cast<size_t>(setup.max_rows);
    star(setup, material.draw(rng, [&](const Text& text) { return text.prompt.size() >= length; })).scored = false;
    setup.max_sequences = std::min({material.most_sequences, setup.max_rows, 32});
    for (Visit& visit : setup.visits) {  // choices of one prompt run together
      if (material.texts[static_cast<size_t>(visit.text)].n <= setup.max_sequences) continue;
      visit.text = material.draw(rng, [&](const Text& text) { return text.n == 1 && text.prompt.size() >= length; });
    }
  };
  row.occurred = [](const Evidence& seen) { return fmt::format("steps of up to {} rows", seen.most_rows); };
  row.missing = [rows_of_step](const Evidence& seen, const Material& material) {
    return need(seen.most_rows == std::min(rows_of_step, material.most_rows), "no step used the whole budget");
  };
  return row;
}

Row random_budget() {
  Row row;
  row.name = "random budget";
  row.arrange = [](Setup& setup, Rng& rng, const Material& material, int) {
    setup.max_rows = material.most_rows;
    setup.chunking = {Chunking::Kind::kRandomBudget, between(rng, 8, 64), rng.next()};
    star(setup, material.draw(rng, [](const Text& text) { return text.prompt.size() > 32; })).scored = false;
  };
  row.occurred = [](const Evidence& seen) {
    return fmt::format("{} different budgets used whole", seen.full_budgets.size());
  };
  row.missing = [](const Evidence& seen, const Material&) {
    return need(seen.full_budgets.size() > 3, "too few different budgets");
  };
  return row;
}

Row chunks(std::string name, Chunking::Kind kind, int size) {
  Row row;
  row.name = std::move(name);
  row.arrange = [kind, size](Setup& setup, Rng& rng, const Material& material, int) {
    setup.max_rows = material.most_rows;
    setup.chunking = {kind, size, rng.next()};
    const bool whole = kind == Chunking::Kind::kBudget;
    const int least = whole ? kShortWholePrompt : tensor::kBlockTokens + 1;
    const int most = whole ? setup.max_rows : INT_MAX;
    Visit& own = star(setup, material.draw(rng, [least, most](const Text& text) {
      return std::cmp_greater(text.prompt.size(), least) && std::cmp_less_equal(text.prompt.size(), most);
    }));
    own.scored = false;
    if (whole) own.arrival = 0;  // nobody has a part of the budget before it
  };
  row.occurred = [kind](const Evidence& seen) {
    if (kind == Chunking::Kind::kBudget) return fmt::format("whole prompts of up to {}", seen.longest_whole_prompt);
    if (seen.chunks.empty()) return std::string("chunks of 1");
    return fmt::format("chunks of {} to {}, {} sizes", seen.chunks.begin()->first, seen.chunks.rbegin()->first,
                       seen.chunks.size());
  };
  row.missing = [kind, size](const Evidence& seen, const Material&) {
    if (kind == Chunking::Kind::kRandom) return need(seen.chunks.size() > 3, "too few different chunks");
    if (kind == Chunking::Kind::kBudget)
      return need(seen.longest_whole_prompt > kShortWholePrompt, "no step computed a long prompt whole");
    if (size == 1) return need(seen.chunks.empty(), "a chunk of more than one row");
    return need(!seen.chunks.empty() && seen.chunks.rbegin()->first == size, fmt::format("no chunk of {}", size));
  };
  return row;
}

Row batching(BatchingMode mode) {
  Row row;
  row.name = fmt::format("{} batching", engine::name(mode));
  row.arrange = [mode](Setup& setup, Rng& rng, const Material& material, int) {
    setup.max_sequences = std::min(setup.max_rows, material.most_sequences);
    setup.scarce_blocks = false;
    setup.batching.mode = mode;
    setup.batching.size = between(rng, 2, 4);
    setup.batching.max_wait = std::chrono::milliseconds(between(rng, 1, 20));
    if (setup.visits.size() < 6) invite(setup, rng, material, 6 - static_cast<int>(setup.visits.size()));
    for (Visit& visit : setup.visits) visit.abort_after = -1;
  };
  const auto most_at_once = [](const Evidence& seen) {
    return seen.admitted_at_once.empty() ? 0 : seen.admitted_at_once.rbegin()->first;
  };
  row.occurred = [most_at_once](const Evidence& seen) {
    return fmt::format("{} admitted at once, {} joins", most_at_once(seen), seen.joins);
  };
  row.missing = [mode, most_at_once](const Evidence& seen, const Material&) {
    if (mode == BatchingMode::kContinuous) return need(seen.joins > 0, "nobody joined a running batch");
    if (seen.joins > 0) return std::string("somebody joined a running batch");
    return need(most_at_once(seen) > 1, "no batch of more than one");
  };
  return row;
}

std::string list_of_threads(const Evidence& seen) {
  std::string text;
  for (const auto& [threads, runs] : seen.threads) text += fmt::format("{}{}", text.empty() ? "" : ", ", threads);
  return text;
}

std::string list_of_isas(const Evidence& seen) {
  std::string text;
  for (const auto& [isa, steps] : seen.isas) text += fmt::format("{}{}", text.empty() ? "" : ", ", brio::name(isa));
  return text;
}

}  // namespace

int Material::draw(Rng& rng, const std::function<bool(const Text&)>& condition) const {
  std::vector<int> found;
  for (size_t t = 0; t < texts.size(); ++t) {
    if (condition(texts[t])) found.push_back(static_cast<int>(t));
  }
  BRIO_CHECK(!found.empty(), "no such text among {}", texts.size());
  return found[rng.below(static_cast<uint32_t>(found.size()))];
}

Setup alone(int text, const Material& material) {
  Setup setup;
  setup.isa = material.isas.back();
  setup.max_sequences = std::max(1, material.texts[static_cast<size_t>(text)].n);
  Visit visit;
  visit.text = text;
  visit.scored = true;
  setup.visits.push_back(visit);
  return setup;
}

Setup random_setup(Rng& rng, const Material& material) {
  Setup setup;
  const bool has_vectors = material.isas.size() > 1;  // the scalar reference is slow: it has a row of its own
  setup.isa = material.isas[has_vectors ? 1 + rng.below(static_cast<uint32_t>(material.isas.size() - 1)) : 0];
  setup.threads = between(rng, 1, std::min(2, material.most_threads));
  setup.max_rows = between(rng, std::min(16, material.most_rows), material.most_rows);
  setup.max_sequences = std::min({between(rng, 4, 32), setup.max_rows, material.most_sequences});
  setup.chunking = {static_cast<Chunking::Kind>(rng.below(3)), between(rng, 1, 40), rng.next()};
  setup.scarce_blocks = rng.below(4) == 0;
  invite(setup, rng, material, between(rng, 2, material.most_visits));
  return setup;
}

std::vector<Row> rows(const Material& material) {
  std::vector<Row> rows;
  const auto add = [&](std::string name, auto arrange, auto occurred, auto missing) {
    rows.push_back({std::move(name), arrange, occurred, missing, 1});
  };

  add(
      "alone",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        setup.visits.resize(1);
        setup.visits[0].arrival = 0;
        setup.max_sequences =
            std::max(setup.max_sequences, material.texts[static_cast<size_t>(setup.visits[0].text)].n);
        setup.max_rows = std::max(setup.max_rows, setup.max_sequences);
        setup.visits[0].scored = rng.below(2) == 0;
      },
      [](const Evidence& seen) { return fmt::format("{} steps", seen.steps); },
      [](const Evidence& seen, const Material&) { return need(seen.joins == 0 && seen.steps > 0, "not alone"); });
  add(
      "neighbours come and go",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        setup.max_sequences = std::min(setup.max_rows, material.most_sequences);
        invite(setup, rng, material, between(rng, 1, material.most_visits));
        while (static_cast<int>(setup.visits.size()) > 32) setup.visits.pop_back();
      },
      [](const Evidence& seen) {
        return fmt::format("{} at once, {} joins, {} leaves, {} mixed steps", seen.most_sequences, seen.joins,
                           seen.leaves, seen.mixed_steps);
      },
      [](const Evidence& seen, const Material& material) {
        const int many = std::min(material.most_visits, material.most_sequences) / 2;
        if (seen.most_sequences <= many) return fmt::format("never more than {} at once", seen.most_sequences);
        return need(seen.joins > 0 && seen.leaves > 0 && seen.mixed_steps > 0, "nobody came or left in between");
      });
  add(
      "row in the batch",
      [](Setup& setup, Rng&, const Material& material, int) {
        setup.max_rows = material.most_rows;
        setup.max_sequences = std::min(setup.max_rows, material.most_sequences);
        setup.scarce_blocks = false;
        for (Visit& visit : setup.visits) visit.arrival = 0;
      },
      [](const Evidence& seen) { return fmt::format("{} different rows", seen.places.size()); },
      [](const Evidence& seen, const Material&) { return need(seen.places.size() > 2, "always the same row"); });
  for (const int size : {1, 7, 32, 64}) rows.push_back(budget(size));
  rows.push_back(random_budget());
  rows.push_back(chunks("chunks of 1", Chunking::Kind::kFixed, 1));
  rows.push_back(chunks("chunks of 7", Chunking::Kind::kFixed, 7));
  rows.push_back(chunks("chunks of 32", Chunking::Kind::kFixed, 32));
  rows.push_back(chunks("random chunks", Chunking::Kind::kRandom, 40));
  rows.push_back(chunks("whole prompts", Chunking::Kind::kBudget, 0));
  for (const BatchingMode mode : {BatchingMode::kStatic, BatchingMode::kDynamic, BatchingMode::kContinuous}) {
    rows.push_back(batching(mode));
  }
  add(
      "threads",
      [](Setup& setup, Rng&, const Material& material, int number) {
        setup.threads = 1 + number % material.most_threads;
      },
      [](const Evidence& seen) { return fmt::format("{} threads", list_of_threads(seen)); },
      [](const Evidence& seen, const Material& material) {
        return need(static_cast<int>(seen.threads.size()) == material.most_threads,
                    fmt::format("all threads worked only with {}", list_of_threads(seen)));
      });
  rows.back().least_runs = material.most_threads;
  add(
      "instruction sets",
      [](Setup& setup, Rng& rng, const Material& material, int number) {
        setup.isa = material.isas[static_cast<size_t>(number) % material.isas.size()];
        if (setup.isa == Isa::kScalar) setup.visits.resize(std::min<size_t>(setup.visits.size(), 3));
        for (Visit& visit : setup.visits) {
          if (setup.isa == Isa::kScalar) {
            visit.text = material.draw(rng, [](const Text& text) { return text.prompt.size() < 70; });
          }
        }
      },
      [](const Evidence& seen) { return list_of_isas(seen); },
      [](const Evidence& seen, const Material& material) {
        return need(seen.isas.size() == material.isas.size(), "only " + list_of_isas(seen));
      });
  rows.back().least_runs = static_cast<int>(material.isas.size());
  add(
      "forked choices",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        const Visit& own =
            star(setup, material.draw(rng, [](const Text& text) { return text.n > 1 && text.prompt.size() > 33; }));
        setup.visits[1] = {own.text, between(rng, 0, 4)};  // one choice again, without a fork
        setup.visits[1].verified = between(rng, 0, material.texts[static_cast<size_t>(own.text)].n - 1);
        setup.max_rows = std::max(setup.max_rows, 4);
        setup.max_sequences = std::max(setup.max_sequences, 4);
      },
      [](const Evidence& seen) { return fmt::format("{} forks, {} shared blocks", seen.forks, seen.shared_blocks); },
      [](const Evidence& seen, const Material&) {
        return need(seen.forks > 0 && seen.shared_blocks > 0, "no choice shared a block");
      });
  add(
      "preempted and recomputed",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        setup.preemption = {between(rng, 2, 6), rng.next()};
        setup.max_sequences = std::min(setup.max_rows, material.most_sequences);
        if (setup.visits.size() < 4) invite(setup, rng, material, 4 - static_cast<int>(setup.visits.size()));
      },
      [](const Evidence& seen) {
        return fmt::format("{} preemptions, one request {} times", seen.preemptions, seen.most_preemptions);
      },
      [](const Evidence& seen, const Material&) {
        return need(seen.most_preemptions > 1, "nobody was preempted twice");
      });
  add(
      "blocks run out",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        setup.scarce_blocks = true;
        setup.max_sequences = std::min(setup.max_rows, material.most_sequences);
        Visit growing;  // admitted with room for one more block each, they need two
        growing.text = material.draw(rng, [](const Text& text) { return text.max_tokens == kLongAnswer; });
        setup.visits.insert(setup.visits.end(), 4, growing);
      },
      [](const Evidence& seen) { return fmt::format("{} preemptions", seen.preemptions); },
      [](const Evidence& seen, const Material&) { return need(seen.preemptions > 0, "blocks never ran out"); });
  add(
      "blocks scattered, reused, poisoned",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        setup.scarce_blocks = true;
        setup.max_sequences = std::min(setup.max_rows, material.most_sequences);
        invite(setup, rng, material, 6);
        Visit last;  // takes what all of them have left
        last.text = material.draw(rng, [](const Text& text) { return text.prompt.size() > 64; });
        last.arrival = 40;
        setup.visits.push_back(last);
      },
      [](const Evidence& seen) {
        return fmt::format("{} scattered tables, {} reused, {} poisoned", seen.scattered_tables, seen.reused_blocks,
                           seen.poisoned_blocks);
      },
      [](const Evidence& seen, const Material&) {
        return need(seen.scattered_tables > 0 && seen.reused_blocks > 0 && seen.poisoned_blocks > 0,
                    "no block was scattered, reused or poisoned");
      });
  add(
      "neighbours abort",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        setup.max_sequences = std::min(setup.max_rows, material.most_sequences);
        setup.chunking = {Chunking::Kind::kFixed, between(rng, 1, 8), 0};
        invite(setup, rng, material, 3);
        for (size_t v = 1; v < setup.visits.size(); v += 2) setup.visits[v].abort_after = between(rng, 0, 12);
      },
      [](const Evidence& seen) {
        return fmt::format("{} in their prompt, {} in their answer", seen.aborted_prefills, seen.aborted_decodes);
      },
      [](const Evidence& seen, const Material&) {
        return need(seen.aborted_prefills > 0 && seen.aborted_decodes > 0, "nobody was stopped in prompt and answer");
      });
  add(
      "verify rows",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        Visit& own = star(setup, material.draw(rng, [](const Text& text) { return text.max_tokens > 3; }));
        own.verified = between(rng, 0, material.texts[static_cast<size_t>(own.text)].n - 1);
        setup.chunking = {Chunking::Kind::kFixed, between(rng, 2, 8), 0};
      },
      [](const Evidence& seen) { return fmt::format("{} rows", seen.verify_rows); },
      [](const Evidence& seen, const Material&) { return need(seen.verify_rows > 0, "no answer was verified"); });
  add(
      "seeded sampling",
      [](Setup& setup, Rng& rng, const Material& material, int) {
        Visit& own = star(setup, material.draw(rng, [](const Text& text) { return is_sampled(text) && text.n > 1; }));
        own.arrival = between(rng, 1, 4);  // its rows come after an older neighbour's
        setup.visits[1] = {
            material.draw(rng, [](const Text& text) { return !is_sampled(text) && text.max_tokens == kLongAnswer; })};
        Visit unseeded = {material.draw(rng, [](const Text& text) { return is_sampled(text) && text.n == 1; })};
        unseeded.unseeded = true;
        setup.visits.insert(setup.visits.begin() + 2, unseeded);
        setup.max_rows = std::max(setup.max_rows, 8);
        setup.max_sequences = std::max(setup.max_sequences, 8);
      },
      [](const Evidence& seen) {
        return fmt::format(
            "{} tokens drawn beside {} greedy and {} unseeded ones, from {} different rows, {} times other answers",
            seen.sampled_tokens, seen.greedy_tokens, seen.unseeded_tokens, seen.drawn_rows.size(), seen.parted_choices);
      },
      [](const Evidence& seen, const Material&) {
        if (seen.parted_choices == 0) return std::string("the choices of a prompt were equal: noise decided nothing");
        if (seen.unseeded_tokens == 0) return std::string("no neighbour was sampled without a seed");
        return need(seen.greedy_tokens > 0 && seen.drawn_rows.size() > 3, "nothing was drawn behind a neighbour's row");
      });
  return rows;
}

}  // namespace brio::prove
