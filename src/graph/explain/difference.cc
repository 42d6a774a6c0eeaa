// Two explanations compared, field by field.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "graph/collapse.h"
#include "graph/explain.h"
#include "graph/explain/texts.h"

namespace adze::graph {
namespace {

using Json = nlohmann::ordered_json;

// --- Reading an explanation of another run ---

enum class Kind { kText, kTruth, kCount, kArray, kObject, kCounts };

struct Field {
  std::string_view name;
  Kind kind;
};
constexpr Field kTop[] = {{"declared", Kind::kCounts},       {"passes", Kind::kArray},
                          {"planned", Kind::kCounts},        {"nodes", Kind::kArray},
                          {"memory", Kind::kObject},         {"weights", Kind::kObject},
                          {"barriers_per_run", Kind::kCount}};
constexpr Field kPass[] = {{"name", Kind::kText},          {"enabled", Kind::kTruth},
                           {"nodes_before", Kind::kCount}, {"nodes_after", Kind::kCount},
                           {"changes", Kind::kArray},      {"rejections", Kind::kArray}};
constexpr Field kNode[] = {{"name", Kind::kText},     {"operator", Kind::kText},
                           {"provider", Kind::kText}, {"kernels", Kind::kText},
                           {"inputs", Kind::kArray},  {"attributes", Kind::kObject},
                           {"weights", Kind::kArray}, {"outputs", Kind::kArray}};
constexpr Field kMemory[] = {{"max_rows", Kind::kCount},   {"max_sampled", Kind::kCount},
                             {"peak_bytes", Kind::kCount}, {"naive_bytes", Kind::kCount},
                             {"values", Kind::kCount},     {"in_place_values", Kind::kCount}};
constexpr Field kWeights[] = {{"bytes", Kind::kCount}, {"by_dtype", Kind::kArray}};
constexpr Field kByDType[] = {{"dtype", Kind::kText},
                              {"format", Kind::kText},
                              {"count", Kind::kCount},
                              {"bytes", Kind::kCount}};
constexpr Field kOutput[] = {{"name", Kind::kText}, {"type", Kind::kText}, {"shape", Kind::kText}};

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kText:
      return "a string";
    case Kind::kTruth:
      return "true or false";
    case Kind::kCount:
      return "a count";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
    case Kind::kCounts:
      break;
  }
  return "an object of counts";
}

bool is_kind(const Json& value, Kind kind) {
  switch (kind) {
    case Kind::kText:
      return value.is_string();
    case Kind::kTruth:
      return value.is_boolean();
    case Kind::kCount:
      return value.is_number_unsigned();
    case Kind::kArray:
      return value.is_array();
    case Kind::kObject:
      return value.is_object();
    case Kind::kCounts:
      break;
  }
  return value.is_object() && std::all_of(value.begin(), value.end(), [](const Json& count) {
           return count.is_number_unsigned();
         });
}

class Checker {
 public:
  explicit Checker(std::string file) : file_(std::move(file)) {}

  void check(const Json& all) const {
    fields(all, kTop, "");
    elements(all["passes"], kPass, "passes");
    elements(all["nodes"], kNode, "nodes");
    for (size_t i = 0; i < all["nodes"].size(); ++i) {
      elements(all["nodes"][i]["outputs"], kOutput, fmt::format("nodes[{}].outputs", i));
    }
    fields(all["memory"], kMemory, "memory");
    fields(all["weights"], kWeights, "weights");
    elements(all["weights"]["by_dtype"], kByDType, "weights.by_dtype");
  }

 private:
  void fields(const Json& object, std::span<const Field> wanted, const std::string& where) const {
    if (!object.is_object()) {
      throw_invalid("{}: {} is not an object", file_, where.empty() ? "what it holds" : where);
    }
    for (const Field& field : wanted) {
      const auto found = object.find(field.name);
      const std::string name =
          where.empty() ? std::string(field.name) : fmt::format("{}.{}", where, field.name);
      if (found == object.end()) throw_invalid("{}: there is no field {}", file_, name);
      if (!is_kind(*found, field.kind)) {
        throw_invalid("{}: field {} is not {}", file_, name, kind_name(field.kind));
      }
    }
  }
  void elements(const Json& array, std::span<const Field> wanted, const std::string& where) const {
    for (size_t i = 0; i < array.size(); ++i) {
      fields(array[i], wanted, fmt::format("{}[{}]", where, i));
    }
  }

  std::string file_;
};

// --- Comparing ---

Json change(const Json& before, const Json& after) {
  return {{"before", before}, {"after", after}};
}

// The fields that differ, with both values; absent ones are null.
Json changed_fields(const Json& before, const Json& after,
                    std::span<const std::string_view> names) {
  Json out = Json::object();
  for (const std::string_view name : names) {
    const Json a = before.is_object() && before.contains(name) ? before[name] : Json();
    const Json b = after.is_object() && after.contains(name) ? after[name] : Json();
    if (a != b) out[std::string(name)] = change(a, b);
  }
  return out;
}

// Operators whose number differs; absent ones are 0.
Json changed_counts(const Json& before, const Json& after) {
  std::map<std::string, std::pair<Json, Json>> both;
  for (const auto& [name, count] : before.items()) both[name] = {count, 0};
  for (const auto& [name, count] : after.items()) {
    if (!both.contains(name)) both[name].first = 0;
    both[name].second = count;
  }
  Json out = Json::object();
  for (const auto& [name, counts] : both) {
    if (counts.first != counts.second) out[name] = change(counts.first, counts.second);
  }
  return out;
}

std::map<std::string, const Json*> by_name(const Json& array) {
  std::map<std::string, const Json*> out;
  for (const Json& entry : array) out.try_emplace(entry["name"].get<std::string>(), &entry);
  return out;
}

Json pass_changes(const Json& before, const Json& after) {
  constexpr std::string_view kFields[] = {"enabled", "nodes_before", "nodes_after", "changes",
                                          "rejections"};
  // Lists are compared, and told by their lengths.
  const auto differing = [&](const Json& a, const Json& b) {
    Json fields = changed_fields(a, b, kFields);
    for (const char* list : {"changes", "rejections"}) {
      if (!fields.contains(list)) continue;
      Json& entry = fields[list];
      entry = change(entry["before"].size(), entry["after"].size());
    }
    return fields;
  };
  const auto old = by_name(before);
  const auto now = by_name(after);
  Json out = Json::array();
  for (const Json& pass : after) {
    const auto found = old.find(pass["name"].get<std::string>());
    if (found == old.end()) {
      out.push_back({{"name", pass["name"]}, {"only_in", "after"}});
      continue;
    }
    Json fields = differing(*found->second, pass);
    if (!fields.empty()) out.push_back({{"name", pass["name"]}, {"fields", std::move(fields)}});
  }
  for (const Json& pass : before) {
    if (!now.contains(pass["name"].get<std::string>())) {
      out.push_back({{"name", pass["name"]}, {"only_in", "before"}});
    }
  }
  return out;
}

// Outputs as a reader sees them: where they lie in memory is the planner's.
Json visible_outputs(const Json& node) {
  Json out = Json::array();
  for (const Json& output : node["outputs"]) {
    Json entry = output;
    for (const char* place : {"offset", "bytes", "in_place_of"}) entry.erase(place);
    out.push_back(std::move(entry));
  }
  return out;
}

Json node_changes(const Json& before, const Json& after) {
  constexpr std::string_view kFields[] = {"operator",   "provider", "kernels",
                                          "attributes", "inputs",   "weights"};
  const auto old = by_name(before);
  const auto now = by_name(after);
  const auto brief = [](const Json& node) {
    return Json{{"name", node["name"]}, {"operator", node["operator"]}};
  };
  Json out = {{"removed", Json::array()}, {"added", Json::array()}, {"changed", Json::array()}};
  for (const Json& node : before) {
    if (!now.contains(node["name"].get<std::string>())) out["removed"].push_back(brief(node));
  }
  for (const Json& node : after) {
    const auto found = old.find(node["name"].get<std::string>());
    if (found == old.end()) {
      out["added"].push_back(brief(node));
      continue;
    }
    Json fields = changed_fields(*found->second, node, kFields);
    Json a = visible_outputs(*found->second);
    Json b = visible_outputs(node);
    if (a != b) fields["outputs"] = change(a, b);
    if (!fields.empty()) out["changed"].push_back({{"name", node["name"]}, {"fields", fields}});
  }
  return out;
}

Json weight_changes(const Json& before, const Json& after) {
  constexpr std::string_view kTotal[] = {"bytes"};
  constexpr std::string_view kFields[] = {"count", "bytes"};
  Json out = changed_fields(before, after, kTotal);
  const auto keyed = [](const Json& weights) {
    std::map<std::string, const Json*> entries;
    for (const Json& entry : weights["by_dtype"]) {
      entries[entry["dtype"].get<std::string>() + " as " + entry["format"].get<std::string>()] =
          &entry;
    }
    return entries;
  };
  const auto old = keyed(before);
  const auto now = keyed(after);
  std::map<std::string, std::pair<Json, Json>> both;
  for (const auto& [name, entry] : old) both[name].first = *entry;
  for (const auto& [name, entry] : now) both[name].second = *entry;
  Json kinds = Json::object();
  for (const auto& [name, entries] : both) {
    Json fields = changed_fields(entries.first, entries.second, kFields);
    if (!fields.empty()) kinds[name] = std::move(fields);
  }
  if (!kinds.empty()) out["by_dtype"] = std::move(kinds);
  return out;
}

// --- Text ---

std::string short_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "none";
  return json_text(value, -1);
}

class TextWriter {
 public:
  explicit TextWriter(bool every_layer) : every_layer_(every_layer) {}

  std::string write(const Json& difference) {
    passes(difference["passes"]);
    counts("Operators declared", difference["declared"]);
    counts("Operators planned", difference["planned"]);
    nodes(difference["nodes"]);
    sizes("Memory", difference["memory"]);
    weights(difference["weights"]);
    if (difference.contains("barriers_per_run")) {
      section("Barriers of a run", {arrow(difference["barriers_per_run"])});
    }
    return out_.empty() ? "Nothing differs.\n" : std::move(out_);
  }

 private:
  static std::string arrow(const Json& entry) {
    return short_text(entry["before"]) + " → " + short_text(entry["after"]);
  }
  static std::string fields_text(const Json& fields) {
    std::string text;
    for (const auto& [name, entry] : fields.items()) {
      // Lists are given by their lengths, which may be equal all the same.
      const bool others = entry["before"] == entry["after"];
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name,
                          others ? short_text(entry["after"]) + " others" : arrow(entry));
    }
    return text;
  }

  void section(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out_ += fmt::format("{}{}\n", out_.empty() ? "" : "\n", title);
    if (every_layer_) {
      for (const std::string& line : lines) out_ += fmt::format("  {}\n", line);
      return;
    }
    for (const CollapsedLine& line : collapse_layers(lines)) {
      out_ += fmt::format("  {}\n", line.text);
    }
  }

  void passes(const Json& all) {
    std::vector<std::string> lines;
    for (const Json& pass : all) {
      const std::string name = short_text(pass["name"]);
      lines.push_back(pass.contains("only_in")
                          ? fmt::format("{}: only {}", name, short_text(pass["only_in"]))
                          : fmt::format("{}: {}", name, fields_text(pass["fields"])));
    }
    section("Passes", lines);
  }

  void counts(std::string_view title, const Json& counts) {
    std::vector<std::string> lines;
    for (const auto& [name, entry] : counts.items()) lines.push_back(name + " " + arrow(entry));
    section(title, lines);
  }

  void nodes(const Json& nodes) {
    const auto names = [](const Json& list) {
      std::vector<std::string> lines;
      for (const Json& node : list) {
        lines.push_back(short_text(node["name"]) + ": " + short_text(node["operator"]));
      }
      return lines;
    };
    section("Nodes removed", names(nodes["removed"]));
    section("Nodes added", names(nodes["added"]));
    std::vector<std::string> lines;
    for (const Json& node : nodes["changed"]) {
      lines.push_back(short_text(node["name"]) + ": " + fields_text(node["fields"]));
    }
    section("Nodes changed", lines);
  }

  static std::string size_arrow(const Json& entry) {
    const auto size = [](const Json& value) {
      return value.is_null() ? std::string("none") : size_text(value.get<size_t>());
    };
    return size(entry["before"]) + " → " + size(entry["after"]);
  }

  void sizes(std::string_view title, const Json& fields) {
    std::vector<std::string> lines;
    for (const auto& [name, entry] : fields.items()) {
      lines.push_back(name + " " + (name.ends_with("bytes") ? size_arrow(entry) : arrow(entry)));
    }
    section(title, lines);
  }

  void weights(const Json& weights) {
    std::vector<std::string> lines;
    if (weights.contains("bytes")) lines.push_back(size_arrow(weights["bytes"]));
    if (weights.contains("by_dtype")) {
      for (const auto& [kind, fields] : weights["by_dtype"].items()) {
        std::string text = kind + ":";
        if (fields.contains("count")) text += " " + arrow(fields["count"]) + " weights";
        if (fields.contains("bytes")) text += " " + size_arrow(fields["bytes"]);
        lines.push_back(std::move(text));
      }
    }
    section("Packed weights", lines);
  }

  bool every_layer_;
  std::string out_;
};

}  // namespace

Json load_explanation(const std::filesystem::path& path) {
  constexpr uint64_t kMaxBytes = 64 << 20;
  OrderedJsonDocument all = read_ordered_json_file(path, kMaxBytes);
  Checker(printable(path.string(), kMaxPathBytes)).check(*all);
  return std::move(*all);
}

Json explain_difference(const Json& before, const Json& after) {
  constexpr std::string_view kSizes[] = {"max_rows",    "max_sampled", "peak_bytes",
                                         "naive_bytes", "values",      "in_place_values"};
  Json out = {{"passes", pass_changes(before["passes"], after["passes"])},
              {"declared", changed_counts(before["declared"], after["declared"])},
              {"planned", changed_counts(before["planned"], after["planned"])},
              {"nodes", node_changes(before["nodes"], after["nodes"])},
              {"memory", changed_fields(before["memory"], after["memory"], kSizes)},
              {"weights", weight_changes(before["weights"], after["weights"])}};
  if (before["barriers_per_run"] != after["barriers_per_run"]) {
    out["barriers_per_run"] = change(before["barriers_per_run"], after["barriers_per_run"]);
  }
  return out;
}

std::string difference_text(const Json& difference, bool every_layer) {
  return TextWriter(every_layer).write(difference);
}

}  // namespace adze::graph
