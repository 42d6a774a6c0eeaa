#include "measure/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/error.h"
#include "engine/engine.h"
#include "graph/operator.h"

namespace adze::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kDepthAnswer = 32;  // tokens of an answer at depth
constexpr int32_t kBatchPrompt = 16;  // tokens before answers at once
constexpr int32_t kBatchAnswer = 64;

enum class Kind { kPrompt, kDecode };

struct Case {
  std::string name;
  Kind kind = Kind::kPrompt;
  int32_t prompt = 0;
  int32_t answer = 0;  // tokens after the first
  int32_t sequences = 1;

  int32_t tokens() const { return prompt + answer + 1; }
};

std::vector<Case> cases_of(const BenchOptions& options) {
  std::vector<Case> cases;
  cases.reserve(options.prompts.size() + options.decodes.size() + options.depths.size() +
                options.sequences.size());
  for (const int32_t n : options.prompts) {
    cases.push_back({fmt::format("pp{}", n), Kind::kPrompt, n, 0, 1});
  }
  for (const int32_t n : options.decodes) {
    cases.push_back({fmt::format("tg{}", n), Kind::kDecode, 1, n, 1});
  }
  for (const int32_t depth : options.depths) {
    cases.push_back(
        {fmt::format("tg{} at {}", kDepthAnswer, depth), Kind::kDecode, depth, kDepthAnswer, 1});
  }
  for (const int32_t n : options.sequences) {
    cases.push_back(
        {fmt::format("tg{} × {}", kBatchAnswer, n), Kind::kDecode, kBatchPrompt, kBatchAnswer, n});
  }
  return cases;
}

struct Times {
  double prompt = 0;
  double decode = 0;
};

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Runs the case's sequences together. Those with one salt find again what others have computed.
Times run_once(engine::Engine& engine, int32_t vocabulary, const Case& what,
               const std::string& salt) {
  int32_t begun = 0;
  std::string error;
  Clock::time_point first_tokens;
  for (int32_t i = 0; i < what.sequences; ++i) {
    engine::Request request;
    for (int32_t k = 0; k < what.prompt; ++k) {
      // Any tokens will do; no two sequences begin alike.
      request.tokens.push_back(
          static_cast<int32_t>((int64_t{k} * 7919 + int64_t{i} * 104729 + 1) % vocabulary));
    }
    request.max_tokens = what.answer + 1;
    request.sampling.temperature = 0;
    request.ignore_end = true;
    request.cache_salt = salt;
    engine.submit(std::move(request),
                  {[&, is_first = true](const engine::TokenInfo&) mutable {
                     if (std::exchange(is_first, false) && ++begun == what.sequences) {
                       first_tokens = Clock::now();
                     }
                   },
                   [&](engine::FinishReason reason, std::string_view, std::string_view why) {
                     if (reason == engine::FinishReason::kError) error = why;
                   }});
  }
  const Clock::time_point start = Clock::now();
  while (engine.step()) {
  }
  const Clock::time_point end = Clock::now();
  if (!error.empty()) throw_internal("{}: {}", what.name, error);
  return {seconds_between(start, first_tokens), seconds_between(first_tokens, end)};
}

// What bounds a prompt: the units that multiply. Float weights are multiplied as float32.
bool multiplies_bytes(const graph::Graph& graph) {
  return std::any_of(graph.order().begin(), graph.order().end(), [&](graph::NodeId id) {
    const graph::Node& node = graph.node(id);
    return node.op->name == "linear" &&
           graph.value(node.inputs[0]).type == graph::ElementType::kQuantized;
  });
}

class Bench {
 public:
  Bench(engine::LoadedModel& model, const BenchOptions& options, const BenchProgress& progress)
      : model_(model),
        options_(options),
        progress_(progress),
        cases_(cases_of(options)),
        engine_(model, {most_tokens(options), most_sequences(options)}),
        bytes_(multiplies_bytes(model.plan().graph())) {
    result_.work = linear_work(model.plan().graph(), *model.checkpoint().weights);
  }

  BenchResult run() {
    note("limits", 0);
    result_.limits =
        measure_limits(model_.pool(), model_.isa(), static_cast<size_t>(result_.work.weight_bytes));
    for (size_t i = 0; i < cases_.size(); ++i) {
      CaseResult result{cases_[i].name, {}, {}, 0};
      for (int32_t repeat = 0; repeat <= options_.repeats; ++repeat) {
        note(cases_[i].name, static_cast<double>(i) / static_cast<double>(cases_.size()));
        const double rate = run_case(cases_[i]);
        if (repeat > 0) result.rates.push_back(rate);  // the first one warms
      }
      set_share(cases_[i], result);
      result_.cases.push_back(std::move(result));
    }
    profile();
    return std::move(result_);
  }

 private:
  void note(const std::string& name, double done) {
    if (progress_) progress_(name, done);
  }

  Times run_times(const Case& what) {
    // Prompts are computed every time; answers at depth find theirs in the cache.
    const std::string salt =
        what.kind == Kind::kPrompt ? fmt::format("{}", ++runs_) : std::string(what.name);
    return run_once(engine_, model_.config().vocabulary, what, salt);
  }

  double run_case(const Case& what) {
    const Times times = run_times(what);
    if (what.kind == Kind::kPrompt) return what.prompt / times.prompt;
    return what.answer * what.sequences / times.decode;
  }

  double multiply_limit() const {
    return bytes_ ? result_.limits.int8_rate : result_.limits.f32_rate;
  }
  double prompt_operations(const Case& what) const {
    return result_.work.row_operations * what.prompt + result_.work.sampled_operations;
  }

  void set_share(const Case& what, CaseResult& result) const {
    const double rate = result.median();
    const double operations = result_.work.row_operations + result_.work.sampled_operations;
    const double multiplying = what.kind == Kind::kPrompt
                                   ? rate * prompt_operations(what) / what.prompt
                                   : rate * operations;
    const double multiply_share = multiplying / multiply_limit();
    const double read_share =
        what.kind == Kind::kPrompt
            ? 0
            : rate / what.sequences * result_.work.weight_bytes / result_.limits.read_rate;
    result.limit = read_share > multiply_share ? "read" : bytes_ ? "int8" : "f32";
    result.share = std::max(read_share, multiply_share);
  }

  // One more run of the first prompt with a clock at every step.
  void profile() {
    const auto prompt = std::find_if(cases_.begin(), cases_.end(),
                                     [](const Case& c) { return c.kind == Kind::kPrompt; });
    if (prompt == cases_.end()) return;
    model_.plan().measure_nodes();
    const double seconds = run_times(*prompt).prompt;
    const graph::Graph& graph = model_.plan().graph();
    std::map<std::string, double> by_operator;
    for (const graph::NodeId id : graph.order()) {
      const double spent = model_.plan().node_seconds()[static_cast<size_t>(id)];
      if (spent > 0) by_operator[graph.node(id).op->name] += spent;
    }
    for (const auto& [op, spent] : by_operator) result_.operators.push_back({op, spent});
    std::sort(result_.operators.begin(), result_.operators.end(),
              [](const OperatorTime& a, const OperatorTime& b) { return a.seconds > b.seconds; });
    result_.share_without_attention =
        prompt_operations(*prompt) / (seconds - by_operator["attention"]) / multiply_limit();
  }

  engine::LoadedModel& model_;
  const BenchOptions& options_;
  const BenchProgress& progress_;
  std::vector<Case> cases_;
  engine::Engine engine_;
  bool bytes_;
  int64_t runs_ = 0;
  BenchResult result_;
};

}  // namespace

double CaseResult::median() const {
  std::vector<double> sorted = rates;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

int32_t longest_sequence(const BenchOptions& options) {
  int32_t longest = 1;
  for (const Case& what : cases_of(options)) longest = std::max(longest, what.tokens());
  return longest;
}

int32_t most_tokens(const BenchOptions& options) {
  int32_t most = 1;
  for (const Case& what : cases_of(options)) {
    // Each sequence takes whole blocks.
    const int32_t blocks = (what.tokens() + graph::kBlockTokens - 1) / graph::kBlockTokens;
    most = std::max(most, what.sequences * blocks * graph::kBlockTokens);
  }
  return most;
}

int32_t most_sequences(const BenchOptions& options) {
  int32_t most = 1;
  for (const int32_t n : options.sequences) most = std::max(most, n);
  return most;
}

BenchResult run_bench(engine::LoadedModel& model, const BenchOptions& options,
                      const BenchProgress& progress) {
  return Bench(model, options, progress).run();
}

}  // namespace adze::measure
