#pragma once

namespace adze {

// "MAJOR.MINOR.PATCH" of the library that is linked.
const char* version();

}  // namespace adze
