#include "graph/verify.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "base/arena.h"
#include "base/error.h"

namespace adze::graph {
namespace {

constexpr size_t kSequences = 2;
// Tokens of the first sequence that the declared graph alone computes; the graphs after it find
// them in the cache.
constexpr int32_t kPrefix = 240;
// Rows of each sequence after that, run by run. Those of the first reach from one cache block into
// the next, and from attention's first segment of 256 tokens into its second.
constexpr std::array<std::array<int32_t, kSequences>, 3> kRuns = {{{33, 4}, {1, 1}, {1, 0}}};
constexpr int32_t kMaxRows = 37;
constexpr int32_t kComparedRows = 40;
constexpr int32_t kMaxTokens = kPrefix + 35;  // of one sequence
constexpr int32_t kBlocks = (kMaxTokens + kBlockTokens - 1) / kBlockTokens;

// Ids spread evenly over the vocabulary (multiplicative hashing with the golden ratio).
int32_t token_id(int32_t index, int64_t vocabulary) {
  const uint32_t spread = static_cast<uint32_t>(index + 1) * 2654435769u;
  return static_cast<int32_t>(uint64_t{spread} * static_cast<uint64_t>(vocabulary) >> 32);
}

}  // namespace

// Cache memory of the sequences: tables[sequence][group] lists a group's blocks.
struct PassVerifier::Cache {
  explicit Cache(const Graph& graph) {
    for (auto& sequence : tables) {
      for (const StateGroup& group : graph.state_groups()) {
        assert(group.layer_block_bytes > 0 && "state is not laid out");
        memory.emplace_back(group.block_bytes() * kBlocks);
        auto& table = sequence.emplace_back();
        for (size_t i = 0; i < kBlocks; ++i) {
          table.push_back(memory.back().data() + i * group.block_bytes());
        }
      }
    }
  }

  // Takes over the contents of a cache of the same layout.
  void copy_from(const Cache& other) {
    if (memory.size() != other.memory.size()) throw_internal("a pass changed the state groups");
    for (size_t i = 0; i < memory.size(); ++i) {
      if (memory[i].size() != other.memory[i].size()) {
        throw_internal("a pass changed the layout of the cache");
      }
      std::copy_n(other.memory[i].data(), memory[i].size(), memory[i].data());
    }
  }

  std::vector<HugeBuffer> memory;
  std::array<std::vector<std::vector<std::byte*>>, kSequences> tables;
};

namespace {

std::vector<double> log_softmax(std::span<const float> logits) {
  const double greatest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - greatest);
  std::vector<double> out;
  out.reserve(logits.size());
  for (const float logit : logits) out.push_back(logit - greatest - std::log(sum));
  return out;
}

double kl_divergence(std::span<const float> before, std::span<const float> after) {
  const std::vector<double> p = log_softmax(before);
  const std::vector<double> q = log_softmax(after);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
  return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
}

void compare(std::span<const float> before, std::span<const float> after, PassCheck& check) {
  check.rows = kComparedRows;
  check.bit_identical = true;
  for (size_t i = 0; i < before.size(); ++i) {
    if (std::bit_cast<uint32_t>(before[i]) == std::bit_cast<uint32_t>(after[i])) continue;
    check.bit_identical = false;
    const double difference = std::abs(double{before[i]} - after[i]);
    check.largest_difference = std::isfinite(difference)
                                   ? std::max(check.largest_difference, difference)
                                   : std::numeric_limits<double>::infinity();
  }
  const size_t vocabulary = before.size() / kComparedRows;
  for (size_t row = 0; row < kComparedRows; ++row) {
    const auto p = before.subspan(row * vocabulary, vocabulary);
    const auto q = after.subspan(row * vocabulary, vocabulary);
    const auto best = [](std::span<const float> x) {
      return std::max_element(x.begin(), x.end()) - x.begin();
    };
    check.same_best += best(p) == best(q) ? 1 : 0;
    check.mean_kl += check.bit_identical ? 0.0 : kl_divergence(p, q) / kComparedRows;
  }
}

// The batches of a verification, one after another, on one plan.
class Batches {
 public:
  Batches(Plan& plan, PassVerifier::Cache& cache) : plan_(plan), cache_(cache) {}

  // Runs `rows[i]` more rows of each sequence and returns the logits of all of them, or of none.
  std::span<const float> run(const std::array<int32_t, kSequences>& rows, bool sample) {
    std::vector<int32_t> tokens;
    std::vector<int32_t> sampled;
    std::vector<BatchSequence> sequences;
    for (size_t i = 0; i < kSequences; ++i) {
      if (rows[i] == 0) continue;
      BatchSequence& sequence = sequences.emplace_back();
      sequence.first_row = static_cast<int32_t>(tokens.size());
      sequence.rows = rows[i];
      sequence.first_position = positions_[i];
      for (const auto& table : cache_.tables[i]) sequence.blocks.emplace_back(table);
      positions_[i] += rows[i];
      for (int32_t row = 0; row < rows[i]; ++row) {
        if (sample) sampled.push_back(static_cast<int32_t>(tokens.size()));
        tokens.push_back(token_id(index_++, plan_.vocabulary()));
      }
    }
    plan_.run({tokens, sequences, sampled});
    return plan_.output();
  }

  // As if the first sequence's prefix had been run.
  void skip_prefix() {
    positions_[0] += kPrefix;
    index_ += kPrefix;
  }

 private:
  Plan& plan_;
  PassVerifier::Cache& cache_;
  std::array<int32_t, kSequences> positions_ = {};
  int32_t index_ = 0;
};

}  // namespace

PassVerifier::PassVerifier(std::span<Provider* const> providers, const WeightSource& source,
                           ThreadPool& pool, LoadProgress progress)
    : providers_(providers), source_(source), pool_(pool), progress_(std::move(progress)) {}

PassVerifier::~PassVerifier() = default;

std::vector<float> PassVerifier::logits(const Graph& graph) {
  PlanOptions options;
  options.max_rows = options.max_sampled = kMaxRows;
  options.max_context = kMaxTokens;
  Plan plan(graph, providers_, source_, options, pool_, progress_);
  Cache cache(graph);
  Batches batches(plan, cache);
  if (prefix_ == nullptr) {
    for (int32_t done = 0; done < kPrefix; done += kMaxRows) {
      batches.run({std::min(kMaxRows, kPrefix - done), 0}, false);
    }
    prefix_ = std::make_unique<Cache>(graph);
    prefix_->copy_from(cache);
  } else {
    cache.copy_from(*prefix_);
    batches.skip_prefix();
  }
  std::vector<float> out;
  for (const auto& rows : kRuns) {
    const std::span<const float> output = batches.run(rows, true);
    out.insert(out.end(), output.begin(), output.end());
  }
  return out;
}

void PassVerifier::start(const Graph& declared) {
  prefix_.reset();
  before_ = logits(declared);
  if (!std::all_of(before_.begin(), before_.end(), [](float x) { return std::isfinite(x); })) {
    throw_invalid("the model's logits are not all finite numbers: passes cannot be compared");
  }
}

void PassVerifier::check(const Graph& graph, const PassReport& report) {
  assert(!before_.empty() && "start() comes first");
  std::vector<float> after = logits(graph);
  PassCheck& check = checks_.emplace_back();
  check.pass = report.name;
  check.exactness = report.exactness;
  check.mean_kl_limit = report.mean_kl_limit;
  if (after.size() != before_.size()) {
    throw_internal("pass {}: {} logits became {}", report.name, before_.size(), after.size());
  }
  compare(before_, after, check);
  before_ = std::move(after);
}

std::string check_text(const PassCheck& check) {
  if (check.bit_identical) return fmt::format("logits bit-identical in {} rows", check.rows);
  return fmt::format(
      "logits differ by at most {:.3g}, mean KL {:.2e} nats, best token the same in {} of {} rows",
      check.largest_difference, check.mean_kl, check.same_best, check.rows);
}

std::string promise_text(const PassCheck& check) {
  return check.exactness == Exactness::kBitIdentical
             ? "not to change a bit"
             : fmt::format("a mean KL of at most {:g} nats", check.mean_kl_limit);
}

void require_kept(std::span<const PassCheck> checks) {
  for (const PassCheck& check : checks) {
    if (check.holds()) continue;
    throw_internal("pass {} promises {}, but {}", check.pass, promise_text(check),
                   check_text(check));
  }
}

}  // namespace adze::graph
