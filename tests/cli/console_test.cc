// Ctrl-C; the rest of the program's behaviour is tested from outside, in tests/python.
#include "apps/cli/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace adze::cli {
namespace {

TEST(ConsoleDeathTest, CtrlCEndsTheProgramWith130) {
  EXPECT_EXIT(
      {
        prepare_console();
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(ConsoleDeathTest, AGuardHoldsOffTheFirstCtrlCOnly) {
  EXPECT_EXIT(
      {
        prepare_console();
        {
          const InterruptGuard guard;
          if (guard.interrupted()) std::exit(1);
          std::raise(SIGINT);
          if (!guard.interrupted()) std::exit(2);
        }
        const InterruptGuard again;
        std::exit(again.interrupted() ? 3 : 7);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        prepare_console();
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(ConsoleDeathTest, APatientGuardHoldsOffEveryCtrlC) {
  EXPECT_EXIT(
      {
        prepare_console();
        InterruptGuard guard(InterruptGuard::Second::kIsIgnored);
        std::raise(SIGINT);
        std::raise(SIGINT);
        if (!guard.interrupted()) std::exit(1);
        guard.reset();
        if (guard.interrupted()) std::exit(2);
        std::raise(SIGINT);
        std::exit(guard.interrupted() ? 7 : 3);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Console, TextForTerminalsHasNoControlCharacters) {
  EXPECT_EQ(for_terminal("a\tb\nc \xc3\xa9 \xe2\x82\xac"), "a\tb\nc \xc3\xa9 \xe2\x82\xac");
  // Escape, delete, and U+009B, which begins a sequence as escape and [ do.
  EXPECT_EQ(for_terminal("\033[2J\x7f\xc2\x9b"), "\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(for_terminal("\xc2\xa0"), "\xc2\xa0");
}

TEST(ConsoleDeathTest, ClosedStandardStreamsDoNotNameTheNextFile) {
  EXPECT_EXIT(
      {
        ::close(0);
        ::close(1);
        prepare_console();
        const int next = ::open("/dev/null", O_RDONLY);
        std::exit(next > 2 && ::write(1, "x", 1) < 0 ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace adze::cli
