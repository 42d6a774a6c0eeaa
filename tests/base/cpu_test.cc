#include "base/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "base/error.h"

namespace adze {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

// ADZE_ISA as a test wants it, and afterwards as it was.
class IsaTest : public testing::Test {
 protected:
  IsaTest() {
    const char* before = std::getenv("ADZE_ISA");
    if (before != nullptr) before_ = before;
    ::unsetenv("ADZE_ISA");
  }
  ~IsaTest() override {
    if (before_) {
      ::setenv("ADZE_ISA", before_->c_str(), 1);
    } else {
      ::unsetenv("ADZE_ISA");
    }
  }
  static void set(const std::string& value) { ::setenv("ADZE_ISA", value.c_str(), 1); }

 private:
  std::optional<std::string> before_;
};

// What Linux found, in its own names.
std::set<std::string> kernel_flags() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST_F(IsaTest, IsAsTheKernelSees) {
  const std::set<std::string> flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo names no flags";
  bool avx2 = true;
  for (const char* flag : {"avx2", "fma", "f16c", "bmi1", "bmi2"}) avx2 &= flags.contains(flag);
  bool avx512 = avx2;
  for (const char* flag : {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}) {
    avx512 &= flags.contains(flag);
  }
  EXPECT_TRUE(isa_available(Isa::kReference));
  EXPECT_EQ(isa_available(Isa::kAvx2), avx2);
  EXPECT_EQ(isa_available(Isa::kAvx512), avx512);
  const bool amx = avx512 && flags.contains("avx512_bf16") && flags.contains("amx_tile") &&
                   flags.contains("amx_int8") && flags.contains("amx_bf16");
  EXPECT_EQ(isa_available(Isa::kAmx), amx);
  const Isa best = amx ? Isa::kAmx : avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kReference;
  EXPECT_EQ(select_isa(), best);
  set("");
  EXPECT_EQ(select_isa(), best);
}

TEST_F(IsaTest, TheVariableChoosesOrNamesItself) {
  EXPECT_EQ(isa_name(Isa::kReference), "reference");
  EXPECT_EQ(isa_name(Isa::kAvx2), "avx2");
  EXPECT_EQ(isa_name(Isa::kAvx512), "avx512");
  EXPECT_EQ(isa_name(Isa::kAmx), "amx");
  for (const Isa isa : kAllIsas) {
    const std::string name(isa_name(isa));
    set(name);
    if (isa_available(isa)) {
      EXPECT_EQ(select_isa(), isa);
    } else {
      EXPECT_THAT([] { select_isa(); },
                  ThrowsMessage<Error>(AllOf(HasSubstr("ADZE_ISA"), HasSubstr(name))));
    }
  }
}

TEST_F(IsaTest, AWrongValueNamesVariableValueAndChoices) {
  for (const char* value : {"AVX2", "avx", "avx2 ", " avx2", "avx512vnni", "0", "none"}) {
    set(value);
    EXPECT_THAT([] { select_isa(); },
                ThrowsMessage<Error>(AllOf(HasSubstr("ADZE_ISA"), HasSubstr(value),
                                           HasSubstr("reference, avx2, avx512, amx"))));
  }
  set("two\nlines\x1b[31m");
  EXPECT_THAT([] { select_isa(); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("two\\x0alines"), Not(HasSubstr("\n")), Not(HasSubstr("\x1b")))));
}

}  // namespace
}  // namespace adze
