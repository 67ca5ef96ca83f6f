"""Output of `concord envs` and `concord methods`: one line for each environment and each method."""

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence

from rl_envs import WORLDS, World, make
from rl_models.networks.network_needs import NETWORKS
from tune_experiments.run.environment_probe import describe_part

_END_OF_TITLE = re.compile(r"\s*\(|[.:](?:\s|$)")
_OTHERS = (
    "others, by name: a PettingZoo module, such as mpe2.simple_spread_v3; gymnasium:ID, such as gymnasium:CartPole-v1;",
    "package.module:function that builds a PettingZoo or Gymnasium environment; or package.module:Class of a World",
)

_TEAM = "a team reward that is not always 0"
_SYNC = "agents that exchange messages and sample one of {} product policies jointly (A Cordial Sync)"
_LISTED = "Discrete actions"
_SETS = f"{_TEAM}, {_LISTED}, sets of coordinated joint actions, and agents that all act at every env step"
_VALUES = f"{_TEAM}, {_LISTED}, and agents that all act at every env step"
_ENTITIES = f"{_LISTED}, entities, and several agents"
_WORDS = f"{_LISTED}, texts, and action_texts"
METHODS: dict[str, tuple[str, ...]] = {
    "ippo": ("agents that share a network, with a value function of the agent's own observation",),
    "mappo": ("ippo with a value function of all agents' observations (Yu et al., 2022)",),
    "commnet": ("agents that communicate by averaging their hidden states (Sukhbaatar et al., 2016)",),
    "tbone": ("agents that exchange messages, with an LSTM (A Cordial Sync)",),
    "qmix": ("Q-learning with a mixing network (Rashid et al., 2018)", _VALUES),
    "vdn": ("Q-learning with summed values (Sunehag et al., 2018)", _VALUES),
    **{f"sync_{number}": (_SYNC.format(number), _TEAM) for number in (2, 4, 8)},
    **{f"sync_{number}_cordial": (f"sync_{number} with the CORDIAL loss", _SETS) for number in (2, 4, 8)},
    "endi_dis": ("ippo whose agents divide entities among themselves (EnDi)", _ENTITIES),
    "lora": ("a language model with an adapter that chooses among phrases", _WORDS),
    "lora_blind": ("lora without the texts, as a baseline", _WORDS),
}
"""Name of a method -> its description, and its requirements on an environment if it has any."""


def environment_lines() -> Iterator[str]:
    """Lines on the environments of this package and on names of others."""
    width = max(map(len, WORLDS)) + 2
    for name in sorted(WORLDS):
        yield f"{name:{width}}{_about(make(name))}"
    yield from ("", *_OTHERS)


def describe_environments(names: Sequence[str]) -> Iterator[str]:
    """Task, success and tables of some environments of this package; ValueError for an unknown name."""
    for name in names:
        world = make(name)
        yield from (f"{name}: {_about(world)}", "", *textwrap.wrap(world.story, 100), "")
        document = inspect.getdoc(inspect.getmodule(type(world))) or ""
        rows = [line.strip("| ").split(" | ", 1) for line in document.splitlines() if line.startswith("| ")]
        for title, text in (row for row in rows if len(row) == 2):
            yield from textwrap.wrap(text, 100, initial_indent=f"{title}: ", subsequent_indent="    ")


def _about(world: World) -> str:
    title = (inspect.getdoc(inspect.getmodule(type(world))) or "").splitlines()[:1] or [type(world).__name__]
    agents = f"{world.num_agents} agent{'s' * (world.num_agents > 1)}"
    actions = world.action_spec
    many = f"{actions} actions"
    if isinstance(actions, dict):
        shown = [f"{name} {describe_part(part)}" for name, part in [*actions.items()][:3]]
        many = f"actions of {len(actions)} parts ({', '.join(shown)}{', ...' * (len(actions) > 3)})"
    arrays = [f"{key} {list(spec.shape) or ''}".strip() for key, spec in world.observation_spec.items()]
    keys = [*arrays, *(f"{key} (text)" for key in world.text_spec)]
    more = [f"and {len(keys) - 5} more"] if len(keys) > 6 else []
    return f"{_END_OF_TITLE.split(title[0])[0]}; {agents}, {many}; {', '.join([*keys[: 5 if more else 6], *more])}"


def method_lines() -> Iterator[str]:
    """Lines on the methods and the networks."""
    width = max(map(len, METHODS)) + 2
    for name, (summary, *needs) in METHODS.items():
        yield f"{name:{width}}{summary}{f'; needs {needs[0]}' if needs else ''}"
    yield from ("", "networks, --network NAME:")
    for network_name, network in NETWORKS.items():
        more = " of two sentences or more" if network.sentences > 1 else ""
        yield f"{network_name:{width}}{network.summary}{f'; needs {network.needs}{more}' if network.needs else ''}"
