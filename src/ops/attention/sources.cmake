list(APPEND ops_sources attention/attention.cc attention/reference.cc)
adze_kernel(ops_attention_avx2 ISA avx2 SOURCES attention/x86_avx2.cc)
adze_kernel(ops_attention_avx512 ISA avx512 SOURCES attention/x86_avx512.cc)
list(APPEND ops_objects ops_attention_avx2 ops_attention_avx512)
