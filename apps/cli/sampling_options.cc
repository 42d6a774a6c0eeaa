#include "apps/cli/sampling_options.h"

#include <fmt/core.h>

#include <charconv>
#include <random>
#include <string_view>
#include <system_error>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "base/error.h"

namespace adze::cli {
namespace {

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

engine::LogitBias parse_bias(const std::string& text) {
  const size_t equals = text.find('=');
  engine::LogitBias entry;
  const std::string_view whole = text;
  if (equals == std::string::npos || !parse_number(whole.substr(0, equals), entry.token) ||
      !parse_number(whole.substr(equals + 1), entry.bias)) {
    throw UsageError(
        fmt::format("--logit-bias: '{}' is not a token id, =, and a number", printable(text)));
  }
  return entry;
}

}  // namespace

void add_sampling_options(CLI::App& command, SamplingArguments& arguments) {
  engine::SamplingParams& params = arguments.params;
  const auto number = [&](const char* name, double& value, const char* help) {
    command.add_option(name, value, help)->check(kNotEmpty)->capture_default_str();
  };
  command
      .add_option("--logit-bias", arguments.logit_bias,
                  "ID=BIAS: add to the logit of a token, -100 to 100, or -inf for never; may be "
                  "repeated")
      ->allow_extra_args(false);
  number("--repeat-penalty", params.repetition_penalty,
         "Logits of tokens in prompt or answer: positive ones are divided by this, negative ones "
         "multiplied; 1: off");
  number("--frequency-penalty", params.frequency_penalty,
         "Taken from the logit of a token for each time it stands in the answer; 0: off");
  number("--presence-penalty", params.presence_penalty,
         "Taken from the logits of tokens that stand in the answer; 0: off");
  command
      .add_option("--repeat-last-n", params.penalty_window,
                  "Last tokens that these three penalties look at; -1: all, 0: none")
      ->transform(kWholeNumber)
      ->capture_default_str();
  number("--temp", params.temperature, "Temperature; 0: the likeliest token always");
  number(
      "--top-n-sigma", params.top_n_sigma,
      "Keep tokens whose logits are within this many standard deviations of the highest; 0: all");
  command.add_option("--top-k", params.top_k, "Keep the k likeliest tokens; 0: all")
      ->transform(kWholeNumber)
      ->capture_default_str();
  number("--top-p", params.top_p, "Keep the likeliest tokens that hold this much; 1: all");
  number("--min-p", params.min_p,
         "Keep tokens at least this share as likely as the likeliest; 0: all");
  number("--typical-p", params.typical_p,
         "Keep the tokens of most typical information that hold this much; 1: all");
  command
      .add_option("--seed", arguments.seed, "Seed of the random numbers (default: a random one)")
      ->transform(kWholeNumber)
      ->check(CLI::NonNegativeNumber);
}

engine::SamplingParams sampling_params(const SamplingArguments& arguments) {
  engine::SamplingParams params = arguments.params;
  for (const std::string& text : arguments.logit_bias) {
    params.logit_bias.push_back(parse_bias(text));
  }
  try {
    engine::validate(params);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  if (arguments.seed) {
    params.seed = *arguments.seed;
  } else {
    std::random_device device;
    params.seed = uint64_t{device()} << 32 | device();
  }
  return params;
}

}  // namespace adze::cli
