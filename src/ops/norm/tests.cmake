adze_emulated_avx512(ops_norm_emulated SOURCES norm/x86_avx512.cc TABLES kNorm)
adze_test(norm_test SOURCES norm/norm_test.cc USES ops LIBS ops_norm_emulated)
