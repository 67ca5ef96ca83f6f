"""A set GOLDEN_DIR is replayed, or it is told what of it is not: each rule on made-up folders and on tests of ours."""

import shutil
from pathlib import Path

import pytest

from tests.golden.cases import OWN

HERE = Path(__file__).parent
REPLAY = """
import pytest
from tests.golden.cases import own_or_golden, worlds_without_an_engine

@pytest.mark.parametrize("path", own_or_golden("*.npz", "salad"))
def test_replay_of_salad(path):
    assert path.is_file()

@pytest.mark.parametrize("path", own_or_golden("*.npz", "overcooked"))
def test_replay_of_overcooked(path):
    assert path.is_file()

@pytest.mark.parametrize("path", worlds_without_an_engine())
def test_other_worlds(path):
    assert False
"""
pytest_plugins = "pytester"


@pytest.fixture
def golden(tmp_path, monkeypatch):
    """A GOLDEN_DIR with one recording, of one world, and the folder of a world that nobody knows."""
    folder = tmp_path / "golden"
    for world in ("salad", "chess"):
        (folder / world).mkdir(parents=True)
    shutil.copy(OWN / "salad" / "mapC_tomato_tomato.npz", folder / "salad" / "another_kitchen.npz")
    (folder / "salad" / "README.md").touch()
    monkeypatch.setenv("GOLDEN_DIR", str(folder))
    return folder


@pytest.fixture
def replay(pytester):
    """`replay(words)`: pytest on tests that only look at the files, under the rules of this folder."""
    pytester.makeconftest((HERE / "conftest.py").read_text())
    pytester.makepyfile(REPLAY)
    return lambda *words: pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rA", *words)


def own(world):
    return len(list((OWN / world).iterdir()))


def test_worlds_that_cannot_be_replayed_are_skipped_by_name(golden, replay):
    result = replay()
    result.assert_outcomes(passed=own("salad") + 1 + own("overcooked"), skipped=2)
    result.stdout.fnmatch_lines(
        [
            f"SKIPPED*GOLDEN_DIR={golden} holds no folder overcooked",
            f"SKIPPED*GOLDEN_DIR={golden} holds a folder chess, and no engine here replays it",
        ]
    )


def test_a_folder_that_is_not_there_is_a_failure(golden, replay):
    shutil.rmtree(golden)
    result = replay()
    assert result.ret != 0
    result.stdout.fnmatch_lines([f"*GOLDEN_DIR={golden} is not a folder: correct it, or unset it"])


def test_a_folder_in_which_nothing_can_be_replayed_is_a_failure(golden, replay):
    shutil.rmtree(golden / "salad")
    result = replay()
    result.assert_outcomes(errors=own("salad") + own("overcooked"), skipped=3)
    result.stdout.fnmatch_lines([f"*nothing in GOLDEN_DIR={golden} is replayed by the tests that were asked for"])


@pytest.mark.parametrize("file", ["README.md", "recording.jsonl"])
def test_a_worlds_folder_without_a_file_of_its_schema_or_with_another_is_a_failure(golden, replay, file):
    if file == "README.md":
        (golden / "salad" / "another_kitchen.npz").unlink()
    (golden / "salad" / file).touch()
    result = replay()
    assert result.ret != 0
    found = "no recording" if file == "README.md" else file
    result.stdout.fnmatch_lines([f"*GOLDEN_DIR: {golden / 'salad'} holds {found}; its files are called [*].npz"])
