list(APPEND ops_sources elementwise/elementwise.cc elementwise/reference.cc)
adze_kernel(ops_elementwise_avx2 ISA avx2 SOURCES elementwise/x86_avx2.cc)
adze_kernel(ops_elementwise_avx512 ISA avx512 SOURCES elementwise/x86_avx512.cc)
list(APPEND ops_objects ops_elementwise_avx2 ops_elementwise_avx512)
