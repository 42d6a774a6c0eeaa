adze_emulated_avx512(ops_linear_emulated SOURCES linear/x86_avx512.cc TABLES kLinear)
adze_test(linear_test SOURCES linear/linear_test.cc USES ops LIBS ops_linear_emulated)
