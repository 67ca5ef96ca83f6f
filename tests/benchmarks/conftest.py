"""A call of the GPU queue, for its tests."""

import pytest

from benchmarks.gpu_queue import __main__ as queue


@pytest.fixture
def call(tmp_path, capsys):
    """Runs the command on a queue; exit code, lines of stdout, and stderr."""

    def run(text, *arguments, out="out"):
        path = tmp_path / "queue.toml"
        path.write_text(text)
        code = queue.main(["--queue", str(path), "--out", str(tmp_path / out), "--device", "cpu", *arguments])
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    return run
