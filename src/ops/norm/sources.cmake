list(APPEND ops_sources norm/rms_norm.cc)
adze_kernel(norm_avx2 ISA avx2 SOURCES norm/x86_avx2.cc)
adze_kernel(norm_avx512 ISA avx512 SOURCES norm/x86_avx512.cc)
list(APPEND ops_objects norm_avx2 norm_avx512)

if(ADZE_BUILD_TESTS)
  adze_kernel(norm_avx512_emulated ISA avx2 SOURCES norm/x86_avx512.cc)
  target_compile_definitions(norm_avx512_emulated PRIVATE ADZE_EMULATED)
  # 512-bit vectors passed between functions of one file: no ABI is involved.
  target_compile_options(norm_avx512_emulated PRIVATE -Wno-psabi)
  adze_test(rms_norm_test
    SOURCES norm/rms_norm_test.cc $<TARGET_OBJECTS:norm_avx512_emulated> USES ops)
endif()
