// Architectures: what a configuration means as a graph.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "layers/attention.h"

namespace adze::models {

// Hyperparameters of a decoder, independent of any file format.
struct ModelConfig {
  std::string architecture;  // "llama"
  std::string name;          // as its makers call it; may be empty
  int32_t hidden = 0;
  int32_t layers = 0;
  // By layer: pruned models differ from layer to layer.
  std::vector<int32_t> heads;
  std::vector<int32_t> kv_heads;
  std::vector<int32_t> ffn;
  int32_t head_dim = 0;
  int32_t rotary_dim = 0;
  int32_t vocabulary = 0;
  int32_t context_length = 0;
  double norm_epsilon = 0;
  bool tied_output = false;  // logits come from the embedding table
  // By layer.
  std::vector<int32_t> window;     // positions that a row sees, its own included; 0: all
  int32_t sinks = 0;               // first positions that rows with a window see beside it
  std::vector<layers::Rope> rope;  // how positions turn queries and keys
  double query_scalar = 0;         // attention's scores are divided by its square root
  bool attention_bias = false;     // its four projections have biases
  bool mlp_bias = false;           // so have gate, up and down
};

// Declares the cache of all layers: a state group per number of key heads and window (pruned models
// have several numbers). Returns the group of each layer.
std::vector<int32_t> add_state_groups(const ModelConfig& config, graph::Graph& graph);

// What the configuration says of a layer's attention.
layers::AttentionSpec attention_spec(const ModelConfig& config, int32_t layer, int32_t state_group);

// Canonical weight ids, [rows, columns]: token_embedding [vocab, hidden];
// layers.<i>.attention.{norm [1, hidden], query [heads·head_dim, hidden], key, value
// [kv_heads·head_dim, hidden], output [hidden, heads·head_dim]}; layers.<i>.mlp.{norm, gate, up
// [ffn, hidden], down [hidden, ffn]}; final_norm; output [vocab, hidden] unless tied. Where the
// family has them: layers.<i>.attention.{query_norm, key_norm [1, head_dim], post_norm [1,
// hidden]}, layers.<i>.mlp.post_norm. With biases <projection>_bias [1, rows] for each projection.
// A norm's weight is the factor itself. Query and key rows are in the order of half-split rotary
// pairs: dimension i turns with i + rotary_dim / 2.
struct Architecture {
  std::string_view name;
  // The declaration: input "tokens", output "logits" [sampled, vocab]. Throws Error{kInvalidInput}
  // where weights do not fit the configuration.
  graph::Graph (*build)(const ModelConfig& config, const graph::WeightSource& weights);
};

// Makes an architecture known; called by static initializers of the files in this folder.
struct RegisterArchitecture {
  explicit RegisterArchitecture(const Architecture& architecture);
};

// Throws Error{kUnsupported} naming the known ones.
const Architecture& find_architecture(std::string_view name);
std::vector<std::string_view> architecture_names();

}  // namespace adze::models
