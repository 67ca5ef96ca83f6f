"""What a GPU replays is what the function would compute: with new inputs, weights, gradients and schedules.

Where there is no GPU, `Played` stands for a CUDA graph: like one it computes nothing while it captures, and then reads
and writes at the same addresses. The same tests run on a GPU where there is one.
"""

import contextvars
import functools

import pytest
import torch

from rl_models.policy import fixed_weights
from rl_models.runtime import cuda_graph
from rl_models.runtime import device as devices
from rl_models.runtime.cuda_graph import Graphed
from rl_models.runtime.fixed_weights import CachedByWeights
from rl_models.schedule import Progress, Schedule

ON_A_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_A_GPU else "cpu")


class Played:
    """A capture on the CPU."""

    def __init__(self, work, device):
        self._work, self._context = work, contextvars.copy_context()  # schedules are read here as they were then
        self._grad, self._inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        self.outputs = work()
        self._kept = self._left()
        for value in (*self._tensors(self.outputs), *self._kept):
            if value.ndim:  # a scalar can be where a schedule's value stands
                value.fill_(1 if value.dtype == torch.bool else 77)  # nothing was computed yet

    def _left(self):
        return [weight.grad for weight in Watched.weights if weight.grad is not None]

    @staticmethod
    def _tensors(outputs):
        return [value for value in outputs.values() if isinstance(value, torch.Tensor)]

    def replay(self):
        for weight in Watched.weights:
            weight.grad = None
        with torch.set_grad_enabled(self._grad):
            found = self._context.run(self._work)
        with torch.no_grad():
            for value, new in zip(self._tensors(self.outputs), self._tensors(found), strict=True):
                value.copy_(new)
            for value, new in zip(self._kept, self._left(), strict=True):
                value.copy_(new)


class Watched:
    """Whose gradients a capture leaves."""

    weights: tuple = ()


@pytest.fixture
def capturing(monkeypatch):
    """Functions are captured; yields how often."""
    made = []
    if ON_A_GPU:
        real = cuda_graph.Capture

        def counted(*arguments):
            made.append(1)
            return real(*arguments)

        monkeypatch.setattr(cuda_graph, "Capture", counted)
        return made

    def played(*arguments):
        made.append(1)
        return Played(*arguments)

    monkeypatch.setattr(devices, "can_capture", lambda device: True)
    monkeypatch.setattr(cuda_graph, "Capture", played)
    monkeypatch.setattr(Watched, "weights", ())
    return made


def graphed(function, *weights, leaves_gradients=False):
    """A function of inputs and weights, as a GPU replays it."""
    one = Graphed(torch.nn.ParameterList(weights), leaves_gradients)
    one.refresh_weights(DEVICE)
    return functools.partial(one, function)


def weight_of(value):
    return torch.nn.Parameter(torch.tensor([float(value)], device=DEVICE))


def learning(monkeypatch, *weights):
    """A function that leaves gradients in weights, as a GPU replays it."""

    def learn(inputs):
        loss = (sum(weights) * inputs["x"]).square().sum()
        loss.backward()
        return {"loss": loss.detach()}

    monkeypatch.setattr(Watched, "weights", weights)
    return graphed(learn, *weights, leaves_gradients=True)


def at(*numbers):
    return {"x": torch.tensor(numbers, dtype=torch.float32, device=DEVICE)}


def test_a_capture_is_made_at_the_third_call_and_follows_inputs_and_weights(capturing):
    weight = weight_of(2)
    scaled = graphed(lambda inputs: {"y": inputs["x"] * weight.detach()}, weight)
    found = []
    for number in range(5):
        found.append(scaled(at(number, 10))["y"])
        with torch.no_grad():
            weight.add_(1)
    assert [one.tolist() for one in found] == [[0, 20], [3, 30], [8, 40], [15, 50], [24, 60]]
    assert len(capturing) == 1


def test_inputs_of_shapes_that_never_recur_are_not_watched(capturing, monkeypatch):
    monkeypatch.setattr(cuda_graph, "Watch", lambda: pytest.fail("watched"))
    double = graphed(lambda inputs: {"y": 2 * inputs["x"]}, weight_of(1))
    for length in range(1, 9):
        assert double(at(*range(length)))["y"].tolist() == [2 * number for number in range(length)]
    assert not capturing


def test_a_function_that_asks_for_some_shapes_alone_is_not_captured_with_these(capturing):
    def ask(inputs):
        return {"y": inputs["x"] * (len(inputs["x"].nonzero()) if len(inputs["x"]) == 3 else 1)}

    asking = graphed(ask, weight_of(1))
    for _ in range(3):
        assert asking(at(1, 2))["y"].tolist() == [1, 2]
    for _ in range(4):
        assert asking(at(0, 1, 2))["y"].tolist() == [0, 2, 4]
    assert len(capturing) == 1


def test_a_hidden_copy_of_torch_is_noticed_by_the_operation_after_it():
    with cuda_graph.Watch() as watch:
        torch.ops.aten.lift_fresh(torch.empty(2, device="meta"))
    assert watch.waits
    with cuda_graph.Watch() as watch:
        torch.ops.aten.lift_fresh(torch.empty(2))
    assert not watch.waits


def test_weights_that_moved_to_other_addresses_are_captured_anew(capturing):
    weight = weight_of(2)
    scaled = graphed(lambda inputs: {"y": inputs["x"] * weight.detach()}, weight)
    for _ in range(3):
        assert scaled(at(3))["y"].tolist() == [6]
    weight.data = torch.full_like(weight.data, 5)
    scaled.func.refresh_weights(DEVICE)
    for _ in range(3):
        assert scaled(at(3))["y"].tolist() == [15]
    assert len(capturing) == 2


def test_a_weight_that_was_frozen_is_captured_anew(capturing, monkeypatch):
    weight, other = weight_of(3), weight_of(1)
    learned = learning(monkeypatch, weight, other)
    for is_frozen in (False, True):
        weight.requires_grad_(not is_frozen)
        learned.func.refresh_weights(DEVICE)
        for number in (1.0, 2.0, 3.0):
            weight.grad = other.grad = None
            learned(at(number))
            assert (weight.grad is None) == is_frozen
            assert other.grad.item() == 8 * number**2
    assert len(capturing) == 2


def test_another_precision_is_captured_anew(capturing):
    module = torch.nn.Linear(1, 1, device=DEVICE)
    one = Graphed(module, leaves_gradients=False)

    def scaled(inputs):
        return {"y": inputs["x"] * (2 if module.precision == "bfloat16" else 1)}

    for precision, factor in (("float32", 1), ("bfloat16", 2)):
        module.precision = precision
        one.refresh_weights(DEVICE)
        assert [one(scaled, at(3))["y"].item() for _ in range(3)] == [3 * factor] * 3
    assert len(capturing) == 2


def decides(schedule, progress, other):
    """The coefficient, or `other` where the schedule's value is 0."""
    return other if schedule.is_zero(progress) else schedule.coefficient(progress)


FALLING, RISING = Schedule.linear(2.0, 0.0, 10), Schedule.linear(1.0, 2.0, 10)
WEIGHINGS = {
    "coefficient": (RISING.coefficient, [(0, 1), (1, 1.1), (5, 1.5), (10, 2), (5, 1.5)], 1),
    "points in lists": (Schedule([[0, 1.0], [10, 0.0]]).coefficient, [(0, 1), (5, 0.5)], 0),
    "read as a number": (RISING.at, [(0, 1), (0, 1), (0, 1), (5, 1.5), (5, 1.5), (5, 1.5), (0, 1)], 2),
    "decides": (lambda p: decides(FALLING, p, -1), [(0, 2), (5, 1), (5, 1), (10, -1), (10, -1), (10, -1), (0, 2)], 2),
    "begins to count": (
        lambda p: decides(Schedule(((0, 0.0), (5, 0.0), (10, 5.0))), p, 1),
        [(0, 1), (1, 1), (2, 1), (6, 1), (7, 2), (8, 3), (10, 5)],
        2,
    ),
    "counts of training": (lambda p: 1 - p.observed().env_steps / 10, [(0, 1), (2, 0.8), (4, 0.6), (6, 0.4)], 0),
}
"""Factor by progress -> its values by env steps, and how many captures follow them."""


@pytest.mark.parametrize("name", WEIGHINGS)
def test_captures_follow_what_depends_on_training(capturing, name):
    factor, values, captures = WEIGHINGS[name]
    progress, found = Progress(), []
    weighed = graphed(lambda inputs: {"y": inputs["x"] * factor(progress), "factor": factor(progress)}, weight_of(1))
    for env_steps, _ in values:
        progress.env_steps = env_steps
        found.append(weighed(at(4), progress))
    assert [float(one["y"]) for one in found] == pytest.approx([4 * value for _, value in values])
    assert [float(one["factor"]) for one in found] == pytest.approx([value for _, value in values])
    assert len(capturing) == captures


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x * float(x.sum()),
        lambda x: x * len(x.nonzero()),
        lambda x: x * len(x[x > 0]),
        lambda x: x * len(x.unique()),
    ],
    ids=["number", "nonzero", "mask", "unique"],
)
@pytest.mark.parametrize("inference", [False, True])
def test_a_function_that_waits_for_a_value_is_never_captured(capturing, ask, inference):
    asking = graphed(lambda inputs: {"y": ask(inputs["x"])}, weight_of(1))
    with torch.inference_mode(inference):
        for number in (1.0, 2.0, 3.0):
            assert asking(at(number))["y"].tolist() == ask(at(number)["x"]).tolist()
    assert not capturing


def test_gradients_of_a_capture_are_those_of_its_inputs(capturing, monkeypatch):
    weight = weight_of(3)
    learned = learning(monkeypatch, weight)
    for number in (1.0, 2.0, 3.0, 4.0):
        weight.grad = None
        assert learned(at(number))["loss"].item() == 9 * number**2
        assert weight.grad.item() == 6 * number**2
        weight.grad.mul_(0)  # as clipping does, in place
    assert len(capturing) == 1


def test_a_function_runs_without_a_capture_where_the_driver_refuses(capturing, monkeypatch):
    def refuse(*arguments):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(cuda_graph, "Capture", refuse)
    double = graphed(lambda inputs: {"y": 2 * inputs["x"]}, weight_of(1))
    assert [double(at(number))["y"].item() for number in range(4)] == [0, 2, 4, 6]


def test_what_depends_on_weights_alone_is_computed_within_a_capture(capturing):
    weight, cache = weight_of(1), CachedByWeights()

    def table(inputs):
        return {"y": inputs["x"] + cache.get([weight], lambda: 10 * weight.detach())}

    with torch.inference_mode():
        read = graphed(table, weight)
        for number in range(4):
            with fixed_weights():
                assert read(at(number))["y"].tolist() == [number + 10 * (number + 1)]
            weight.data.add_(1)
    assert len(capturing) == 1
