"""A checkpoint in pieces: small enough to travel, the same when it is put together, refused when it is not whole."""

import hashlib
import json
import zlib

import numpy as np
import pytest
import torch

from benchmarks.gpu_queue.checkpoint_pieces import pack, unpack
from rl_models.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint

LARGEST = 8_192
STEP = 1_234_567


@pytest.fixture
def checkpoint(tmp_path):
    generator = torch.Generator().manual_seed(0)
    tensors = {
        "weights": {"a": torch.randn(40, 60, generator=generator), "b": torch.zeros(3, dtype=torch.bool)},
        "optimizer": {"a/exp_avg": 1e-3 * torch.randn(40, 60, generator=generator)},
        "runner_0": {"world/grid": np.arange(77, dtype=np.uint8), "version": np.array(3)},
    }
    return save_checkpoint(tmp_path / "checkpoints", STEP, tensors, {"seed": 2**70, "note": "ü"})


@pytest.fixture
def pieces(tmp_path, checkpoint):
    return pack(checkpoint, tmp_path / "pieces", LARGEST)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_unpacked_is_what_was_packed_to_the_byte(tmp_path, checkpoint, pieces):
    assert len(pieces) > 1 and max(piece.stat().st_size for piece in pieces) <= LARGEST
    back = unpack(reversed(pieces), tmp_path / "elsewhere")
    assert back.name == checkpoint.name
    assert files_of(back) == files_of(checkpoint)
    assert load_checkpoint(back).state == {"seed": 2**70, "note": "ü"}


def refused(pieces, tmp_path):
    """The sentence of a refusal, which leaves nothing behind."""
    with pytest.raises(CheckpointError) as error:
        unpack(pieces, tmp_path / "new")
    assert not list((tmp_path / "new").glob("*"))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_piece_that_is_missing_cut_of_others_or_of_another_checkpoint_is_named(tmp_path, checkpoint, pieces):
    assert f"piece 2 of {len(pieces)}" in refused([pieces[0], *pieces[2:]], tmp_path)
    assert refused([], tmp_path)
    other = save_checkpoint(tmp_path / "other", STEP, load_checkpoint(checkpoint).tensors, {"seed": 1})
    theirs = pack(other, tmp_path / "theirs", LARGEST)
    assert str(theirs[1]) in refused([pieces[0], theirs[1], *pieces[2:]], tmp_path)
    stranger = tmp_path / "notes.txt"
    stranger.write_text("a line\nand another")
    assert str(stranger) in refused([stranger, *pieces], tmp_path)
    pieces[-1].write_bytes(pieces[-1].read_bytes()[:-1])
    assert str(pieces[-1]) in refused(pieces, tmp_path)


@pytest.mark.parametrize("place", [3, 60, -1], ids=["its first line", "its fields", "its bytes"])
def test_a_damaged_piece_is_named(tmp_path, pieces, place):
    content = bytearray(pieces[1].read_bytes())
    content[place] ^= 1
    pieces[1].write_bytes(bytes(content))
    said = refused(pieces, tmp_path)
    assert str(pieces[1]) in said or str(pieces[0]) in said


def test_pieces_name_no_file_outside_the_checkpoint(tmp_path, pieces):
    """A stranger's piece whose stream says so is refused before anything is written."""
    plain = json.dumps({"../state.json": 2}).encode() + b"\n{}"
    stream = zlib.compress(plain)
    digest = hashlib.sha256(stream).hexdigest()
    header = json.loads(pieces[0].read_bytes().partition(b"\n")[0])
    header |= {"of": 1, "bytes": len(plain), "whole": digest, "sha256": digest}
    piece = tmp_path / "piece"
    piece.write_bytes(json.dumps(header).encode() + b"\n" + stream)
    assert str(piece) in refused([piece], tmp_path)
    piece.write_bytes(json.dumps(header | {"bytes": 3}).encode() + b"\n" + stream)
    assert str(piece) in refused([piece], tmp_path)


def test_a_checkpoint_that_is_not_whole_is_not_packed(tmp_path, checkpoint):
    (checkpoint / "optimizer.safetensors").write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="optimizer"):
        pack(checkpoint, tmp_path / "pieces")
    assert not (tmp_path / "pieces").exists()
