list(APPEND ops_sources attention/attention.cc attention/cache_layout.cc attention/reference.cc)
adze_kernel(attention_avx2 ISA avx2 SOURCES attention/x86_avx2.cc)
adze_kernel(attention_avx512 ISA avx512 SOURCES attention/x86_avx512.cc)
list(APPEND ops_objects attention_avx2 attention_avx512)

if(ADZE_BUILD_TESTS)
  adze_kernel(attention_avx512_emulated ISA avx2 SOURCES attention/x86_avx512.cc)
  target_compile_definitions(attention_avx512_emulated PRIVATE ADZE_EMULATED)
  # 512-bit vectors passed between functions of one file: no ABI is involved.
  target_compile_options(attention_avx512_emulated PRIVATE -Wno-psabi)
  adze_test(attention_test
    SOURCES attention/attention_test.cc $<TARGET_OBJECTS:attention_avx512_emulated> USES ops)
endif()
if(ADZE_BUILD_BENCHMARKS)
  add_executable(attention_bench attention/attention_bench.cc)
  target_link_libraries(attention_bench PRIVATE adze_ops benchmark::benchmark)
endif()
