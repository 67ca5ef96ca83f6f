"""The profiler: times add up, and backward time belongs to the part that created the graph. The clock is simulated."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks.harness import profiler as profiler_module
from benchmarks.harness.profiler import BACKWARD, Profiler, Watch


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when the test moves it."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(profiler_module, "process_time", lambda: clock.now)
    return clock


def slow(clock, forward, backward):
    """An identity that takes this long forwards and backwards."""

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            clock.now += forward
            return x.clone()

        @staticmethod
        def backward(_, gradient):
            clock.now += backward
            return gradient

    return Slow.apply


def spent(profiler):
    return {part: seconds for part, seconds in profiler.seconds.items() if seconds}


def test_time_belongs_to_the_innermost_part_and_its_phase_to_the_outermost(clock):
    def wait(seconds):
        clock.now += seconds

    def outer():
        wait(2)
        work.inner()
        wait(1)

    work = SimpleNamespace(outer=outer, inner=lambda: wait(5))
    profiler = Profiler()
    with profiler.watching([Watch(work, "outer", "out"), Watch(work, "inner", "in")]):
        work.outer()
        wait(100)
        work.inner()
    assert spent(profiler) == {("out", "out"): 3, ("out", "in"): 5, ("in", "in"): 5}


def test_backward_time_belongs_to_the_part_that_made_the_graph(clock):
    layer = SimpleNamespace(first=slow(clock, 1, 10), second=slow(clock, 2, 20), third=slow(clock, 4, 40))
    layer.both = lambda x: layer.second(layer.first(x))
    watches = [Watch(layer, "both", "both"), Watch(layer, "first", "first")]
    profiler = Profiler()
    x = torch.ones(3, requires_grad=True)
    with profiler.watching(watches):
        for _ in range(2):
            layer.third(layer.both(x)).sum().backward()
    assert spent(profiler) == {
        ("both", "both"): 4,
        ("both", "first"): 2,
        (BACKWARD, "rest"): 80,
        (BACKWARD, "both"): 40,
        (BACKWARD, "first"): 20,
    }


def test_nothing_is_watched_afterwards_and_gradients_are_right():
    module = torch.nn.Linear(2, 1)
    before, x = torch.Tensor.backward, torch.ones(1, 2)
    with Profiler().watching([Watch(module, "forward", "layer")]):
        module(x).sum().backward()
    assert torch.equal(module.weight.grad, x)
    assert "forward" not in vars(module)
    assert torch.Tensor.backward is before
