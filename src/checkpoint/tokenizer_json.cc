#include "checkpoint/tokenizer_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "text/tokenizer/byte_level.h"

namespace adze::checkpoint {
namespace {

using Json = nlohmann::json;

// A value with its place in the file, for messages.
class Field {
 public:
  Field(const Json& value, const std::string& file, std::string path)
      : value_(&value), file_(&file), path_(std::move(path)) {}

  const Json& json() const { return *value_; }
  const std::string& file() const { return *file_; }
  std::string where() const {
    return fmt::format("{}: {}", *file_, path_.empty() ? "the file" : path_);
  }

  bool is_null() const { return value_->is_null(); }
  // The member of an object; null where it is absent.
  Field operator[](const char* key) const {
    static const Json absent;
    if (!value_->is_object()) throw_invalid("{} is not an object", where());
    const auto found = value_->find(key);
    return {found == value_->end() ? absent : *found, *file_,
            path_.empty() ? key : fmt::format("{}.{}", path_, key)};
  }
  std::vector<Field> items() const {
    if (!value_->is_array()) throw_invalid("{} is not a list", where());
    std::vector<Field> fields;
    fields.reserve(value_->size());
    for (size_t i = 0; i < value_->size(); ++i) {
      fields.emplace_back((*value_)[i], *file_, fmt::format("{}[{}]", path_, i));
    }
    return fields;
  }
  const std::string& text() const {
    if (!value_->is_string()) throw_invalid("{} is not a text", where());
    return value_->get_ref<const std::string&>();
  }
  std::string text_or(std::string_view absent) const {
    return is_null() ? std::string(absent) : text();
  }
  bool boolean_or(bool absent) const {
    if (is_null()) return absent;
    if (!value_->is_boolean()) throw_invalid("{} is neither true nor false", where());
    return value_->get<bool>();
  }
  text::TokenId id(size_t limit) const {
    if (!value_->is_number_unsigned() || value_->get<uint64_t>() >= limit) {
      throw_invalid("{} is not a token id below {}", where(), limit);
    }
    return static_cast<text::TokenId>(value_->get<uint64_t>());
  }

 private:
  const Json* value_;
  const std::string* file_;
  std::string path_;
};

[[noreturn]] void unsupported(const Field& field, const std::string& what) {
  throw_unsupported("{}: {} is not supported", field.where(), printable(what));
}

// The parts of a pipeline's stage: a "Sequence" has several, null none, anything else is one.
std::vector<Field> parts_of(const Field& stage, const char* list) {
  if (stage.is_null()) return {};
  if (stage["type"].text() != "Sequence") return {stage};
  std::vector<Field> parts;
  for (const Field& item : stage[list].items()) {
    for (Field& part : parts_of(item, list)) parts.push_back(std::move(part));
  }
  return parts;
}

// What the stages around the model come to.
struct Pipeline {
  bool byte_level = false;
  bool blanks_replaced = false;  // SentencePiece's spelling
  bool prepends = false;         // the normalizer puts a blank before the text
};

class Reader {
 public:
  Reader(const Field& root, size_t bytes)
      : root_(root),
        id_limit_(std::min<size_t>(bytes, std::numeric_limits<text::TokenId>::max())) {}

  text::VocabularyData read() {
    read_normalizer();
    read_pre_tokenizer();
    if (pipeline_.byte_level == pipeline_.blanks_replaced) {
      throw_unsupported(
          "{}: neither byte-level nor SentencePiece's spelling: such a pipeline is not supported",
          root_.file());
    }
    data_.model = pipeline_.byte_level ? "gpt2" : "llama";
    read_tokens();
    read_merges();
    read_model();
    read_post_processor();
    check_decoder();
    return std::move(data_);
  }

 private:
  void read_normalizer();
  void read_pre_tokenizer();
  void read_split(const Field& part);
  void read_byte_level(const Field& part, bool first);
  void read_metaspace(const Field& part);
  void read_tokens();
  void read_added_token(const Field& token);
  void read_merges();
  void read_model();
  void read_post_processor();
  void read_template(const Field& part);
  text::TokenId template_token(const Field& part, const std::string& name) const;
  void check_decoder() const;

  text::TokenId find(const Field& named) const;

  Field root_;
  size_t id_limit_;
  Pipeline pipeline_;
  std::vector<std::string_view> texts_;  // by id, views into the file's values; null: a hole
  text::VocabularyData data_;
};

void Reader::read_normalizer() {
  for (const Field& part : parts_of(root_["normalizer"], "normalizers")) {
    const std::string& type = part["type"].text();
    if (type == "NFC") {
      data_.pre_tokenizer.normalizes_nfc = true;
    } else if (type == "Replace") {
      const Field pattern = part["pattern"]["String"];
      if (pattern.is_null() || pattern.text() != " " ||
          part["content"].text() != text::kSentencePieceBlank) {
        unsupported(part, "normalizer \"Replace\" of anything but blanks by U+2581");
      }
      pipeline_.blanks_replaced = true;
    } else if (type == "Prepend") {
      if (part["prepend"].text() != text::kSentencePieceBlank) {
        unsupported(part, "normalizer \"Prepend\" of anything but U+2581");
      }
      pipeline_.prepends = true;
      data_.space_prefix = text::SpacePrefix::kEvery;
    } else {
      unsupported(part, fmt::format("normalizer \"{}\"", type));
    }
  }
  if (pipeline_.prepends && !pipeline_.blanks_replaced) {
    unsupported(root_["normalizer"], "\"Prepend\" without \"Replace\" of blanks");
  }
}

void Reader::read_pre_tokenizer() {
  bool first = true;
  for (const Field& part : parts_of(root_["pre_tokenizer"], "pretokenizers")) {
    const std::string& type = part["type"].text();
    auto& splits = data_.pre_tokenizer.splits;
    if (type == "ByteLevel") {
      read_byte_level(part, first);
    } else if (type == "Split") {
      read_split(part);
    } else if (type == "Metaspace") {
      read_metaspace(part);
    } else if (type == "Digits") {
      const bool single = part["individual_digits"].boolean_or(false);
      if (pipeline_.byte_level && single) unsupported(part, "single digits behind \"ByteLevel\"");
      // Behind ByteLevel the text is spelled in its characters, some of which count as digits.
      splits.push_back(single                 ? text::SplitRule::kDigit
                       : pipeline_.byte_level ? text::SplitRule::kByteLevelDigits
                                              : text::SplitRule::kDigits);
    } else if (type == "Punctuation") {
      if (part["behavior"].text_or("Isolated") != "Contiguous" || pipeline_.byte_level) {
        unsupported(part, "\"Punctuation\" other than \"Contiguous\" before \"ByteLevel\"");
      }
      splits.push_back(text::SplitRule::kPunctuation);
    } else {
      unsupported(part, fmt::format("pre-tokenizer \"{}\"", type));
    }
    first = false;
  }
}

void Reader::read_byte_level(const Field& part, bool first) {
  if (pipeline_.byte_level) unsupported(part, "a second \"ByteLevel\"");
  if (part["add_prefix_space"].boolean_or(true)) {
    if (!first) unsupported(part, "\"add_prefix_space\" behind another pre-tokenizer");
    data_.space_prefix = text::SpacePrefix::kEvery;
    data_.space_prefix_once = true;
  }
  if (part["use_regex"].boolean_or(true)) {
    data_.pre_tokenizer.splits.push_back(text::SplitRule::kGpt2);
  }
  pipeline_.byte_level = true;
}

void Reader::read_split(const Field& part) {
  const std::string& behavior = part["behavior"].text();
  const bool invert = part["invert"].boolean_or(false);
  const Field string = part["pattern"]["String"];
  if (!string.is_null()) {
    // Gemma splits at blanks, of which its normalizer leaves none.
    if (string.text() == " " && pipeline_.blanks_replaced) return;
    unsupported(part, fmt::format("\"Split\" at \"{}\"", string.text()));
  }
  const std::string& pattern = part["pattern"]["Regex"].text();
  const auto rule = text::split_rule_of(pattern);
  if (!rule) unsupported(part, fmt::format("\"Split\" by the pattern {}", pattern));
  // These match everywhere, so that nothing lies between matches.
  using enum text::SplitRule;
  const bool covers = *rule == kGpt2 || *rule == kLlama3 || *rule == kQwen2 || *rule == kQwen35 ||
                      *rule == kO200k || *rule == kTekken;
  if (!(behavior == "Isolated" && !invert) && !(behavior == "Removed" && invert && covers)) {
    unsupported(part, fmt::format("\"Split\" with the behavior \"{}\"{}", behavior,
                                  invert ? " inverted" : ""));
  }
  if (pipeline_.byte_level && *rule != kAsciiTriple) {
    unsupported(part, "this \"Split\" behind \"ByteLevel\"");
  }
  data_.pre_tokenizer.splits.push_back(*rule);
}

void Reader::read_metaspace(const Field& part) {
  if (part["replacement"].text() != text::kSentencePieceBlank) {
    unsupported(part, "\"Metaspace\" with a replacement other than U+2581");
  }
  if (pipeline_.byte_level) unsupported(part, "\"Metaspace\" behind \"ByteLevel\"");
  if (pipeline_.prepends) unsupported(part, "\"Metaspace\" with the normalizer \"Prepend\"");
  const bool prefix = part["add_prefix_space"].boolean_or(true);
  const std::string scheme = part["prepend_scheme"].text_or(prefix ? "always" : "never");
  if (scheme == "always") {
    data_.space_prefix = text::SpacePrefix::kEvery;
  } else if (scheme == "first") {
    data_.space_prefix = text::SpacePrefix::kFirst;
  } else if (scheme != "never") {
    unsupported(part, fmt::format("\"prepend_scheme\" \"{}\"", scheme));
  }
  data_.space_prefix_once = true;
  if (part["split"].boolean_or(true)) {
    data_.pre_tokenizer.splits.push_back(text::SplitRule::kBlanksWithNext);
  }
  pipeline_.blanks_replaced = true;
}

void Reader::read_tokens() {
  const Field vocab = root_["model"]["vocab"];
  if (!vocab.json().is_object()) throw_invalid("{} is not an object", vocab.where());
  const auto place = [&](text::TokenId id) -> std::string_view& {
    if (texts_.size() <= static_cast<size_t>(id)) texts_.resize(static_cast<size_t>(id) + 1);
    return texts_[static_cast<size_t>(id)];
  };
  // Holes between ids cost memory too: some vocabularies have a few.
  const Field added = root_["added_tokens"];
  const size_t listed = vocab.json().size() + (added.json().is_array() ? added.json().size() : 0);
  id_limit_ = std::min(id_limit_, 16 * listed + 4096);
  for (const auto& [token, value] : vocab.json().items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() >= id_limit_) {
      throw_invalid("{}: the id of \"{}\" is not a number below {}", vocab.where(),
                    printable(token), id_limit_);
    }
    std::string_view& text = place(static_cast<text::TokenId>(value.get<uint64_t>()));
    if (text.data() != nullptr) {
      throw_invalid("{}: \"{}\" and \"{}\" have the same id", vocab.where(), printable(text),
                    printable(token));
    }
    text = token;
  }
  const std::vector<Field> tokens = added.is_null() ? std::vector<Field>() : added.items();
  for (const Field& token : tokens) {
    const std::string& content = token["content"].text();
    std::string_view& text = place(token["id"].id(id_limit_));
    if (text.data() != nullptr && text != content) {
      throw_invalid("{}: its id is that of \"{}\"", token.where(), printable(text));
    }
    text = content;
  }
  data_.types.assign(texts_.size(), text::TokenType::kNormal);
  for (size_t id = 0; id < texts_.size(); ++id) {
    data_.tokens.add(texts_[id]);
    if (texts_[id].data() == nullptr) data_.types[id] = text::TokenType::kUnused;
  }
  for (const Field& token : tokens) read_added_token(token);
}

void Reader::read_added_token(const Field& token) {
  const text::TokenId id = token["id"].id(id_limit_);
  const std::string& content = token["content"].text();
  const bool special = token["special"].boolean_or(false);
  data_.types[static_cast<size_t>(id)] =
      special ? text::TokenType::kControl : text::TokenType::kUserDefined;
  text::AddedTokenRules rules;
  rules.left_strip = token["lstrip"].boolean_or(false);
  rules.right_strip = token["rstrip"].boolean_or(false);
  rules.single_word = token["single_word"].boolean_or(false);
  rules.after_others = token["normalized"].boolean_or(!special);
  if (rules.after_others && pipeline_.blanks_replaced &&
      (pipeline_.prepends || content.find(' ') != std::string::npos ||
       content.find(text::kSentencePieceBlank) != std::string::npos)) {
    unsupported(token, "\"normalized\" where the normalizer changes the token");
  }
  if (rules.left_strip || rules.right_strip || rules.single_word || rules.after_others) {
    data_.added_rules[id] = rules;
  }
}

void Reader::read_merges() {
  const Field merges = root_["model"]["merges"];
  if (!merges.json().is_array()) throw_invalid("{} is not a list", merges.where());
  for (size_t i = 0; i < merges.json().size(); ++i) {
    const Json& merge = merges.json()[i];
    if (merge.is_string()) {
      data_.merges.add(merge.get_ref<const std::string&>());
      continue;
    }
    if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) {
      throw_invalid("{}[{}] is not two texts", merges.where(), i);
    }
    const auto& left = merge[0].get_ref<const std::string&>();
    if (left.empty() || left == " " || left.find(' ', 1) != std::string::npos) {
      throw_unsupported("{}[{}]: a first part that is empty or has a blank inside", merges.where(),
                        i);
    }
    data_.merges.add(left + ' ' + merge[1].get_ref<const std::string&>());
  }
}

text::TokenId Reader::find(const Field& named) const {
  const auto found = std::ranges::find(texts_, std::string_view(named.text()));
  if (found == texts_.end()) {
    throw_invalid("{}: \"{}\" is not a token", named.where(), printable(named.text()));
  }
  return static_cast<text::TokenId>(found - texts_.begin());
}

void Reader::read_model() {
  const Field model = root_["model"];
  if (model["type"].text() != "BPE") {
    unsupported(model, fmt::format("type \"{}\"", model["type"].text()));
  }
  const Field dropout = model["dropout"];
  if (!dropout.is_null() && dropout.json() != 0) unsupported(dropout, "dropout");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model[key].text_or("").empty()) unsupported(model[key], "a value");
  }
  data_.pre_tokenizer.ignores_merges = model["ignore_merges"].boolean_or(false);
  data_.fuse_unknown = model["fuse_unk"].boolean_or(false);
  if (!model["unk_token"].is_null()) data_.special.unknown = find(model["unk_token"]);
  const bool byte_fallback = model["byte_fallback"].boolean_or(false);
  if (pipeline_.byte_level) {
    if (byte_fallback) unsupported(model["byte_fallback"], "this with \"ByteLevel\"");
    for (int byte = 0; data_.special.unknown && byte < 256; ++byte) {
      const auto spelling = text::byte_level_spelling(static_cast<uint8_t>(byte));
      if (std::ranges::find(texts_, spelling) == texts_.end()) {
        unsupported(model["unk_token"], "this with a byte-level vocabulary that lacks bytes");
      }
    }
  }
  for (size_t id = 0; byte_fallback && id < texts_.size(); ++id) {
    const std::string_view text = texts_[id];
    const auto is_hex = [](char digit) {
      return (digit >= '0' && digit <= '9') || (digit >= 'A' && digit <= 'F');
    };
    if (text.size() == 6 && text.starts_with("<0x") && text[5] == '>' && is_hex(text[3]) &&
        is_hex(text[4]) && data_.types[id] == text::TokenType::kNormal) {
      data_.types[id] = text::TokenType::kByte;
    }
  }
}

void Reader::read_post_processor() {
  for (const Field& part : parts_of(root_["post_processor"], "processors")) {
    const std::string& type = part["type"].text();
    if (type == "TemplateProcessing") {
      read_template(part);
    } else if (type != "ByteLevel") {  // which only moves offsets
      unsupported(part, fmt::format("post-processor \"{}\"", type));
    }
  }
}

void Reader::read_template(const Field& part) {
  bool text_seen = false;
  for (const Field& piece : part["single"].items()) {
    const Field token = piece["SpecialToken"];
    if (token.is_null()) {
      const Field sequence = piece["Sequence"];
      if (sequence.is_null() || sequence["id"].text() != "A" || text_seen) {
        unsupported(piece, "this part of a template");
      }
      text_seen = true;
      continue;
    }
    bool& adds = text_seen ? data_.add_eos : data_.add_bos;
    if (adds) unsupported(piece, "a second token at one end of the text");
    adds = true;
    (text_seen ? data_.special.eos : data_.special.bos) = template_token(part, token["id"].text());
  }
  if (!text_seen) unsupported(part["single"], "a template without the text");
}

text::TokenId Reader::template_token(const Field& part, const std::string& name) const {
  const Field token = part["special_tokens"][name.c_str()];
  if (token.is_null()) {
    throw_invalid("{}: special_tokens has no \"{}\"", part.where(), printable(name));
  }
  const std::vector<Field> ids = token["ids"].items();
  if (ids.size() != 1) unsupported(token, "anything but one id");
  const text::TokenId id = ids[0].id(id_limit_);
  if (static_cast<size_t>(id) >= texts_.size()) {
    throw_invalid("{}: {} is no token's id", ids[0].where(), id);
  }
  return id;
}

// Text is put together by the kind of tokenizer; a decoder that says otherwise is refused.
void Reader::check_decoder() const {
  for (const Field& part : parts_of(root_["decoder"], "decoders")) {
    const std::string& type = part["type"].text();
    bool known = false;
    if (pipeline_.byte_level) {
      known = type == "ByteLevel";
    } else if (type == "Replace") {
      const Field pattern = part["pattern"]["String"];
      known = !pattern.is_null() && pattern.text() == text::kSentencePieceBlank &&
              part["content"].text() == " ";
    } else if (type == "Strip") {
      known =
          part["content"].text() == " " && part["start"].json() == 1 && part["stop"].json() == 0;
    } else {
      known = type == "ByteFallback" || type == "Fuse" || type == "Metaspace";
    }
    if (!known) unsupported(part, fmt::format("decoder \"{}\"", type));
  }
}

}  // namespace

text::VocabularyData read_tokenizer_json(std::string_view json, const std::string& name) {
  const JsonDocument root = parse_json(json, name);
  return Reader(Field(*root, name, ""), json.size()).read();
}

}  // namespace adze::checkpoint
