"""Untrusted JSON files: what cannot be read or written is refused in one sentence."""

import json

import pytest

from rl_envs.core.json_file import JsonFileError, read_object, write_object

FAULTS = {
    "not json": (b"{", "line 1, column 2"),
    "not text": (b"\xff\xfe\x00", "JSON"),
    "endless nesting": (b"[" * 100_000, "JSON"),
    "a number without end": (b'{"a": ' + b"9" * 6_000 + b"}", "JSON"),
    "no object": (b"[]", "formats.md"),
    "a key twice": (b'{"a": {"b": 1, "b": 2}}', "'b'"),
    "too large": (b" " * 200_000, "150000 bytes"),
}


@pytest.mark.parametrize(("content", "words"), FAULTS.values(), ids=FAULTS)
def test_a_bad_file_is_refused(tmp_path, content, words):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(JsonFileError, match=words):
        read_object(path, 150_000, "formats.md")


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "absent.json"):
        with pytest.raises(JsonFileError, match="read"):
            read_object(path, 10, "formats.md")
    with pytest.raises(JsonFileError, match="10 bytes"):
        read_object("/dev/zero", 10, "formats.md")


def test_a_written_object_is_read_back(tmp_path):
    path = tmp_path / "file.json"
    write_object(path, {"a": [1, "ü"]})
    assert read_object(path, 100, "formats.md") == json.loads(path.read_text()) == {"a": [1, "ü"]}
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_takes_no_file_is_refused(tmp_path):
    (tmp_path / "folder.json").mkdir()
    for path in (tmp_path / "folder.json", tmp_path / "absent" / "file.json"):
        with pytest.raises(JsonFileError, match=r"written .*folder"):
            write_object(path, {})
    assert [found.name for found in tmp_path.iterdir()] == ["folder.json"]
