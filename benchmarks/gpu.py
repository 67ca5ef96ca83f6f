"""A GPU, or else the CPU with smaller batches: acting, learning and the whole loop of the papers' sizes, without Ray.

Each team plays and learns in this process: `acting` collects fragments, `learning` makes an update of one of them,
`loop` does both; agent steps a second of wall time, the median of several turns after a warm-up. FurnMove is played in
the 20 rooms of its paper preset. `kitchens_B_numpy` and `kitchens_B_torch` are B kitchens of Overcooked, stepped by
NumPy on the host, or by torch where the network is, and `rooms_B_numpy` and `rooms_B_torch` B rooms of FurnMove with
the paper's network and a minibatch for each 64 of them; `operations` and `bytes` are those of one step in torch, and
bound its rate on any GPU; `memory` is the most that was allocated on a GPU. `_bfloat16` has matrix products in
bfloat16. The largest |ratio - 1| of an update's first minibatch and its share of clipped samples say how far acting and
learning disagree.

`verco` is learning with a bfloat16 model of a billion parameters: FLOPs are 4 x parameters x tokens, since the base is
frozen (2 for the forward pass, 2 for the gradients of its activations), without embeddings and padding. The peak is the
data sheet's for dense bfloat16, or that of one large matrix product for a device without an entry here.
"""

import dataclasses
import functools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks import furnmove, rtfm
from benchmarks.harness import messenger_loop
from benchmarks.harness.clock import median
from benchmarks.harness.measurements import RATIO, Measurement
from benchmarks.harness.world_steps import spread_episodes
from rl_envs.furnmove.world import FurnMove
from rl_envs.overcooked.words import ACTIONS as KITCHEN_ACTIONS
from rl_envs.registry import make
from rl_models.algorithms.objective import CLIP_FRACTION
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.configuration import Precision
from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.llm_config import LoraSettings
from rl_models.llm.shared_base import SharedBase
from rl_models.llm.small_model import train_tokenizer
from rl_models.losses.extra_loss import Statistics
from rl_models.networks.network_config import GridCnnConfig
from rl_models.runtime.device import built_on, chosen_device
from rl_models.teams.grid_cnn_team import grid_cnn_team
from rl_models.training.collector import Collector
from rl_models.training.grouped_collector import GroupedCollector, make_collector, make_groups
from rl_models.training.loop import FIRST_RATIO_ERROR, Learner
from tune_experiments.rtfm.config import RtfmTask

ONLY_IF_NAMED = True
"""`make bench` leaves this part out."""
CLOCK = f"wall time on {chosen_device().type}"
PER_SECOND, FLOPS = "agent steps/s", "FLOP/s"
TURNS, WARM_UP = 10, 3
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "RTX 4090": 165e12}
"""Name of a GPU -> dense bfloat16 FLOP a second by its data sheet."""
TARGETS = {"furnmove_paper": 50_000, "rtfm_simplest": 40_000}
"""Loop -> agent steps a second that it is to reach on a GPU."""
BILLION: dict[str, Any] = {
    "vocab_size": 128_256,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}
SMALL = BILLION | {"vocab_size": 512, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4}
PROMPTS, PROMPT_TOKENS, ACTIONS, ACTION_TOKENS = 64, 200, 8, 4
KITCHENS, KITCHEN_LENGTH = (64, 1024, 8192, 32768), 20
"""Numbers of kitchens on a GPU, and env steps of their fragments."""
ROOMS, MINIBATCH_ROOMS = (64, 256, 1024, 4096), 64
"""Numbers of rooms of FurnMove on a GPU, and rooms of a minibatch."""
_FRAMES = 100_000_000
_PICKED = ("aten.index.", "aten.gather.", "aten.take.", "aten.index_select.")
_WRITTEN_IN_PART = ("aten.index_copy_.", "aten.index_put_.", "aten.scatter_add_.")
PAPERS_ROOMS = functools.partial(FurnMove, rooms="train")
Loop: TypeAlias = tuple[Collector | GroupedCollector, Learner]
"""Collector that plays, and learner of its fragments."""


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")
    on_gpu = chosen_device().type == "cuda"
    print(_where(on_gpu), flush=True)
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    for name, make_loop in loops(on_gpu).items():
        for precision in precisions:
            settings = OptimiserSettings(precision=precision)
            yield from _loop(name if precision == "float32" else f"{name}_bfloat16", make_loop(settings))
    yield from language_model(on_gpu)
    yield from world_speeds()


def _where(on_gpu: bool) -> str:
    if on_gpu:
        return f"on {torch.cuda.get_device_name(0)}"
    return "there is no GPU: everything is measured on the CPU, in smaller batches"


def loops(on_gpu: bool) -> dict[str, Callable[[OptimiserSettings], Loop]]:
    """Name -> what builds collector and learner where networks run."""
    scale = 8 if on_gpu else 1
    simplest = functools.partial(rtfm.StandingStill, 24 * scale, max_episode_steps=20)
    both = {
        f"{name}_{count}_{arrays}": functools.partial(make_loop, count, arrays=arrays)
        for name, counts, make_loop in (("kitchens", KITCHENS, _kitchens), ("rooms", ROOMS, _furnmove))
        for count in (counts if on_gpu else counts[:1])
        for arrays in ("numpy", "torch")
    }
    return both | {
        "furnmove_paper": functools.partial(_furnmove, 32 * scale),
        "furnmove_paper_two_groups": functools.partial(_furnmove, 32 * scale, groups=2),
        "rtfm_simplest": lambda settings: rtfm.impala_loop(simplest(), _rmsprop(settings)),
        "emma_stage1": lambda settings: messenger_loop.training_loop(1, 1.0, 32 * scale, settings),
        "matching_simplest": lambda settings: rtfm.ppo_loop(RtfmTask(), 64, 64 * scale, settings),
    }


def _rmsprop(settings: OptimiserSettings) -> OptimiserSettings:
    """RTFM's optimiser."""
    return dataclasses.replace(rtfm.RMSPROP, precision=settings.precision)


def _furnmove(num_worlds: int, settings: OptimiserSettings, groups: int = 1, arrays: str | None = None) -> Loop:
    objective, make_world = furnmove.cordial_impala(), PAPERS_ROOMS
    if arrays is not None:
        objective = dataclasses.replace(objective, num_minibatches=max(1, num_worlds // MINIBATCH_ROOMS))
        make_world = functools.partial(PAPERS_ROOMS, arrays=arrays, device=_device_for(arrays))
    worlds = make_groups(make_world, num_worlds, 0, groups)
    policy = built_on(chosen_device(), furnmove.team)
    policy.precision = settings.precision
    collector = make_collector(worlds, policy, furnmove.LOOP_LENGTH, objective.needs_values)
    collector.reset(0)
    for world in worlds:
        spread_episodes(world)
    return collector, Learner(policy, objective, settings)


def _device_for(arrays: str) -> str:
    return str(chosen_device()) if arrays == "torch" else "cpu"


def _kitchens(num_worlds: int, settings: OptimiserSettings, arrays: str) -> Loop:
    device = chosen_device()
    world = make("overcooked-v0", num_worlds, arrays=arrays, device=_device_for(arrays))
    planes, height, width = world.observation_spec["lossless"].shape
    policy = built_on(
        device,
        functools.partial(
            grid_cnn_team, GridCnnConfig(), world.num_agents, (planes, height, width), len(KITCHEN_ACTIONS)
        ),
    )
    policy.precision = settings.precision
    objective = Ppo(num_epochs=1, num_minibatches=4)
    collector = make_collector([world], policy, KITCHEN_LENGTH, objective.needs_values)
    collector.reset(0)
    return collector, Learner(policy, objective, settings)


def _loop(name: str, loop: Loop) -> Iterator[Measurement]:
    collector, learner = loop
    if torch.cuda.is_initialized():
        torch.cuda.reset_peak_memory_stats()
    acting, learning = [], []
    statistics: Statistics = {}
    for turn in range(WARM_UP + TURNS):
        fragment, played = _timed(collector.collect)
        statistics, learned = _timed(learner.update, [fragment])
        if turn >= WARM_UP:
            acting.append(fragment.agent_steps() / played)
            learning.append(fragment.agent_steps() / learned)
    whole = [1 / (1 / one + 1 / other) for one, other in zip(acting, learning, strict=True)]
    if torch.cuda.is_initialized():
        yield Measurement(f"gpu.{name}.memory", torch.cuda.max_memory_allocated(), "bytes")
    if name.endswith("torch"):
        traffic, steps = _traffic(collector)
        yield Measurement(f"gpu.{name}.operations", traffic.operations / steps, "operations")
        yield Measurement(f"gpu.{name}.bytes", traffic.bytes / steps, "bytes")
    for part, rates in (("acting", acting), ("learning", learning), ("loop", whole)):
        yield Measurement(f"gpu.{name}.{part}", median(rates), PER_SECOND)
    if target := TARGETS.get(name.removesuffix("_bfloat16")):
        yield Measurement(f"gpu.{name}.loop_of_target", median(whole) / target, RATIO)
    if name.startswith("rtfm_simplest"):
        hours = _FRAMES / collector.policy.num_agents / median(whole) / 3600
        yield Measurement(f"gpu.{name}.hours_for_100_million_frames_extrapolated", hours, "h")
    largest = float(statistics[FIRST_RATIO_ERROR])
    yield Measurement(f"gpu.{name}.first_ratio_error", largest, RATIO)
    if CLIP_FRACTION in statistics:
        yield Measurement(f"gpu.{name}.clip_fraction", float(statistics[CLIP_FRACTION]), RATIO)


class Traffic(TorchDispatchMode):
    """Counts the operations on tensors (each a kernel at least) and the `bytes` of their inputs and outputs.

    Views cost nothing. Where an operation reads or writes entries of a tensor, these count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operation, and count it."""
        result = function(*args, **(kwargs or {}))
        inputs, outputs = (
            [one for one in tree_leaves(some) if isinstance(one, Tensor)] for some in ((args, kwargs), result)
        )
        writes = any(one.alias_info and one.alias_info.is_write for one in function._schema.arguments)
        places = {one.data_ptr() for one in inputs}
        if not writes and all(one.data_ptr() in places for one in outputs):
            return result
        name = str(function)
        if name.startswith(_WRITTEN_IN_PART):
            inputs, outputs = inputs[1:], inputs[1:]
        elif name.startswith(_PICKED):
            inputs = [*inputs[1:], *outputs]
        self.operations += 1
        self.bytes += sum(one.nbytes for one in [*inputs, *outputs])
        return result


def _traffic(collector: Any) -> tuple[Traffic, int]:
    """Traffic of a fragment, and its env steps; without a graph, whose operations cannot be seen."""
    if collector.graphed is not None:
        collector.graphed.never = True
    with torch.no_grad(), Traffic() as traffic:
        fragment = collector.collect()
    return traffic, fragment.steps["reward"].shape[1]


def language_model(on_gpu: bool) -> Iterator[Measurement]:
    """Scores of actions after prompts and their gradients, as in an update of a language team."""
    language = _language(BILLION if on_gpu else SMALL)
    base, random = language.base, np.random.default_rng(0)
    rows = PROMPTS if on_gpu else 4
    prompts = [_ids(random, PROMPT_TOKENS) for _ in range(rows)]
    candidates = [tuple(_ids(random, ACTION_TOKENS) for _ in range(ACTIONS)) for _ in range(rows)]
    tokens = rows * (PROMPT_TOKENS + ACTIONS * ACTION_TOKENS)

    def learn() -> None:
        language.zero_grad(set_to_none=True)
        language.score("action", prompts, candidates).log_probs.sum().backward()

    seconds = [_timed(learn)[1] for _ in range(WARM_UP + TURNS)][WARM_UP:]
    embeddings = {id(base.get_input_embeddings().weight), id(base.get_output_embeddings().weight)}
    bare = [(name, weight) for name, weight in base.named_parameters() if id(weight) not in embeddings]
    parameters = sum(weight.numel() for name, weight in bare if "lora_" not in name)
    rate, peak = 4 * parameters * tokens / median(seconds), peak_flops()
    yield Measurement("gpu.verco.parameters_without_embeddings", parameters, "parameters")
    yield Measurement("gpu.verco.learning_tokens", tokens / median(seconds), "tokens/s")
    yield Measurement("gpu.verco.learning", rate, FLOPS)
    yield Measurement("gpu.verco.bfloat16_peak", peak, FLOPS)
    yield Measurement("gpu.verco.learning_of_peak", rate / peak, RATIO)


def _language(shape: dict[str, Any]) -> AdaptedModel:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    device = chosen_device()
    with torch.device(device):
        base: Any = LlamaForCausalLM(LlamaConfig(**shape, tie_word_embeddings=True))
    shared = SharedBase(base.to(torch.bfloat16).eval().requires_grad_(False), train_tokenizer(["a b"], 300))
    return AdaptedModel(shared, LoraSettings()).to(device)


def _ids(random: np.random.Generator, number: int) -> tuple[int, ...]:
    return tuple(random.integers(3, 300, number).tolist())


def peak_flops() -> float:
    """Dense bfloat16 FLOP a second of the device."""
    device = chosen_device()
    if device.type == "cuda":
        name = torch.cuda.get_device_name(0)
        for part, peak in PEAKS.items():
            if part in name:
                return peak
    side = 8192 if device.type == "cuda" else 512
    one = torch.randn(side, side, device=device, dtype=torch.bfloat16)
    seconds = [_timed(torch.matmul, one, one)[1] for _ in range(WARM_UP + TURNS)][WARM_UP:]
    return 2 * side**3 / min(seconds)


def world_speeds() -> Iterator[Measurement]:
    """FurnMove stepped with random actions, one process per core."""
    cores = os.cpu_count() or 1
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        rates = pool.map(_world_rate, range(cores))
    yield Measurement("gpu.worlds_on_all_cores", sum(rates), PER_SECOND)
    yield Measurement("gpu.worlds_on_all_cores.cores", cores, "cores")


def _world_rate(number: int) -> float:
    """Agent steps a second of one process."""
    world = PAPERS_ROOMS(256, first_world=256 * number)
    choose, seen = furnmove.chooser(world), world.reset(0)
    start, steps = perf_counter(), 0
    while perf_counter() - start < 2.0:
        seen = world.step(choose(seen))[0]
        steps += 1
    return steps * world.num_worlds * world.num_agents / (perf_counter() - start)


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Result and wall seconds, the device's work included."""
    _wait()
    start = perf_counter()
    result = work(*arguments)
    _wait()
    return result, perf_counter() - start


def _wait() -> None:
    if chosen_device().type == "cuda":
        torch.cuda.synchronize()
