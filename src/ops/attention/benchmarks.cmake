adze_benchmark(attention_bench SOURCES attention/attention_bench.cc USES ops)
