list(APPEND ops_sources linear/linear.cc linear/packed.cc linear/reference.cc)
adze_kernel(ops_linear_avx2 ISA avx2 SOURCES linear/x86_avx2.cc)
adze_kernel(ops_linear_avx512 ISA avx512 SOURCES linear/x86_avx512.cc)
list(APPEND ops_objects ops_linear_avx2 ops_linear_avx512)
