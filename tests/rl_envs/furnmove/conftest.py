"""A file of a room or of starts, as its test writes it."""

import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Write bytes, or anything else as JSON, into a file; returns its path."""

    def _write(content):
        path = tmp_path / "file.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return _write
