adze_emulated_avx512(ops_attention_emulated SOURCES attention/x86_avx512.cc TABLES kAttention)
adze_test(attention_test SOURCES attention/attention_test.cc USES ops LIBS ops_attention_emulated)
