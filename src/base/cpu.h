// Instruction sets of this machine.
#pragma once

#include <array>
#include <string_view>

namespace adze {

// Kernel families, each with all that the ones before it have: kAvx512 means F, BW, DQ, VL and
// VNNI, kAmx tiles of int8 and bf16 and BF16 of AVX-512.
enum class Isa { kReference, kAvx2, kAvx512, kAmx };
inline constexpr std::array kAllIsas = {Isa::kReference, Isa::kAvx2, Isa::kAvx512, Isa::kAmx};
std::string_view isa_name(Isa isa);

// True where this CPU and operating system can run it.
bool isa_available(Isa isa);
// The best one available, or the one named by the environment variable ADZE_ISA. Throws
// Error{kInvalidInput} where that names none or one that this machine lacks.
Isa select_isa();

}  // namespace adze
