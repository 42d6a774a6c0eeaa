"""scripts/check_layers on small trees with one violation each, and scripts/check_format on an unformatted file."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Two folders share layer 1.
LAYERS = {"layers": {"base": 0, "left": 1, "right": 1, "top": 2}, "facades": ["base/error.h", "top/"]}
TREE = {
    "scripts/layers.json": json.dumps(LAYERS),
    "src/base/CMakeLists.txt": "adze_library(base SOURCES a.cc)\n",
    "src/base/a.h": "#pragma once\n",
    "src/base/error.h": "#pragma once\n",
    "src/base/a.cc": '#include "base/a.h"\n\n#include <vector>\n',
    "src/left/CMakeLists.txt": "adze_library(left\n  SOURCES l.cc\n  USES base\n  LIBS fmt::fmt)\n",
    "src/left/l.h": '#pragma once\n\n#include "base/a.h"\n',
    "src/left/l.cc": '#include "left/l.h"\n',
    "src/right/CMakeLists.txt": "adze_library(right SOURCES r.cc)\n",
    "src/right/r.h": "#pragma once\n",
    "src/right/r.cc": '#include "right/r.h"\n',
    "src/top/CMakeLists.txt": "# Uses (both).\nadze_library(top SELF_REGISTERING SOURCES t.cc\n  USES base left right)\n",
    "src/top/t.h": '#pragma once\n#include "base/error.h"\n#include "left/l.h"\n#include "right/r.h"\n',
    "src/top/t.cc": '#include "top/t.h"\n',
    "apps/tool/main.h": "#pragma once\n",
    "apps/tool/main.cc": '#include "apps/tool/main.h"\n#include "base/error.h"\n#include "top/t.h"\n',
}


def check(tmp_path, changes):
    for name, text in {**TREE, **changes}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([ROOT / "scripts" / "check_layers", tmp_path], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_a_clean_tree_passes(tmp_path):
    assert check(tmp_path, {}) == (0, ["check_layers: 4 folders, 0 violations"])


def test_a_test_may_include_any_lower_folder(tmp_path):
    assert check(tmp_path, {"src/right/r_test.cc": '#include "base/a.h"\n'})[0] == 0


VIOLATIONS = {
    "upward": ({"src/base/a.cc": '#include "base/a.h"\n#include "top/t.h"\n'},
               "src/base/a.cc:2: base (layer 0) includes top (layer 2)"),
    "upward from a test": ({"src/base/a_test.cc": '#include "top/t.h"\n'}, "src/base/a_test.cc:1: base (layer 0)"),
    "upward in angle brackets": ({"src/base/a.cc": "\n #  include <top/t.h>\n"},
                                 "src/base/a.cc:2: base (layer 0) includes top"),
    "upward from another kind of source": ({"src/base/a.cpp": '#include "top/t.h"\n'},
                                           "src/base/a.cpp:1: base (layer 0) includes top"),
    "sideways": ({"src/right/r.h": '#pragma once\n#include "left/l.h"\n'},
                 "src/right/r.h:2: right (layer 1) includes left (layer 1)"),
    "cycle between folders of a layer": (
        {"src/right/r.h": '#pragma once\n#include "left/l.h"\n', "src/left/l.h": '#include "right/r.h"\n'},
        "src/right/r.h:2: cycle: left/l.h → right/r.h → left/l.h"),
    "cycle within a folder": (
        {"src/left/l.h": '#include "base/a.h"\n\n#include "left/m.h"\n', "src/left/m.h": '#include "left/l.h"\n'},
        "src/left/m.h:1: cycle: left/l.h → left/m.h → left/l.h"),
    "a header that includes itself": ({"src/right/r.h": '#include "right/r.h"\n'}, "src/right/r.h:1: cycle"),
    "relative": ({"src/base/a.cc": '#include "../top/t.h"\n'}, "src/base/a.cc:1: ../top/t.h"),
    "relative through its own folder": ({"src/base/a.cc": '#include "base/../top/t.h"\n'}, "src/base/a.cc:1: base/../"),
    "beside it": ({"src/left/l.cc": '#include "l.h"\n'}, "src/left/l.cc:1: l.h is no path of a file under src/"),
    "apps": ({"src/top/t.cc": '#include "top/t.h"\n#include "apps/tool/main.h"\n'}, "src/top/t.cc:2: apps/tool/main.h"),
    "folder without a layer": ({"src/new/n.h": "#pragma once\n", "src/new/CMakeLists.txt": "adze_library(new)\n",
                                "src/top/t.cc": '#include "new/n.h"\n'},
                               "src/top/t.cc:1: includes new, to which scripts/layers.json gives no layer"),
    "folder without a target": ({"src/right/CMakeLists.txt": "# adze_library(right)\n"}, "src/right: no adze_library"),
    "use that is not declared": ({"src/right/r.cc": '\n#include "base/a.h"\n'},
                                 "src/right/r.cc:2: right includes base, which its USES does not name"),
    "use after a comment": ({"src/right/CMakeLists.txt": "adze_library(right SOURCES r.cc)  # USES base\n",
                             "src/right/r.cc": '#include "base/a.h"\n'}, "src/right/r.cc:1: right includes base"),
    "declared upward": ({"src/left/CMakeLists.txt": "adze_library(left\n  SOURCES l.cc\n  USES base\n    top)\n"},
                        "src/left/CMakeLists.txt:4: left (layer 1) USES top (layer 2)"),
    "declared, not used": ({"src/right/CMakeLists.txt": "\nadze_library(right SOURCES r.cc USES base)\n"},
                           "src/right/CMakeLists.txt:2: USES base, but nothing includes it"),
    "declared, used by a test only": ({"src/right/CMakeLists.txt": "adze_library(right SOURCES r.cc USES base)\n",
                                       "src/right/r_test.cc": '#include "base/a.h"\n'},
                                      "src/right/CMakeLists.txt:1: USES base, but nothing includes it"),
    "linked past USES": ({"src/right/CMakeLists.txt": "adze_library(right SOURCES r.cc)\n"
                          "target_link_libraries(adze_right PUBLIC\n  adze_left)\n"},
                         "src/right/CMakeLists.txt:3: links adze_left by itself"),
    "an app past the facades": ({"apps/tool/main.cc": '#include "top/t.h"\n#include "left/l.h"\n'},
                                "apps/tool/main.cc:2: apps may not include left/l.h"),
    "an app past the facades, relatively": ({"apps/tool/main.cc": '#include "../../src/left/l.h"\n'},
                                            "apps/tool/main.cc:1: ../../src/left/l.h"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violation_is_named(tmp_path, name):
    changes, message = VIOLATIONS[name]
    status, lines = check(tmp_path, changes)
    assert status == 1
    assert any(line.startswith(message) for line in lines), lines


def format_check(tmp_path, text):
    if shutil.which("clang-format") is None:
        pytest.skip("clang-format is not installed")
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/check_format", "scripts/lib.sh", ".clang-format"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "a.cc").write_text(text)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    return subprocess.run([tmp_path / "scripts" / "check_format"], capture_output=True, text=True, timeout=60)


def test_format_passes_what_is_formatted(tmp_path):
    done = format_check(tmp_path, "int main() { return 0; }\n")
    assert done.returncode == 0, done.stderr


def test_format_names_what_is_not(tmp_path):
    done = format_check(tmp_path, "int main() { return 0; }\n\nint  two()\n{ return 2; }\n")
    assert done.returncode != 0
    assert "a.cc:3:" in done.stderr
