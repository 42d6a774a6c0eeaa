# Shell functions that the scripts share. Source it; it changes to the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*" >&2; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# need_packages NAME…: installs Debian packages that are missing.
need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "not root and no sudo: install ${missing[*]} first"
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq || fail "apt-get update failed: is there a network?"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install ${missing[*]}"
}

# What the build needs.
need_build_packages() {
  need_packages g++ cmake ninja-build ccache pkg-config libcli11-dev libedit-dev libfmt-dev \
    nlohmann-json3-dev libpcre2-dev libutf8proc-dev "$@"
}

# What the preset debug needs.
need_sanitizer_packages() {
  need_build_packages libgtest-dev libgmock-dev libsimde-dev clang-22 libclang-rt-22-dev "$@"
}

# build PRESET [-DOPTION=VALUE…] [TARGET…]
build() {
  local preset=$1 jobs options=() targets=()
  shift
  while [[ ${1:-} == -D* ]]; do
    options+=("$1")
    shift
  done
  [ $# -eq 0 ] || targets=(--target "$@")
  say "Building ($preset)"
  cmake --preset "$preset" "${options[@]}" >/dev/null
  # Four parallel compilers at most: some translation units take a gigabyte.
  jobs=$(($(nproc) < 4 ? $(nproc) : 4))
  cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
}

# run_fuzzer TARGET SECONDS CORPUS FINDINGS: the target of the preset debug, from its seeds and from what it kept in the
# folder CORPUS; fails where it finds something, which FINDINGS then holds.
run_fuzzer() {
  local options=()
  mkdir -p "$3" "$4"
  [ -f "fuzz/dictionaries/$1" ] && options+=("-dict=fuzz/dictionaries/$1")
  # A template may fill its 256 MiB of values; twice that with what ASan adds.
  nice "build/debug/bin/fuzz_$1" "${options[@]}" -max_total_time="$2" -timeout=60 -rss_limit_mb=3000 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$4/" "$3" "fuzz/seeds/$1"
}

# make_venv FOLDER: a Python environment; made anew where an earlier attempt was cut off.
make_venv() {
  "$1/bin/python" -m pip --version >/dev/null 2>&1 && return
  say "Making a Python environment in $1"
  rm -rf "$1"
  python3 -m venv "$1"
}

# The project's Python, with the packages of a requirements file.
need_python() {
  local requirements=$1
  need_packages python3-venv
  make_venv .venv
  if ! cmp -s "$requirements" .venv/installed-requirements.txt; then
    say "Installing the Python packages of $requirements"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$requirements" ||
      fail "pip could not install $requirements: is there a network?"
    cp "$requirements" .venv/installed-requirements.txt
  fi
}

# Prints the interpreter that benchmarks use: ADZE_BENCH_PYTHON, or .venv-bench, made on first use.
bench_python() {
  if [ -z "${ADZE_BENCH_PYTHON:-}" ]; then
    if [ ! -x .venv-bench/bin/llama-cpp-done ]; then
      need_packages python3-venv python3-dev g++ cmake ninja-build >&2
      say "llama.cpp is compiled, which takes some ten minutes"
      make_venv .venv-bench
      .venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt >&2 ||
        fail "pip could not install benchmarks/requirements.txt"
      install -m 755 /dev/null .venv-bench/bin/llama-cpp-done
    fi
    ADZE_BENCH_PYTHON=.venv-bench/bin/python
  fi
  echo "$ADZE_BENCH_PYTHON"
}
