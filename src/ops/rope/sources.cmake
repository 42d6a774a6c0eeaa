list(APPEND ops_sources rope/rope.cc rope/reference.cc)
adze_kernel(ops_rope_avx2 ISA avx2 SOURCES rope/x86_avx2.cc)
adze_kernel(ops_rope_avx512 ISA avx512 SOURCES rope/x86_avx512.cc)
list(APPEND ops_objects ops_rope_avx2 ops_rope_avx512)
