#include "apps/cli/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>

#include "base/error.h"

namespace adze::cli {
namespace {

constexpr int kHistoryLines = 1000;
constexpr std::wstring_view kPasteEnd = L"\033[201~";

// Set by signals, read between keys.
std::atomic<bool> g_resized{false};
std::atomic<bool> g_continued{false};
std::atomic<int> g_ending{0};  // the signal that ends the program, or 0

void on_resize(int) { g_resized.store(true); }
void on_continue(int) { g_continued.store(true); }
void on_ending(int signal) { g_ending.store(signal); }

// Handles a signal while it lives, unless whoever started the program wants it ignored (nohup).
class SignalScope {
 public:
  SignalScope(int signal, void (*handler)(int)) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, nullptr, &before_);
    if (before_.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
  ~SignalScope() { ::sigaction(signal_, &before_, nullptr); }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

}  // namespace

struct LineEditor::State {
  explicit State(InterruptGuard& guard_of_program)
      : guard(guard_of_program),
        resize(SIGWINCH, on_resize),
        resume(SIGCONT, on_continue),
        screen(::isatty(STDOUT_FILENO) != 0 ? stdout : stderr),
        editor(el_init("adze", stdin, screen, stderr)),
        history(history_init()) {
    if (editor == nullptr || history == nullptr) throw_unavailable("the terminal cannot be used");
  }
  ~State() {
    history_end(history);
    el_end(editor);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Asks the terminal to mark where a paste begins and ends, where it knows escape sequences.
  void mark_pastes(bool on) const {
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
    if (!dumb) std::fputs(on ? "\033[?2004h" : "\033[?2004l", screen);
    std::fflush(screen);
  }
  // Waits until there is something to read. False: Ctrl-C, or the end of the program.
  bool wait_for_key();
  int read_key(wchar_t* key);

  static State& of(EditLine* editor) {
    State* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return *state;
  }
  static int on_read_key(EditLine* editor, wchar_t* key) { return of(editor).read_key(key); }
  static char* on_prompt(EditLine* editor) { return of(editor).prompt.data(); }
  static unsigned char on_paste(EditLine* editor, int key);

  InterruptGuard& guard;
  SignalScope resize;
  SignalScope resume;
  std::FILE* screen;
  EditLine* editor;
  History* history;
  std::string prompt;
  std::string abandoned;  // what was typed before Ctrl-C
};

bool LineEditor::State::wait_for_key() {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGWINCH, SIGCONT, SIGTERM, SIGHUP, SIGQUIT}) {
    sigaddset(&blocked, signal);
  }
  // Blocked but for the time of ppoll(): a signal cannot come between the look at its flag and the
  // wait.
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  bool ready = false;
  while (!ready && !guard.interrupted() && g_ending.load() == 0) {
    if (g_resized.exchange(false)) el_resize(editor);
    if (g_continued.exchange(false)) {
      // The shell that had the terminal meanwhile has reset it.
      el_set(editor, EL_PREP_TERM, 0);
      el_set(editor, EL_PREP_TERM, 1);
      el_set(editor, EL_REFRESH);
    }
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    ready = ::ppoll(&input, 1, nullptr, &before) > 0;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return ready;
}

// As libedit wants it: 1 for a character, 0 for the end, -1 for an error.
int LineEditor::State::read_key(wchar_t* key) {
  std::mbstate_t decoder{};
  while (true) {
    if (!wait_for_key()) {
      const LineInfo* line = el_line(editor);
      abandoned.assign(line->buffer, line->lastchar);
      errno = EINTR;
      return -1;
    }
    char byte = 0;
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got <= 0) return 0;
    const size_t used = std::mbrtowc(key, &byte, 1, &decoder);
    if (used == static_cast<size_t>(-2)) continue;  // more bytes to come
    if (used == static_cast<size_t>(-1)) *key = L'\ufffd';
    return 1;
  }
}

// The terminal has said that a paste begins; it ends with kPasteEnd.
unsigned char LineEditor::State::on_paste(EditLine* editor, int) {
  std::wstring text;
  wchar_t key = 0;
  while (!std::wstring_view(text).ends_with(kPasteEnd)) {
    if (el_wgetc(editor, &key) != 1) return CC_EOF;
    text += key;
  }
  text.resize(text.size() - kPasteEnd.size());
  std::wstring clean;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool newline = text[i] == L'\r' || text[i] == L'\n';
    if (newline && i > 0 && text[i] == L'\n' && text[i - 1] == L'\r') continue;
    if (newline) {
      clean += L'\n';
    } else if (text[i] == L'\t' || (text[i] >= 0x20 && text[i] != 0x7f)) {
      clean += text[i];
    }
  }
  return el_winsertstr(editor, clean.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

LineEditor::LineEditor(InterruptGuard& guard) {
  // libedit works in wide characters and asks the locale what they are.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  state_ = std::make_unique<State>(guard);
  EditLine* editor = state_->editor;
  HistEvent event;
  history(state_->history, &event, H_SETSIZE, kHistoryLines);
  history(state_->history, &event, H_SETUNIQUE, 1);
  el_set(editor, EL_CLIENTDATA, state_.get());
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_HIST, history, state_->history);
  el_set(editor, EL_PROMPT_ESC, State::on_prompt, '\1');
  el_set(editor, EL_GETCFN, State::on_read_key);
  el_set(editor, EL_ADDFN, "adze-paste", "Insert what is pasted", State::on_paste);
  el_set(editor, EL_BIND, "\\e[200~", "adze-paste", nullptr);
}

LineEditor::~LineEditor() = default;

LineEditor::Input LineEditor::read(const std::string& prompt) {
  State& state = *state_;
  state.prompt = prompt;
  state.guard.reset();
  state.mark_pastes(true);
  int length = 0;
  const char* line = nullptr;
  {
    // Where the program is ended at the prompt, the terminal gets its mode back first.
    const SignalScope terminated(SIGTERM, on_ending);
    const SignalScope hung_up(SIGHUP, on_ending);
    const SignalScope quit(SIGQUIT, on_ending);
    line = el_gets(state.editor, &length);
  }
  const bool interrupted = state.guard.interrupted();
  if (line == nullptr) std::fputs("\n", state.screen);
  state.mark_pastes(false);
  if (const int signal = g_ending.load(); signal != 0) std::raise(signal);
  if (interrupted) {
    state.guard.reset();
    return {Event::kInterrupted, std::move(state.abandoned)};
  }
  if (line == nullptr) return {Event::kEnd, {}};
  std::string text(line, static_cast<size_t>(length));
  if (text.ends_with('\n')) text.pop_back();
  return {Event::kLine, std::move(text)};
}

void LineEditor::remember(const std::string& line) {
  HistEvent event;
  history(state_->history, &event, H_ENTER, line.c_str());
}

}  // namespace adze::cli
