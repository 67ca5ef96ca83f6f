"""Default models: learned from a corpus, kept by content, whole or not there."""

import dataclasses
import subprocess
import sys

import pytest
import torch

from rl_models.llm import model_cache
from rl_models.llm.base_model import LanguageModelError, load_base_model
from rl_models.llm.model_cache import small_model
from rl_models.llm.small_model import write_small_model
from tests.rl_models.llm.small import SMALL, corpus

TINY = dataclasses.replace(SMALL, steps=3)


def test_a_model_is_trained_once(tmp_path, monkeypatch):
    first = small_model(corpus, TINY, tmp_path)
    monkeypatch.setattr(model_cache, "write_small_model", None)
    assert small_model(corpus, TINY, tmp_path) == first
    assert {file.name for file in first.iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}


def test_another_corpus_or_form_is_another_model(tmp_path):
    folders = {
        small_model(lambda: [("a", "b"), ("b", "c")], TINY, tmp_path),
        small_model(lambda: [("a", "b"), ("b", "d")], TINY, tmp_path),
        small_model(lambda: [("a", "b"), ("b", "c")], dataclasses.replace(TINY, width=16), tmp_path),
    }
    assert len(folders) == 3


def test_the_same_corpus_gives_the_same_weights(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        torch.manual_seed(number)
        write_small_model(folder, list(corpus()), TINY)
    contents = [(folder / "model.safetensors").read_bytes() for folder in folders]
    assert contents[0] == contents[1]
    assert len({(folder / "tokenizer.json").read_bytes() for folder in folders}) == 1


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    def fails(folder, texts, settings):
        (folder / "config.json").write_text("{}")
        raise RuntimeError("the power is out")

    monkeypatch.setattr(model_cache, "write_small_model", fails)
    with pytest.raises(RuntimeError, match="power"):
        small_model(corpus, TINY, tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]
    monkeypatch.undo()
    assert small_model(corpus, TINY, tmp_path).is_dir()


PROCESS = """
import fcntl
import sys
from pathlib import Path
from rl_models.llm import model_cache
from rl_models.llm.llm_config import SmallModelSettings

def stands_in(folder, pairs, settings):
    (folder / "weights").write_text("half of them")
    print("begun", flush=True)
    sys.stdin.readline()
    (folder / "weights").write_text("all of them")

def told(*arguments, flock=fcntl.flock):
    print("waits", flush=True)
    flock(*arguments)

fcntl.flock = told
model_cache.write_small_model = stands_in
print(model_cache.small_model(lambda: [("a", "b")], SmallModelSettings(), Path(sys.argv[1])), flush=True)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_of_processes_that_want_one_model_one_makes_it_and_the_next_takes_over_if_that_is_killed(tmp_path):
    command = [sys.executable, "-c", PROCESS, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    one = subprocess.Popen(command, **pipes)
    until_said(one, "begun")
    others = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for other in others:
        until_said(other, "waits")
    one.kill()
    one.communicate()
    for other in others:  # whoever takes over needs the word, and the last to get the lock waits for its end
        other.stdin.write("go on\n")
        other.stdin.flush()
    endings = [other.communicate()[0] for other in others]
    assert [other.returncode for other in others] == [0, 0]
    assert sorted("begun" in ending.splitlines() for ending in endings) == [False, True]
    (place,) = (path for path in tmp_path.iterdir() if path.suffix != ".lock")
    assert {ending.splitlines()[-1] for ending in endings} == {str(place)}
    assert (place / "weights").read_text() == "all of them"


def until_said(process, word):
    assert any(line == f"{word}\n" for line in process.stdout), "it ended before"


def test_the_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("CONCORD_LANGUAGE_MODELS", str(tmp_path / "here"))
    assert small_model(corpus, TINY).parent == tmp_path / "here"
    (tmp_path / "file").touch()
    monkeypatch.setenv("CONCORD_LANGUAGE_MODELS", str(tmp_path / "file"))
    with pytest.raises(LanguageModelError, match="CONCORD_LANGUAGE_MODELS"):
        small_model(corpus, TINY)


@pytest.mark.long
def test_it_learns_the_corpus(tmp_path):
    """From the entropy of the vocabulary to well under a third of it in 50 steps."""
    loss = write_small_model(tmp_path, list(corpus()), dataclasses.replace(SMALL, steps=50))
    assert loss < 0.3 * torch.tensor(SMALL.vocabulary).log()


def test_every_text_comes_back_from_its_tokens(tmp_path):
    _, tokenizer = load_base_model(str(small_model(corpus, TINY, tmp_path)))
    for text in (*map(" ".join, list(corpus())[:5]), " odd  spaces ", "naïve 猫, 1/2!"):
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text
