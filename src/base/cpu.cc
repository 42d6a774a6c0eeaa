#include "base/cpu.h"

namespace adze {

std::string_view isa_name(Isa isa) {
  return isa == Isa::kReference ? "reference" : isa == Isa::kAvx2 ? "avx2" : "avx512";
}

bool isa_available(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
             __builtin_cpu_supports("bmi2");
    case Isa::kAvx512:
      return isa_available(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  }
  return false;
}

}  // namespace adze
