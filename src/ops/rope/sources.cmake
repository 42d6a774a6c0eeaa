list(APPEND ops_sources rope/rope.cc)
