#include "base/cpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace adze {
namespace {

#if defined(__x86_64__)
// Compilers this old have no name for these features.
bool cpuid_bit(unsigned leaf, unsigned subleaf, unsigned index, unsigned bit) {
  unsigned registers[4] = {};
  return __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2],
                           &registers[3]) != 0 &&
         (registers[index] >> bit & 1) != 0;
}

// Linux gives a process the state of tile registers on request (Documentation/arch/x86/xstate.rst),
// once for all threads that it starts later.
bool tiles_permitted() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return "reference";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAmx:
      return "amx";
  }
  return "";
}

bool isa_available(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return true;
#if defined(__x86_64__)
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    case Isa::kAvx512:
      return isa_available(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    case Isa::kAmx: {
      // AVX512-BF16; AMX-BF16, AMX-TILE and AMX-INT8 are bits 22, 24 and 25 of EDX.
      static const bool kPermitted = isa_available(Isa::kAvx512) && cpuid_bit(7, 1, 0, 5) &&
                                     cpuid_bit(7, 0, 3, 22) && cpuid_bit(7, 0, 3, 24) &&
                                     cpuid_bit(7, 0, 3, 25) && tiles_permitted();
      return kPermitted;
    }
#else
    default:
      return false;
#endif
  }
  return false;
}

Isa select_isa() {
  const char* wanted = std::getenv("ADZE_ISA");
  Isa best = Isa::kReference;
  std::vector<std::string_view> names;
  for (const Isa isa : kAllIsas) {
    const bool available = isa_available(isa);
    if (available) best = isa;
    names.push_back(isa_name(isa));
    if (wanted == nullptr || isa_name(isa) != wanted) continue;
    if (!available) throw_invalid("ADZE_ISA: this CPU has no {}", wanted);
    return isa;
  }
  if (wanted == nullptr || *wanted == '\0') return best;
  throw_invalid("ADZE_ISA: '{}' is none of {}", printable(wanted), fmt::join(names, ", "));
}

}  // namespace adze
