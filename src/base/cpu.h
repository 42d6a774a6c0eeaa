// Instruction sets of the processor.
#pragma once

#include <string_view>

namespace adze {

// Sets that kernels are compiled for, each including the ones before it.
enum class Isa {
  kReference,  // plain scalar code
  kAvx2,       // AVX2, FMA, F16C, BMI, BMI2
  kAvx512,     // and AVX-512 F, BW, DQ, VL, VNNI
};

std::string_view isa_name(Isa isa);  // "reference", "avx2", "avx512"

// Whether this processor and operating system can run it.
bool isa_available(Isa isa);

}  // namespace adze
