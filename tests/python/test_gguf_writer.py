"""Files from our GGUF writer, read by the Python package `gguf`.

ADZE_BIN: the program, beside which the build puts gguf_copy; without it the tests are skipped. ADZE_MODEL: a real
model, optional.
"""

import os
import subprocess
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import quants

GOLDEN = Path(__file__).parent.parent / "golden" / "gguf"
BIN = os.environ.get("ADZE_BIN")
MODEL = os.environ.get("ADZE_MODEL")
pytestmark = pytest.mark.skipif(not BIN, reason="ADZE_BIN is not set")


def copy(source, target, *dtype):
    subprocess.run([Path(BIN).with_name("gguf_copy"), source, target, *dtype], check=True, timeout=120)
    return gguf.GGUFReader(target)


def fields(reader):
    """Key → (types, contents), without the header's own fields and what only splitting adds."""
    return {
        key: ([kind.name for kind in field.types], repr(field.contents()))
        for key, field in reader.fields.items()
        if not key.startswith(("GGUF.", "split."))
    }


def assert_same(ours, theirs):
    assert list(fields(ours).items()) == list(fields(theirs).items())
    assert [t.name for t in ours.tensors] == [t.name for t in theirs.tensors]
    for mine, other in zip(ours.tensors, theirs.tensors):
        assert mine.tensor_type == other.tensor_type
        assert mine.shape.tolist() == other.shape.tolist()
        assert mine.data.tobytes() == other.data.tobytes(), mine.name


@pytest.mark.parametrize("name", ["every_type_v3.gguf", "every_type_v2.gguf", "aligned_64.gguf"])
def test_what_python_wrote(name, tmp_path):
    ours = copy(GOLDEN / name, tmp_path / "out.gguf")
    theirs = gguf.GGUFReader(GOLDEN / name)
    assert_same(ours, theirs)
    assert ours.alignment == theirs.alignment
    assert ours.fields["GGUF.version"].contents() == 3


def test_split_model_becomes_one(tmp_path):
    ours = copy(GOLDEN / "split-00001-of-00003.gguf", tmp_path / "out.gguf")
    parts = [gguf.GGUFReader(GOLDEN / f"split-0000{i}-of-00003.gguf") for i in (1, 2, 3)]
    theirs = [tensor for part in parts for tensor in part.tensors]
    assert [t.name for t in ours.tensors] == [t.name for t in theirs]
    assert all(a.data.tobytes() == b.data.tobytes() for a, b in zip(ours.tensors, theirs))


@pytest.mark.skipif(not MODEL, reason="ADZE_MODEL is not set")
def test_a_real_model(tmp_path):
    assert_same(copy(MODEL, tmp_path / "out.gguf"), gguf.GGUFReader(MODEL))


@pytest.mark.parametrize("dtype", ["F16", "BF16", "Q4_0", "Q4_1", "Q8_0"])
def test_encodes_as_python_does(dtype, tmp_path):
    # More values than the writer encodes at a time.
    values = np.random.default_rng(3).normal(0, 1, (1200, 96)).astype(np.float32)
    writer = gguf.GGUFWriter(tmp_path / "in.gguf", "llama")
    writer.add_tensor("weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (ours,) = copy(tmp_path / "in.gguf", tmp_path / "out.gguf", dtype).tensors
    kind = gguf.GGMLQuantizationType[dtype]
    assert ours.tensor_type == kind
    assert ours.shape.tolist() == [96, 1200]
    assert ours.data.tobytes() == quants.quantize(values, kind).tobytes()
