#include "apps/cli/chat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/cli/console.h"
#include "apps/cli/conversation.h"
#include "apps/cli/generation.h"
#include "apps/cli/line_editor.h"
#include "base/error.h"
#include "engine/process.h"

namespace adze::cli {
namespace {

constexpr std::string_view kHelp =
    "/help         this list\n"
    "/reset        forget the conversation; the system message stays\n"
    "/system TEXT  set the system message; without TEXT: remove it\n"
    "/save FILE    write the conversation as JSON\n"
    "/load FILE    go on with a saved conversation\n"
    "/stats        tokens, speed of the last answer, memory\n"
    "/exit         leave, as Ctrl-D does\n"
    "A line that ends with \\ goes on in the next one; pasted lines are one message.\n"
    "Ctrl-C stops an answer.";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// Throws Error{kResourceExhausted} where so many tokens leave no room for an answer.
void require_room(const engine::LoadedModel& model, size_t tokens) {
  const auto context = static_cast<size_t>(model.plan().options().max_context);
  if (tokens < context) return;
  throw_exhausted(
      "the conversation would have {} tokens, the context holds {} with the answer: /reset begins "
      "anew, --context makes room up to the model's {}",
      tokens, context, model.config().context_length);
}

class Chat {
 public:
  Chat(engine::LoadedModel& model, const ChatOptions& options)
      : model_(model),
        options_(options),
        engine_(model, {model.plan().options().max_context, 1, options.speculation}),
        guard_(InterruptGuard::Second::kIsIgnored),
        editor_(guard_),
        colored_(wants_color(STDERR_FILENO)) {
    set_system(options.system);
  }

  void run() {
    notice("/help lists commands, Ctrl-D leaves.");
    while (const std::optional<std::string> message = read_message()) {
      if (trimmed(*message).empty()) continue;
      editor_.remember(*message);
      try {
        if (!message->starts_with('/')) {
          answer(*message);
        } else if (!command(*message)) {
          return;
        }
      } catch (const Error& error) {
        notice(error.what());
      } catch (const std::bad_alloc&) {
        notice("out of memory");
      }
    }
  }

 private:
  // One command by its name; false to leave.
  bool command(std::string_view line) {
    using Handler = void (Chat::*)(std::string_view);
    struct Command {
      std::string_view name;
      Handler handler;
    };
    constexpr std::array<Command, 6> kCommands = {{{"/help", &Chat::help},
                                                   {"/reset", &Chat::reset},
                                                   {"/system", &Chat::set_system},
                                                   {"/save", &Chat::save},
                                                   {"/load", &Chat::load},
                                                   {"/stats", &Chat::stats}}};
    const std::string_view name = line.substr(0, line.find_first_of(" \t\n"));
    const std::string_view argument = trimmed(line.substr(name.size()));
    if (name == "/exit") return false;
    for (const Command& known : kCommands) {
      if (known.name != name) continue;
      // What is pasted is no name of a file because it begins like a command.
      if (name != "/system" && line.find('\n') != std::string_view::npos) {
        throw_invalid("{}: takes one line", name);
      }
      (this->*known.handler)(argument);
      return true;
    }
    throw_invalid("{}: no such command; /help lists them", printable(name));
  }

  void help(std::string_view) { notice(kHelp); }

  void reset(std::string_view) {
    const std::string system = system_message();
    conversation_.clear();
    last_.reset();
    set_system(system);
    notice("A new conversation.");
  }

  bool has_system_message() const {
    return !conversation_.empty() && conversation_.front().role == "system";
  }
  std::string system_message() const {
    return has_system_message() ? conversation_.front().content : "";
  }

  void set_system(std::string_view text) {
    if (has_system_message()) conversation_.erase(conversation_.begin());
    if (!text.empty()) conversation_.insert(conversation_.begin(), {"system", std::string(text)});
  }

  void save(std::string_view file) {
    if (file.empty()) throw_invalid("/save: which file?");
    save_conversation(file, conversation_);
    notice(fmt::format("{} messages saved.", conversation_.size()));
  }

  void load(std::string_view file) {
    if (file.empty()) throw_invalid("/load: which file?");
    Conversation loaded = load_conversation(file);
    // A conversation that the model's template refuses is not one to go on with.
    if (!loaded.empty()) require_room(model_, engine::chat_tokens(model_, loaded).size());
    conversation_ = std::move(loaded);
    last_.reset();
    notice(fmt::format("{} messages loaded.", conversation_.size()));
  }

  void stats(std::string_view) {
    const size_t tokens =
        conversation_.empty() ? 0 : engine::chat_tokens(model_, conversation_).size();
    std::string text =
        fmt::format("conversation {} of {} tokens", tokens, model_.plan().options().max_context);
    if (last_) {
      text += fmt::format(
          " · last prompt {} tokens, {} of them reused, {}/s · last answer {} tokens, {}/s ({})",
          last_->prompt_tokens, last_->reused_tokens, shown(last_->prompt_rate()),
          last_->tokens.size(), shown(last_->decode_rate()),
          engine::finish_reason_name(last_->reason));
      text += speculation_text(*last_);
    }
    notice(text +
           fmt::format(" · peak memory {} MiB", shown(engine::peak_resident_bytes(), 1 << 20, 0)));
  }

  void answer(const std::string& message) {
    guard_.reset();
    const size_t before = conversation_.size();
    conversation_.push_back({"user", message});
    try {
      engine::Request request = options_.request;
      request.tokens = engine::chat_tokens(model_, conversation_);
      require_room(model_, request.tokens.size());
      last_ = generate(engine_, model_, std::move(request), guard_, [](std::string_view text) {
        write_stdout(for_terminal(text));
        flush_stdout();
      });
    } catch (...) {
      conversation_.resize(before);
      throw;
    }
    write_stdout("\n");
    flush_stdout();
    if (last_->text.empty() && last_->reason == engine::FinishReason::kCancelled) {
      conversation_.resize(before);
      notice("Stopped before the answer began; the message is withdrawn.");
      return;
    }
    conversation_.push_back({"assistant", last_->text});
    if (last_->reason == engine::FinishReason::kCancelled) notice("Stopped.");
    if (last_->reason == engine::FinishReason::kLength) {
      notice(fmt::format("Cut after {} tokens (-n, --context).", last_->tokens.size()));
    }
  }

  // The next message, over several lines where they end with a backslash; nothing to leave.
  std::optional<std::string> read_message() {
    std::string message;
    bool asked = false;  // whether Ctrl-C was just pressed at an empty prompt
    while (true) {
      const std::string prompt = message.empty() ? "> " : "… ";
      // Between \1 is what takes no room.
      LineEditor::Input input =
          editor_.read(colored_ ? "\1\033[1m\1" + prompt + "\1\033[0m\1" : prompt);
      if (input.event == LineEditor::Event::kEnd) return std::nullopt;
      if (input.event == LineEditor::Event::kInterrupted) {
        const bool nothing_typed = message.empty() && input.text.empty();
        if (nothing_typed && asked) throw Interrupted{};
        if (nothing_typed) notice("Ctrl-C once more, or Ctrl-D, leaves.");
        asked = nothing_typed;
        message.clear();
        continue;
      }
      if (!input.text.ends_with('\\')) return message + input.text;
      input.text.back() = '\n';
      message += input.text;
    }
  }

  // Tells the user something that is no part of the conversation.
  void notice(std::string_view text) const {
    const std::string safe = for_terminal(text);
    print_stderr("{}{}{}\n", colored_ ? "\033[2m" : "", safe, colored_ ? "\033[0m" : "");
  }

  engine::LoadedModel& model_;
  const ChatOptions& options_;
  engine::Engine engine_;
  InterruptGuard guard_;
  LineEditor editor_;
  bool colored_;
  Conversation conversation_;
  std::optional<Outcome> last_;
};

}  // namespace

void chat_on_terminal(engine::LoadedModel& model, const ChatOptions& options) {
  Chat(model, options).run();
}

}  // namespace adze::cli
