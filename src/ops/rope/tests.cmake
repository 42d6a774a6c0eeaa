adze_emulated_avx512(ops_rope_emulated SOURCES rope/x86_avx512.cc TABLES kRope)
adze_test(rope_test SOURCES rope/rope_test.cc USES ops LIBS ops_rope_emulated)
