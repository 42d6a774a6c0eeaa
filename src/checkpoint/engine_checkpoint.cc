#include "checkpoint/engine_checkpoint.h"

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/decoder_limits.h"
#include "checkpoint/formats.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/make_tokenizer.h"
#include "checkpoint/names.h"
#include "formats/engine_file/engine_file.h"
#include "tensor/dtype.h"

namespace adze::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int32_t kMaxCount = std::numeric_limits<int32_t>::max();
constexpr std::string_view kPacked = "packed:";
constexpr std::string_view kPlain = "plain:";

// Split rules are written as their numbers.
static_assert(text::kSplitRuleCount == 22 && engine_file::kFormatVersion == 1,
              "engine files of another version have other rules");

// --- Writing ---

Json config_json(const models::ModelConfig& config) {
  auto ropes = Json::array();
  for (const layers::Rope& rope : config.rope) {
    ropes.push_back({{"theta", rope.theta},
                     {"factor", rope.factor},
                     {"original_context", rope.original_context},
                     {"low_frequency_factor", rope.low_frequency_factor},
                     {"high_frequency_factor", rope.high_frequency_factor}});
  }
  return {{"architecture", config.architecture},
          {"name", config.name},
          {"hidden", config.hidden},
          {"layers", config.layers},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"ffn", config.ffn},
          {"head_dim", config.head_dim},
          {"rotary_dim", config.rotary_dim},
          {"vocabulary", config.vocabulary},
          {"context_length", config.context_length},
          {"norm_epsilon", config.norm_epsilon},
          {"tied_output", config.tied_output},
          {"window", config.window},
          {"rope", std::move(ropes)},
          {"query_scalar", config.query_scalar},
          {"attention_bias", config.attention_bias},
          {"mlp_bias", config.mlp_bias}};
}

Json tokenizer_json(const text::Vocabulary& vocabulary) {
  const text::SpecialIds& special = vocabulary.special();
  Json ids = {{"stops", special.stops}};
  const auto add = [&](const char* name, std::optional<text::TokenId> id) {
    if (id) ids[name] = *id;
  };
  add("bos", special.bos);
  add("eos", special.eos);
  add("eot", special.eot);
  add("eom", special.eom);
  add("unknown", special.unknown);
  add("padding", special.padding);
  auto splits = Json::array();
  for (const text::SplitRule rule : vocabulary.pre_tokenizer().splits) {
    splits.push_back(static_cast<int>(rule));
  }
  auto rules = Json::array();
  for (text::TokenId id = 0; id < vocabulary.size(); ++id) {
    const text::AddedTokenRules rule = vocabulary.added_rules(id);
    if (!rule.left_strip && !rule.right_strip && !rule.single_word && !rule.after_others) continue;
    rules.push_back({{"token", id},
                     {"left_strip", rule.left_strip},
                     {"right_strip", rule.right_strip},
                     {"single_word", rule.single_word},
                     {"after_others", rule.after_others}});
  }
  return {{"model", vocabulary.model()},
          {"splits", std::move(splits)},
          {"ignores_merges", vocabulary.pre_tokenizer().ignores_merges},
          {"normalizes_nfc", vocabulary.pre_tokenizer().normalizes_nfc},
          {"added_rules", std::move(rules)},
          {"special", std::move(ids)},
          {"add_bos", vocabulary.add_bos()},
          {"add_eos", vocabulary.add_eos()},
          {"space_prefix", static_cast<int>(vocabulary.space_prefix())},
          {"space_prefix_once", vocabulary.space_prefix_once()},
          {"fuse_unknown", vocabulary.fuse_unknown()}};
}

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

// --- Reading ---

// An object that has to be there.
HfConfig require_object(const HfConfig& parent, std::string_view key) {
  const auto object = parent.object(key);
  if (!object) parent.missing(key);
  return *object;
}

// The tensors of an engine file by canonical id.
class EngineTensors final : public graph::WeightSource {
 public:
  explicit EngineTensors(std::unique_ptr<const engine_file::File> file) : file_(std::move(file)) {
    const HfConfig model(file_->model(), file_->name());
    const HfConfig weights = require_object(model, "weights");
    for (const auto& [id, entry] : model.find("weights")->items()) {
      const bool well_formed = entry.is_array() && entry.size() == 3 && entry[0].is_string() &&
                               entry[1].is_number_unsigned() && entry[2].is_number_unsigned();
      const std::optional<DType> dtype =
          well_formed ? dtype_from_name(entry[0].get_ref<const std::string&>()) : std::nullopt;
      const auto within = [&](int i) {
        const auto size = entry[static_cast<size_t>(i)].get<uint64_t>();
        return size >= 1 && size <= static_cast<uint64_t>(kMaxCount);
      };
      if (!dtype || !within(1) || !within(2) ||
          entry[2].get<int64_t>() % dtype_info(*dtype).block_elements != 0) {
        throw_invalid("{}: not [type, rows, columns]", weights.place(printable(id)));
      }
      infos_[id] = {*dtype, entry[1].get<int64_t>(), entry[2].get<int64_t>()};
    }
  }

  const engine_file::File& file() const { return *file_; }
  const std::map<std::string, graph::WeightInfo>& infos() const { return infos_; }

  graph::WeightInfo info(const std::string& id) const override {
    const auto found = infos_.find(id);
    if (found == infos_.end()) throw_invalid("{}: no weight {}", file_->name(), printable(id));
    return found->second;
  }
  bool contains(const std::string& id) const override { return infos_.contains(id); }
  void read_rows(const std::string& id, int64_t first, std::span<std::byte> out) const override {
    const graph::WeightInfo weight = info(id);
    const auto bytes = file_->find(std::string(kPlain) + id);
    if (!bytes) {
      throw_unsupported("{}: weight {} is there packed alone; compile the model again",
                        file_->name(), printable(id));
    }
    if (bytes->size() != weight.bytes()) {
      throw_invalid("{}: weight {}: {} bytes, not {}", file_->name(), printable(id), bytes->size(),
                    weight.bytes());
    }
    std::memcpy(out.data(), bytes->data() + static_cast<size_t>(first) * weight.row_bytes(),
                out.size());
  }
  std::span<const std::byte> packed(std::string_view layout,
                                    const std::string& expression) const override {
    const auto own = HfConfig(file_->model(), file_->name()).text("packed_layout").value_or("");
    if (own != layout) {
      throw_unsupported(
          "{}: its weights lie in the layout '{}', not in '{}' as here: compile the model again",
          file_->name(), printable(own), layout);
    }
    return file_->find(std::string(kPacked) + expression).value_or(std::span<const std::byte>());
  }
  void check() const override { file_->check(); }

 private:
  std::unique_ptr<const engine_file::File> file_;
  std::map<std::string, graph::WeightInfo> infos_;
};

bool require_boolean(const HfConfig& object, std::string_view key) {
  const auto value = object.boolean(key);
  if (!value) object.missing(key);
  return *value;
}

std::string require_text(const HfConfig& object, std::string_view key) {
  const auto value = object.text(key);
  if (!value) object.missing(key);
  return *value;
}

// A number for each layer.
std::vector<int32_t> by_layer(const HfConfig& config, std::string_view key, int32_t layers,
                              int64_t least, int64_t most) {
  const auto values = config.integers(key);
  if (!values) config.missing(key);
  if (values->size() != static_cast<size_t>(layers)) {
    throw_invalid("{}: {} numbers for {} layers", config.place(key), values->size(), layers);
  }
  std::vector<int32_t> out;
  for (const int64_t value : *values) {
    if (value < least || value > most) {
      throw_invalid("{}: {} is not from {} to {}", config.place(key), value, least, most);
    }
    out.push_back(static_cast<int32_t>(value));
  }
  return out;
}

models::ModelConfig read_config(const HfConfig& config) {
  models::ModelConfig out;
  out.architecture = require_text(config, "architecture");
  out.name = require_text(config, "name");
  out.hidden = config.require_count("hidden", kMaxWidth);
  out.layers = config.require_count("layers", kMaxLayers);
  out.heads = by_layer(config, "heads", out.layers, 1, kMaxWidth);
  out.kv_heads = by_layer(config, "kv_heads", out.layers, 1, kMaxWidth);
  out.ffn = by_layer(config, "ffn", out.layers, 1, kMaxWidth);
  out.window = by_layer(config, "window", out.layers, 0, kMaxCount);
  out.head_dim = config.require_count("head_dim", kMaxWidth);
  out.rotary_dim = config.require_count("rotary_dim", out.head_dim);
  out.vocabulary = config.require_count("vocabulary", kMaxCount);
  out.context_length = config.require_count("context_length", kMaxCount);
  out.norm_epsilon = config.require_positive("norm_epsilon");
  out.query_scalar = config.require_positive("query_scalar");
  out.tied_output = require_boolean(config, "tied_output");
  out.attention_bias = require_boolean(config, "attention_bias");
  out.mlp_bias = require_boolean(config, "mlp_bias");
  check_heads(out, config.place("heads"), config.place("head_dim"));
  if (out.rotary_dim % 2 != 0) throw_invalid("{}: an odd number", config.place("rotary_dim"));
  const nlohmann::json* ropes = config.find("rope");
  if (ropes == nullptr || !ropes->is_array() || ropes->size() != static_cast<size_t>(out.layers)) {
    throw_invalid("{}: not one object for each layer", config.place("rope"));
  }
  for (const nlohmann::json& entry : *ropes) {
    const HfConfig rope(entry, config.place("rope"));
    out.rope.push_back({.theta = rope.require_positive("theta"),
                        .factor = rope.require_positive("factor"),
                        .original_context = rope.real("original_context").value_or(0),
                        .low_frequency_factor = rope.require_positive("low_frequency_factor"),
                        .high_frequency_factor = rope.require_positive("high_frequency_factor")});
  }
  return out;
}

template <class T>
std::vector<T> read_array(const engine_file::File& file, std::string_view section) {
  const std::span<const std::byte> bytes = file.require(section);
  if (bytes.size() % sizeof(T) != 0) {
    throw_invalid("{}: section '{}': {} bytes are no whole elements", file.name(), section,
                  bytes.size());
  }
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

StringTable read_strings(const engine_file::File& file, const std::string& section) {
  const std::span<const std::byte> text = file.require(section + ".text");
  std::vector<uint64_t> ends = read_array<uint64_t>(file, section + ".ends");
  uint64_t before = 0;
  for (const uint64_t end : ends) {
    if (end < before) throw_invalid("{}: section '{}.ends': not ascending", file.name(), section);
    before = end;
  }
  if (before != text.size()) {
    throw_invalid("{}: section '{}.ends': {} bytes of text, not {}", file.name(), section, before,
                  text.size());
  }
  return {std::string(reinterpret_cast<const char*>(text.data()), text.size()), std::move(ends)};
}

std::optional<text::TokenId> token_id(const HfConfig& object, std::string_view key) {
  const auto id = object.integer(key);
  if (!id) return std::nullopt;
  if (*id < 0 || *id > kMaxCount) throw_invalid("{}: {} is no token", object.place(key), *id);
  return static_cast<text::TokenId>(*id);
}

// An enumerator by its number; `count` of them.
template <class T>
T enumerator(int64_t number, int64_t count, const std::string& place) {
  if (number < 0 || number >= count) throw_invalid("{}: no kind {} is known", place, number);
  return static_cast<T>(number);
}

text::VocabularyData read_vocabulary(const engine_file::File& file) {
  const HfConfig tokenizer = require_object(HfConfig(file.model(), file.name()), "tokenizer");
  text::VocabularyData data;
  data.model = require_text(tokenizer, "model");
  for (const int64_t rule : tokenizer.integers("splits").value_or(std::vector<int64_t>())) {
    data.pre_tokenizer.splits.push_back(
        enumerator<text::SplitRule>(rule, text::kSplitRuleCount, tokenizer.place("splits")));
  }
  data.pre_tokenizer.ignores_merges = require_boolean(tokenizer, "ignores_merges");
  data.pre_tokenizer.normalizes_nfc = require_boolean(tokenizer, "normalizes_nfc");
  const nlohmann::json* rules = tokenizer.find("added_rules");
  if (rules == nullptr || !rules->is_array()) {
    throw_invalid("{}: not an array", tokenizer.place("added_rules"));
  }
  for (const nlohmann::json& entry : *rules) {
    const HfConfig rule(entry, tokenizer.place("added_rules"));
    const auto token = token_id(rule, "token");
    if (!token) rule.missing("token");
    data.added_rules[*token] = {.left_strip = require_boolean(rule, "left_strip"),
                                .right_strip = require_boolean(rule, "right_strip"),
                                .single_word = require_boolean(rule, "single_word"),
                                .after_others = require_boolean(rule, "after_others")};
  }
  const HfConfig special = require_object(tokenizer, "special");
  data.special.bos = token_id(special, "bos");
  data.special.eos = token_id(special, "eos");
  data.special.eot = token_id(special, "eot");
  data.special.eom = token_id(special, "eom");
  data.special.unknown = token_id(special, "unknown");
  data.special.padding = token_id(special, "padding");
  for (const int64_t id : special.integers("stops").value_or(std::vector<int64_t>())) {
    if (id < 0 || id > kMaxCount) throw_invalid("{}: {} is no token", special.place("stops"), id);
    data.special.stops.push_back(static_cast<text::TokenId>(id));
  }
  data.add_bos = require_boolean(tokenizer, "add_bos");
  data.add_eos = require_boolean(tokenizer, "add_eos");
  data.space_prefix = enumerator<text::SpacePrefix>(tokenizer.integer("space_prefix").value_or(-1),
                                                    3, tokenizer.place("space_prefix"));
  data.space_prefix_once = require_boolean(tokenizer, "space_prefix_once");
  data.fuse_unknown = require_boolean(tokenizer, "fuse_unknown");
  data.tokens = read_strings(file, "tokens");
  data.merges = read_strings(file, "merges");
  data.scores = read_array<float>(file, "scores");
  for (const uint8_t type : read_array<uint8_t>(file, "token_types")) {
    data.types.push_back(enumerator<text::TokenType>(type, 6, file.name() + ": token_types"));
  }
  return data;
}

// "layers.17.mlp.up" → "layers.{}.mlp.up": as names.h has them.
std::string pattern_of(const std::string& id) {
  constexpr std::string_view kLayers = "layers.";
  if (!id.starts_with(kLayers)) return id;
  const size_t end = id.find('.', kLayers.size());
  if (end == std::string::npos) return id;
  return std::string(kLayers) + "{}" + id.substr(end);
}

}  // namespace

void write_engine(const std::filesystem::path& path, const EngineContents& contents,
                  const std::function<void(size_t done, size_t total)>& progress) {
  const graph::WeightSource& source = *contents.model.weights;
  auto weights = Json::object();
  for (const std::string& id : contents.ids) {
    const graph::WeightInfo info = source.info(id);
    weights[id] = {dtype_info(info.dtype).name, info.rows, info.columns};
  }
  const Json model = {
      {"packed_layout", contents.packed.empty() ? "" : contents.packed.front().layout},
      {"source",
       {{"name", contents.model.path},
        {"tensor_bytes", contents.model.tensor_bytes},
        {"weights_sha256", contents.weights_sha256}}},
      {"config", config_json(contents.model.config)},
      {"tokenizer", tokenizer_json(contents.vocabulary)},
      {"weights", std::move(weights)}};
  StringTable tokens;
  std::vector<uint8_t> types;
  for (text::TokenId id = 0; id < contents.vocabulary.size(); ++id) {
    tokens.add(contents.vocabulary.text(id));
    types.push_back(static_cast<uint8_t>(contents.vocabulary.type(id)));
  }
  const StringTable& merges = contents.vocabulary.merges();
  std::vector<engine_file::Section> sections = {
      {"chat_template", bytes_of(contents.model.chat_template)},
      {"tokens.text", bytes_of(tokens.characters())},
      {"tokens.ends", bytes_of(tokens.ends())},
      {"token_types", bytes_of(types)},
      {"scores", bytes_of(contents.vocabulary.scores())},
      {"merges.text", bytes_of(merges.characters())},
      {"merges.ends", bytes_of(merges.ends())}};
  std::vector<std::vector<std::byte>> plain;
  for (const std::string& id : contents.plain) {
    plain.emplace_back(source.info(id).bytes());
    source.read_rows(id, 0, plain.back());
    sections.push_back({std::string(kPlain) + id, plain.back()});
  }
  for (const graph::PackedMatrix& matrix : contents.packed) {
    sections.push_back({std::string(kPacked) + matrix.expression, matrix.bytes});
  }
  engine_file::write(path, model, sections, progress);
}

Checkpoint open_engine(const std::filesystem::path& path) {
  auto source = std::make_unique<EngineTensors>(std::make_unique<engine_file::File>(path));
  const engine_file::File& file = source->file();
  const HfConfig model(file.model(), file.name());
  Checkpoint checkpoint;
  checkpoint.path = file.name();
  checkpoint.config = read_config(require_object(model, "config"));
  const HfConfig origin = require_object(model, "source");
  checkpoint.tensor_bytes = static_cast<uint64_t>(origin.integer("tensor_bytes").value_or(0));
  checkpoint.tokenizer = start_tokenizer(read_vocabulary(file), file.name());
  const std::span<const std::byte> chat_template = file.require("chat_template");
  checkpoint.chat_template.assign(reinterpret_cast<const char*>(chat_template.data()),
                                  chat_template.size());
  // Shapes are checked as those of other files are.
  std::set<std::string> patterns;
  for (const auto& [id, info] : source->infos()) patterns.insert(pattern_of(id));
  std::vector<WeightName> weight_names;
  weight_names.reserve(patterns.size());
  for (const std::string& pattern : patterns) weight_names.push_back({pattern, pattern});
  NameTable names = name_tensors(weight_names, checkpoint.config, *source, file.name());
  checkpoint.weights = canonical_weights(checkpoint.path, std::move(source), std::move(names));
  return checkpoint;
}

std::unique_ptr<const text::Tokenizer> open_engine_tokenizer(const std::filesystem::path& path) {
  const engine_file::File file(path);
  return make_tokenizer(read_vocabulary(file), file.name());
}

}  // namespace adze::checkpoint
