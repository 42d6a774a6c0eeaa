"""scripts/check_layers and scripts/check_kernel_symbols find what was planted."""
import json
import pathlib
import shutil
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).parent.parent.parent / "scripts"


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def tree(tmp_path):
    write(tmp_path, {
        "scripts/layers.json": json.dumps({"layers": {"base": 0, "tensor": 1, "text": 1, "graph": 3},
                                           "facades": ["base/error.h", "graph/"]}),
        "src/base/CMakeLists.txt": "adze_library(base SOURCES a.cc LIBS fmt::fmt)\n",
        "src/base/error.h": "#pragma once\n",
        "src/tensor/CMakeLists.txt": "adze_library(tensor SOURCES t.cc USES base)\n",
        "src/tensor/t.h": '#pragma once\n#include "base/error.h"\n',
        "src/text/CMakeLists.txt": "adze_library(text SOURCES x.cc USES base)\n",
        "src/text/x.h": '#pragma once\n#include "base/error.h"\n',
        "src/graph/CMakeLists.txt": "adze_library(graph SOURCES g.cc USES base tensor LIBS x)\n",
        "src/graph/g.h": '#pragma once\n#include <vector>\n\n#include "base/error.h"\n#include "tensor/t.h"\n',
        "apps/cli/main.cc": '#include "base/error.h"\n#include "graph/g.h"\n',
    })
    return tmp_path


def check(tree):
    done = subprocess.run([SCRIPTS / "check_layers", tree], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_clean_tree_passes(tree):
    assert check(tree) == (0, "check_layers: 4 folders, 0 violations\n")


@pytest.mark.parametrize("files, where", [
    ({"src/base/up.h": '#include "graph/g.h"\n'}, "src/base/up.h:1: base (layer 0) includes graph (layer 3)"),
    ({"src/tensor/side.h": '#pragma once\n#include "text/x.h"\n'}, "src/tensor/side.h:2: tensor (layer 1) includes text"),
    ({"src/graph/more.cc": '#include "text/x.h"\n'}, "src/graph/more.cc:1: graph includes text, which its USES"),
    ({"src/graph/a.h": '#include "graph/b.h"\n', "src/graph/b.h": '#include "graph/a.h"\n'}, "cycle: graph/a.h"),
    ({"src/text/CMakeLists.txt": "adze_library(text SOURCES x.cc USES base tensor)\n"}, "USES tensor, but nothing"),
    ({"src/new/n.h": ""}, "src/new: scripts/layers.json gives it no layer"),
    ({"apps/cli/other.cc": '\n#include "tensor/t.h"\n'}, "apps/cli/other.cc:2: apps may not include tensor/t.h"),
])
def test_each_kind_of_violation_is_found(tree, files, where):
    write(tree, files)
    code, out = check(tree)
    assert code == 1
    assert where in out


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
