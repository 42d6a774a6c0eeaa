list(APPEND ops_sources attention/cache_layout.cc)
