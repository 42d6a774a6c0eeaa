adze_benchmark(linear_bench SOURCES linear/linear_bench.cc USES ops)
