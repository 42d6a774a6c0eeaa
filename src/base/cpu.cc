#include "base/cpu.h"

#include <cstdlib>

#include "base/error.h"

namespace adze {

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return "reference";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
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
#else
    default:
      return false;
#endif
  }
  return false;
}

Isa select_isa() {
  const char* wanted = std::getenv("ADZE_ISA");
  if (wanted == nullptr || *wanted == '\0') {
    for (const Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
      if (isa_available(isa)) return isa;
    }
    return Isa::kReference;
  }
  for (const Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512}) {
    if (isa_name(isa) != wanted) continue;
    if (!isa_available(isa)) throw_invalid("ADZE_ISA: this CPU has no {}", wanted);
    return isa;
  }
  throw_invalid("ADZE_ISA: '{}' is none of reference, avx2, avx512", printable(wanted));
}

}  // namespace adze
