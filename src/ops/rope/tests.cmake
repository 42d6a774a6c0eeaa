adze_test(rope_test SOURCES rope/rope_test.cc USES ops)
