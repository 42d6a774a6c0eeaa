"""scripts/check_kernel_symbols finds what was planted."""
import pathlib
import shutil
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).parent.parent.parent / "scripts"


@pytest.mark.skipif(not shutil.which("c++") or not shutil.which("nm"), reason="no compiler")
def test_shared_inline_functions_of_kernels_are_found(tmp_path):
    source = tmp_path / "kernel.cc"
    objects = tmp_path / "kernel.o"
    for text, code in (("inline __attribute__((noinline)) int shared(int x) { return x * 2; }\nint f(int x) "
                        "{ return shared(x); }\n", 1),
                       ("struct Avx2 {};\ntemplate <class V> __attribute__((noinline)) int own(int x) { return x * 2; }\n"
                        "int f(int x) { return own<Avx2>(x); }\n", 0)):
        source.write_text(text)
        subprocess.run(["c++", "-O2", "-c", source, "-o", objects], check=True)
        done = subprocess.run([SCRIPTS / "check_kernel_symbols", "Avx2", objects], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert ("shared(int)" in done.stderr) == (code == 1)
