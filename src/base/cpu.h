// Instruction sets of this machine.
#pragma once

#include <string_view>

namespace adze {

// Kernel families. kAvx512 means F, BW, DQ, VL and VNNI.
enum class Isa { kReference, kAvx2, kAvx512 };
std::string_view isa_name(Isa isa);

// True where this CPU and operating system can run it.
bool isa_available(Isa isa);
// The best one available, or the one named by the environment variable ADZE_ISA. Throws
// Error{kInvalidInput} where that names none or one that this machine lacks.
Isa select_isa();

}  // namespace adze
