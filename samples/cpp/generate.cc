// Answers questions, all of them at once: generate MODEL QUESTION…
#include <adze/engine.h>
#include <adze/error.h>

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "usage: generate MODEL QUESTION...\n";
    return 2;
  }
  adze::Model model(argv[1]);
  adze::EngineOptions options;
  options.cache_tokens = 4096;
  adze::Engine engine(model, options);

  const std::vector<std::string> questions(argv + 2, argv + argc);
  std::vector<std::string> answers(questions.size());
  bool failed = false;
  for (size_t i = 0; i < questions.size(); ++i) {
    adze::Request request;
    request.tokens = model.chat_tokens("", questions[i]);
    request.max_tokens = 64;
    request.sampling.temperature = 0;
    request.on_token = [&answers, i](const adze::Token& token) {
      answers[i] += token.text;
      return true;
    };
    request.on_finish = [&answers, &failed, i](const adze::Finish& finish) {
      answers[i] += finish.text;
      if (finish.reason != adze::FinishReason::kError) return;
      std::cerr << "generate: " << finish.error << "\n";
      failed = true;
    };
    engine.submit(std::move(request));
  }
  while (engine.step()) {
  }
  for (size_t i = 0; i < questions.size(); ++i) {
    std::cout << questions[i] << "\n" << answers[i] << "\n";
  }
  return failed ? 1 : 0;
} catch (const adze::Error& error) {
  std::cerr << "generate: " << error.what() << "\n";
  return 1;
}
