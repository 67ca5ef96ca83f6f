"""Encodings on disk: computed once for all processes, whole or computed again, and no larger together than allowed."""

import errno
import multiprocessing
import os

import pytest
import torch

from rl_models.text.encoding_cache import FOLDER_VARIABLE, LIMIT_VARIABLE, EncodingCache, EncodingCacheError

BYTES = 20 + 4 * 3
"""Size of a file with one state of width 3."""


def encoding(text):
    """Something that only this text has: a state of width 3 for each of its parts."""
    parts = text.split() if isinstance(text, str) else text
    return torch.tensor(
        [[len(parts), sum(map(ord, str(part))), place] for place, part in enumerate(parts)], dtype=torch.float
    )


class Encoder:
    """A tiny encoder that counts the texts that it is given."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        return [encoding(text) for text in texts]


@pytest.fixture
def encode():
    return Encoder()


def refuse(texts):
    pytest.fail(f"{texts} are encoded again")


@pytest.mark.parametrize("texts", [("a b", "c"), ((101, 7), (101,)), (("a", "b"), ("a b",))])
def test_what_one_cache_has_encoded_every_other_reads(texts, tmp_path, encode):
    first, other = EncodingCache("tiny", tmp_path / "new"), EncodingCache("tiny", tmp_path / "new")
    first.get([*texts, texts[0]], encode)
    assert encode.texts == [*texts]
    found = other.get(texts, refuse)
    assert all(torch.equal(found[text], encoding(text)) for text in texts)
    assert (first.asked, first.found, other.asked, other.found) == (2, 0, 2, 2)


def test_who_may_read_the_folder_may_read_the_encodings(tmp_path, encode):
    cache = EncodingCache("tiny", tmp_path)
    (tmp_path / "tiny").mkdir(mode=0o755)
    cache.get(["a"], encode)
    assert [file.stat().st_mode & 0o777 for file in (tmp_path / "tiny").glob("*.states")] == [0o644]


def test_encoders_share_nothing(tmp_path, encode):
    for name in ("one", "other"):
        EncodingCache(name, tmp_path).get(["a"], encode)
    assert encode.texts == ["a", "a"]


def encode_many(folder, first, log):
    def encode(texts):
        with log.open("a") as file:
            file.write("".join(f"{text}\n" for text in texts))
        return [encoding(text) for text in texts]

    EncodingCache("tiny", folder).get([f"sentence {number}" for number in range(first, first + 200)], encode)


@pytest.mark.processes
def test_processes_at_the_same_time_encode_each_text_once(tmp_path):
    """Two want the same 200 texts, a third 200 others of which half are the same."""
    context = multiprocessing.get_context("fork")
    log, folder = tmp_path / "log", tmp_path / "encodings"
    workers = [context.Process(target=encode_many, args=(folder, first, log)) for first in (0, 0, 100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert sorted(log.read_text().splitlines()) == sorted(f"sentence {number}" for number in range(300))
    assert len(list(folder.glob("tiny/*.states"))) == 300


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[:-4], lambda whole: whole[:5], lambda _: b"", lambda whole: whole[:-1] + b"x"]
)
def test_a_damaged_file_is_encoded_again_and_alone(damage, tmp_path, encode):
    EncodingCache("tiny", tmp_path).get(["kept"], encode)
    (kept,) = tmp_path.glob("tiny/*.states")
    EncodingCache("tiny", tmp_path).get(["a b"], encode)
    (file,) = set(tmp_path.glob("tiny/*.states")) - {kept}
    file.write_bytes(damage(file.read_bytes()))
    found = EncodingCache("tiny", tmp_path).get(["kept", "a b"], encode)
    assert torch.equal(found["a b"], encoding("a b")) and encode.texts == ["kept", "a b", "a b"]
    EncodingCache("tiny", tmp_path).get(["kept", "a b"], refuse)


def test_a_process_that_is_stopped_while_it_encodes_stops_no_other(tmp_path, monkeypatch, encode):
    monkeypatch.setattr("rl_models.text.encoding_cache.TIMEOUT_SECONDS", 0.01)

    def encode_meanwhile(texts):
        EncodingCache("tiny", tmp_path).get([*texts, "more"], encode)
        return encode(texts)

    EncodingCache("tiny", tmp_path).get(["a"], encode_meanwhile)
    EncodingCache("tiny", tmp_path).get(["a", "more"], refuse)


def test_a_crash_while_writing_leaves_nothing(tmp_path, monkeypatch, encode):
    def crash(*_):
        raise OSError(errno.ENOSPC, "the disk is full")

    cache = EncodingCache("tiny", tmp_path)
    cache.get(["kept"], encode)
    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(EncodingCacheError, match="disk is full"):
        cache.get(["lost"], encode)
    assert len(list(tmp_path.glob("tiny/[!.]*"))) == 1
    assert torch.equal(cache.get(["kept"], refuse)["kept"], encoding("kept"))


def test_beyond_the_limit_what_was_used_longest_ago_is_deleted_and_nothing_else(tmp_path, monkeypatch, encode):
    monkeypatch.setenv(LIMIT_VARIABLE, f"{4.5 * BYTES / 1e9:.10f}")
    foreign = tmp_path / "tiny" / "notes.states"
    foreign.parent.mkdir()
    foreign.write_bytes(bytes(1000))
    os.utime(foreign, (0, 0))
    left = tmp_path / "other" / f"{'0' * 32}.x.part"  # by a process that was killed
    left.parent.mkdir()
    left.write_bytes(bytes(BYTES))
    os.utime(left, (1, 1))
    cache = EncodingCache("tiny", tmp_path)
    for now, text in enumerate(["a", "b", "c", "a", "d", "e"]):
        cache.get([text], encode)
        for file in tmp_path.glob("tiny/*.states"):
            if file.stat().st_mtime > 1e9:  # written or read at this step
                os.utime(file, (10 + now, 10 + now))
    assert foreign.exists() and not left.exists()
    assert sum(file.stat().st_size for file in tmp_path.glob("tiny/*.states")) - 1000 <= 4.5 * BYTES
    cache.get(["a", "d", "e"], refuse)
    cache.get(["b"], encode)
    assert encode.texts == ["a", "b", "c", "d", "e", "b"]


def test_a_file_that_another_process_deletes_for_want_of_space_while_it_is_written_ends_no_run(
    tmp_path, monkeypatch, encode
):
    def replace(part, file):
        os.unlink(part)
        raise FileNotFoundError(errno.ENOENT, "No such file", part)

    monkeypatch.setattr(os, "replace", replace)
    found = EncodingCache("tiny", tmp_path).get(["a b"], encode)
    assert torch.equal(found["a b"], encoding("a b"))


@pytest.mark.parametrize("limit", ["much", "0", "-1", "nan"])
def test_a_limit_that_is_no_size_is_refused(limit, tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, limit)
    with pytest.raises(EncodingCacheError, match=LIMIT_VARIABLE):
        EncodingCache("tiny", tmp_path)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path, encode):
    (tmp_path / "taken").write_text("")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(EncodingCacheError, match=rf"taken.*{FOLDER_VARIABLE}"):
            EncodingCache("tiny", folder).get(["lost"], encode)
