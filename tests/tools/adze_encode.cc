// adze_encode: how fast a model's tokenizer encodes files, for benchmarks/tokenizers.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint.h"

namespace {

void encode(const std::string& model, const std::vector<std::string>& files, int rounds) {
  const auto tokenizer = adze::checkpoint::open_tokenizer(model);
  for (const std::string& file : files) {
    const std::string text = adze::read_text_file(file);
    std::string seconds;
    size_t tokens = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      tokens = tokenizer->encode(text, {.add_special = false, .parse_special = true}).size();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      seconds += fmt::format("{}{}", round == 0 ? "" : ", ", taken.count());
    }
    fmt::print("{{\"tokens\": {}, \"seconds\": [{}]}}\n", tokens, seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Prints for each file, as one line of JSON, its tokens and how long each round took.");
  std::string model;
  std::vector<std::string> files;
  int rounds = 5;
  app.add_option("-m,--model", model, "As adze tokenize takes it")->required();
  app.add_option("--rounds", rounds, "How often each file is encoded")->check(CLI::PositiveNumber);
  app.add_option("files", files, "Texts")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    encode(model, files, rounds);
  } catch (const adze::Error& error) {
    fmt::print(stderr, "adze_encode: {}\n", error.what());
    return 1;
  }
  return 0;
}
