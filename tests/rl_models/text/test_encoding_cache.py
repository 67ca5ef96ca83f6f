"""Encodings on disk: all processes find them, files are whole, and loading a file runs no code."""

import multiprocessing
import os

import pytest
import torch

from rl_models.text.frozen import EncodingCache, EncodingCacheError


def encoding(sentence):
    """Something that only this sentence has."""
    generator = torch.Generator().manual_seed(len(sentence) * 1000 + sum(map(ord, sentence)))
    return torch.randn(len(sentence.split()), 3, generator=generator)


def batch(*sentences):
    return {sentence: encoding(sentence) for sentence in sentences}


def assert_found(cache, *sentences):
    found = cache.find(sentences)
    assert found.keys() == set(sentences)
    for sentence, value in found.items():
        assert torch.equal(value, encoding(sentence))


def test_what_one_cache_writes_every_other_finds(tmp_path):
    one, other = EncodingCache(tmp_path / "new"), EncodingCache(tmp_path / "new")
    assert one.find(["a b"]) == {}
    one.add(batch("a b", "c"))
    other.add(batch("d e f"))
    for cache in (one, other, EncodingCache(tmp_path / "new")):
        assert_found(cache, "a b", "c", "d e f")
        assert cache.find(["unheard of"]) == {}


def write_many(folder, first):
    cache = EncodingCache(folder)
    for number in range(first, first + 20):
        cache.add(batch(*(f"sentence {number} {place}" for place in range(3))))


@pytest.mark.processes
def test_processes_may_write_the_same_and_different_batches_at_once(tmp_path):
    """Two write the same 20 batches, a third 20 others of which half are the same."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=write_many, args=(tmp_path, first)) for first in (0, 0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert_found(EncodingCache(tmp_path), *(f"sentence {number} {place}" for number in range(30) for place in range(3)))
    assert len(list(tmp_path.iterdir())) == 30


def test_a_crash_while_writing_leaves_nothing(tmp_path, monkeypatch):
    cache = EncodingCache(tmp_path)
    cache.add(batch("kept"))

    def crash(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(EncodingCacheError, match="disk is full"):
        cache.add(batch("lost"))
    assert len(list(tmp_path.iterdir())) == 1
    assert_found(EncodingCache(tmp_path), "kept")


def test_what_a_killed_process_left_is_not_looked_at(tmp_path):
    EncodingCache(tmp_path).add(batch("kept"))
    (tmp_path / ".half.part").write_bytes(b"\x10")
    assert_found(EncodingCache(tmp_path), "kept")


def test_a_damaged_file_is_named_and_nothing_else_is_lost(tmp_path):
    EncodingCache(tmp_path).add(batch("kept"))
    (tmp_path / "damaged.safetensors").write_bytes(b"\x80\x04cposix\nsystem\n")
    with pytest.raises(ValueError, match=r"damaged\.safetensors"):
        EncodingCache(tmp_path).find(["kept"])
    (tmp_path / "damaged.safetensors").unlink()
    assert_found(EncodingCache(tmp_path), "kept")


def test_a_file_that_was_cut_off_is_named(tmp_path):
    EncodingCache(tmp_path).add(batch("kept", "a b c"))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(EncodingCacheError, match=rf"{file.name}.*delete it, and its sentences are encoded again"):
        EncodingCache(tmp_path).find(["kept"])


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "taken").write_text("")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(EncodingCacheError, match=r"taken.*CONCORD_ENCODINGS"):
            EncodingCache(folder).add(batch("lost"))
