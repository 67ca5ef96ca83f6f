"""The benchmark of a GPU runs where there is none, in smaller batches, and is left out of `make bench`."""

from types import SimpleNamespace

import numpy as np
import pytest

import benchmarks
from benchmarks import __main__ as command
from benchmarks import gpu
from benchmarks.harness.measurements import Measurement, load_parts


@pytest.mark.long
def test_flops_of_learning_are_four_for_each_parameter_and_token(monkeypatch):
    for name, value in {"TURNS": 1, "WARM_UP": 0, "PROMPT_TOKENS": 10}.items():
        monkeypatch.setattr(gpu, name, value)
    monkeypatch.setattr(gpu, "SMALL", gpu.SMALL | {"hidden_size": 64, "num_attention_heads": 8})
    monkeypatch.setattr(gpu, "peak_flops", lambda: 1e9)
    found = {one.name: one.value for one in gpu.language_model(on_gpu=False)}
    per_token = found["gpu.verco.learning"] / found["gpu.verco.learning_tokens"]
    np.testing.assert_allclose(per_token, 4 * found["gpu.verco.parameters_without_embeddings"])
    np.testing.assert_allclose(found["gpu.verco.learning_of_peak"], found["gpu.verco.learning"] / 1e9)
    layer = 64 * 64 + 2 * 64 * 64 + 64 * 64 + 3 * 64 * 512 + 2 * 64  # q, k and v, o, feed-forward, norms
    assert found["gpu.verco.parameters_without_embeddings"] == 4 * layer + 64


def test_parts_that_take_hours_or_want_a_gpu_run_only_when_they_are_named(monkeypatch, tmp_path, capsys):
    def part(name, **attributes):
        measured = [Measurement(f"{name}.us", 1.0, "us")]
        return SimpleNamespace(__name__=f"benchmarks.{name}", measure=lambda: measured, **attributes)

    parts = [part("one"), part("two", ONLY_IF_NAMED=True)]
    monkeypatch.setattr(command, "load_parts", lambda package, names: parts if len(names) > 1 else parts[1:])
    assert command.main(["--out", str(tmp_path / "all.jsonl")]) == 0
    assert "two" not in (tmp_path / "all.jsonl").read_text()
    assert command.main(["--only", "two", "--out", str(tmp_path / "two.jsonl")]) == 0
    assert "two" in (tmp_path / "two.jsonl").read_text()
    named = {part.__name__.partition(".")[2] for part in load_parts(benchmarks, ["gpu", "time_to_result"])}
    assert named == {"gpu", "time_to_result"}
    assert all(part.ONLY_IF_NAMED for part in load_parts(benchmarks, sorted(named)))
