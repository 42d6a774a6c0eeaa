list(APPEND ops_sources norm/norm.cc norm/reference.cc)
adze_kernel(ops_norm_avx2 ISA avx2 SOURCES norm/x86_avx2.cc)
adze_kernel(ops_norm_avx512 ISA avx512 SOURCES norm/x86_avx512.cc)
list(APPEND ops_objects ops_norm_avx2 ops_norm_avx512)
