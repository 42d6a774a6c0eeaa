#include "apps/cli/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace adze::cli {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// How a child begins: its streams, and signals as a shell would leave them (this process ignores
// some).
struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

pid_t spawn(const ChildProcess& child) {
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&settings.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&settings.files, STDERR_FILENO, child.log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&settings.attributes, &defaults);
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> command = child.command;
  std::vector<std::string> environment = child.environment;
  // The first of two equal names wins.
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  pid_t pid = 0;
  const int code =
      ::posix_spawnp(&pid, command.front().c_str(), &settings.files, &settings.attributes,
                     pointers(command).data(), pointers(environment).data());
  if (code != 0) {
    throw_unavailable("{}: cannot be run: {}", command.front(),
                      std::generic_category().message(code));
  }
  return pid;
}

int wait_for(pid_t pid, int options, int& status) {
  int got = 0;
  do {
    got = ::waitpid(pid, &status, options);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Ends it: politely, and then not.
void end(pid_t pid) {
  constexpr int kPatience = 20;  // intervals
  int status = 0;
  ::kill(pid, SIGTERM);
  for (int i = 0; i < kPatience; ++i) {
    if (wait_for(pid, WNOHANG, status) != 0) return;
    std::this_thread::sleep_for(kPollInterval);
  }
  ::kill(pid, SIGKILL);
  wait_for(pid, 0, status);
}

}  // namespace

int run_child(const ChildProcess& child, const InterruptGuard& guard) {
  const pid_t pid = spawn(child);
  int status = 0;
  while (wait_for(pid, WNOHANG, status) == 0) {
    if (guard.interrupted()) {
      end(pid);
      throw Interrupted{};
    }
    if (child.while_it_runs) child.while_it_runs();
    std::this_thread::sleep_for(kPollInterval);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace adze::cli
