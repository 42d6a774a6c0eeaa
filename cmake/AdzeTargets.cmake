# Target helpers. Every folder under src/ is one static library that names the folders it may include;
# scripts/check_layers reads these calls and checks the includes against them.

add_library(adze_flags INTERFACE)
target_include_directories(adze_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
# -Wno-restrict: g++ 12 reports overlaps inside std::string that cannot happen.
# -Wno-deprecated-declarations: clang reports what std::stable_sort of g++ 12's library uses itself.
# -ffp-contract=off: a fused multiply-add happens where the source says std::fma and nowhere else, so that
# every instantiation of a kernel rounds the same way.
target_compile_options(adze_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wno-sign-conversion $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
                       $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations> -Werror -ffp-contract=off)
if(ADZE_SANITIZE)
  target_compile_options(adze_flags INTERFACE -fsanitize=${ADZE_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(adze_flags INTERFACE -fsanitize=${ADZE_SANITIZE})
endif()

# adze_library(<folder> [SELF_REGISTERING] SOURCES a.cc … [USES base tensor …] [LIBS external …] [OBJECTS kernel targets …])
# SELF_REGISTERING: static initializers make the folder's parts known, so every object is linked, referenced or not.
function(adze_library name)
  cmake_parse_arguments(ARG "SELF_REGISTERING" "" "SOURCES;USES;LIBS;OBJECTS" ${ARGN})
  if(ARG_SELF_REGISTERING)
    add_library(adze_${name}_objects OBJECT ${ARG_SOURCES})
    add_library(adze_${name} INTERFACE)
    target_sources(adze_${name} INTERFACE $<TARGET_OBJECTS:adze_${name}_objects>)
    set(targets adze_${name}_objects adze_${name})
  else()
    add_library(adze_${name} STATIC ${ARG_SOURCES})
    set(targets adze_${name})
  endif()
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    set(scope PUBLIC)
    if(type STREQUAL "INTERFACE_LIBRARY")
      set(scope INTERFACE)
    endif()
    target_link_libraries(${target} ${scope} adze_flags Threads::Threads ${ARG_LIBS})
    foreach(used ${ARG_USES})
      target_link_libraries(${target} ${scope} adze_${used})
    endforeach()
  endforeach()
  foreach(object ${ARG_OBJECTS})
    target_sources(adze_${name} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
endfunction()

# adze_shared_library(<name> FROM <folder> EXPORTS <version script>): a folder's library and all that it uses as one
# shared library, of which only what the script names can be seen.
function(adze_shared_library name)
  cmake_parse_arguments(ARG "" "FROM;EXPORTS" "" ${ARGN})
  add_library(adze_${name} SHARED $<TARGET_OBJECTS:adze_${ARG_FROM}>)
  target_link_libraries(adze_${name} PRIVATE $<TARGET_PROPERTY:adze_${ARG_FROM},INTERFACE_LINK_LIBRARIES>)
  target_link_options(adze_${name} PRIVATE LINKER:--version-script=${ARG_EXPORTS})
  set_target_properties(adze_${name} PROPERTIES LINK_DEPENDS ${ARG_EXPORTS})
endfunction()

# adze_kernel(<name> ISA avx2|avx512|amx SOURCES …): sources compiled with the flags of one instruction set.
# They may be entered only after base/cpu.h has confirmed it, so they must not leave inline functions behind that the
# linker could share with portable code: scripts/check_kernel_symbols, a test of optimized builds, looks for them.
set(ADZE_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
set(ADZE_ISA_FLAGS_avx512 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl
    -mavx512vnni -mprefer-vector-width=512)
set(ADZE_ISA_FLAGS_amx ${ADZE_ISA_FLAGS_avx512} -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16 -fno-exceptions)
# -fno-exceptions: whoever holds tiles releases them; the way there by an exception would leave a shared symbol behind.
# -Wno-…uninitialized: g++ 12's own AVX-512 header starts from undefined registers.
# -fno-tree-slp-vectorize: with it g++ 12 drops all lanes but the first of `if (flag) v = _mm512_add_ps(v, w)`; found by
# linear_test on such a CPU, not by the emulation.
foreach(isa avx512 amx)
  list(APPEND ADZE_ISA_FLAGS_${isa} $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>
       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-uninitialized> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-tree-slp-vectorize>)
endforeach()
function(adze_kernel name)
  cmake_parse_arguments(ARG "" "ISA" "SOURCES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE adze_flags)
  target_compile_options(${name} PRIVATE ${ADZE_ISA_FLAGS_${ARG_ISA}})
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${name} PRIVATE -O3)
    if(ADZE_BUILD_TESTS AND NOT ADZE_SANITIZE)
      string(SUBSTRING ${ARG_ISA} 0 1 first)
      string(SUBSTRING ${ARG_ISA} 1 -1 rest)
      string(TOUPPER ${first} first)
      add_test(NAME ${name}_symbols COMMAND ${CMAKE_SOURCE_DIR}/scripts/check_kernel_symbols ${first}${rest}
                                            $<TARGET_OBJECTS:${name}> COMMAND_EXPAND_LISTS)
    endif()
  endif()
endfunction()

# adze_emulated_avx512(<name> SOURCES …): the AVX-512 kernels' sources built against SIMDe, which runs their intrinsics on
# any CPU, with each table `<T>Avx512` of TABLES renamed to `<T>Emulated`. For tests on machines without AVX-512.
function(adze_emulated_avx512 name)
  if(NOT ADZE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;TABLES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE adze_flags)
  # Avx512 gets another name: the linker must not take one instantiation for the other.
  target_compile_definitions(${name} PRIVATE ADZE_EMULATE_AVX512 SIMDE_ENABLE_NATIVE_ALIASES
                             Avx512=EmulatedAvx512)
  target_compile_options(${name} PRIVATE -include ops/simd/emulated_avx512.h -mavx2 -mfma -mf16c -w -O1)
  foreach(table ${ARG_TABLES})
    target_compile_definitions(${name} PRIVATE ${table}Avx512=${table}Emulated)
  endforeach()
endfunction()

# adze_test(<name> SOURCES … USES folders … [LIBS external …])
function(adze_test name)
  if(NOT ADZE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  # What is tested is optimized; optimizing the tests themselves, sanitized above all, takes longer than it saves.
  if(ADZE_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE -O1)
  endif()
  foreach(used ${ARG_USES})
    target_link_libraries(${name} PRIVATE adze_${used})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ADZE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

# adze_benchmark(<name> SOURCES … USES folders … [LIBS external …]): a Google Benchmark program, with ADZE_BUILD_BENCHMARKS.
function(adze_benchmark name)
  if(NOT ADZE_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  foreach(used ${ARG_USES})
    target_link_libraries(${name} PRIVATE adze_${used})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} benchmark::benchmark)
endfunction()
