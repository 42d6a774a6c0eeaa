// Checks of what passes promise: the same batch through the graph before and after each pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "graph/passes/pass.h"
#include "graph/plan.h"
#include "graph/provider.h"

namespace adze::graph {

// A pass's logits compared with those of the graph before it.
struct PassCheck {
  std::string pass;
  Exactness exactness = Exactness::kBitIdentical;
  double mean_kl_limit = 0;       // of the report
  int32_t rows = 0;               // rows of logits compared
  bool bit_identical = false;     // every bit of every logit
  double largest_difference = 0;  // of a logit; infinite where one is not a finite number
  double mean_kl = 0;             // KL(before ‖ after) in nats, mean over rows
  int32_t same_best = 0;          // rows whose best token is the same (ties: the lowest id)

  // Whether the pass kept its promise.
  bool holds() const {
    return bit_identical || (exactness == Exactness::kApproximate && mean_kl <= mean_kl_limit);
  }
};

// Runs a fixed batch of two sequences on a plan of its own for each graph it is given: prompt
// chunks of 33 and 4 rows, a decode of both, a decode of one. The first sequence begins behind 240
// tokens that the first graph computes and every other finds in its cache, so that all row classes
// and the boundaries of cache blocks and of attention's segments are met, and cost little. Plans
// live one at a time; the logits of two are held. The graphs' state is laid out already
// (Provider::lay_out_state), alike in all of them. References outlive the verifier.
class PassVerifier {
 public:
  // `progress` follows the packing of every plan.
  PassVerifier(std::span<Provider* const> providers, const WeightSource& source, ThreadPool& pool,
               LoadProgress progress = {});
  ~PassVerifier();

  // The graph before the first pass. Throws Error{kInvalidInput} where its logits are not finite:
  // then nothing can be told.
  void start(const Graph& declared);
  // The graph after a pass; fits AfterPass.
  void check(const Graph& graph, const PassReport& report);

  const std::vector<PassCheck>& checks() const { return checks_; }

  struct Cache;  // memory of the sequences

 private:
  std::vector<float> logits(const Graph& graph);

  std::span<Provider* const> providers_;
  const WeightSource& source_;
  ThreadPool& pool_;
  LoadProgress progress_;
  std::unique_ptr<Cache> prefix_;  // what the first graph left of the prefix
  std::vector<float> before_;
  std::vector<PassCheck> checks_;
};

// Throws Error{kInternal} naming the first pass that broke its promise, and how; nothing where all
// kept theirs.
void require_kept(std::span<const PassCheck> checks);

// "logits bit-identical in 40 rows", or how far apart they are.
std::string check_text(const PassCheck& check);
// "not to change a bit", or how much at most.
std::string promise_text(const PassCheck& check);

}  // namespace adze::graph
