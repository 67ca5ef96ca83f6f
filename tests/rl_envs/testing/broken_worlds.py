"""Worlds that each break one rule of the contract, beside words of the sentence that must tell it."""

import dataclasses

import numpy as np
from gymnasium import spaces

from rl_envs.core.metrics import SHARE
from rl_envs.core.spec import ArraySpec, EntitySpec, NumbersSpec
from rl_envs.core.texts import TextStore
from tests.toy_worlds import CELLS, Errands

BROKEN = []
"""(class of a broken world, regular expression of the sentence)."""


def breaks(sentence):
    """Class decorator: this world must fail with this sentence."""

    def add(world):
        BROKEN.append((world, sentence))
        return world

    return add


def with_attribute(name, value, sentence):
    """A world that declares one attribute wrongly."""

    class Misdeclared(Errands):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.tables = {"few_words": np.zeros((CELLS - 1, 2), int)}
            setattr(self, name, value)

    Misdeclared.__name__ = f"Misdeclared_{name}_{len(BROKEN)}"
    breaks(sentence)(Misdeclared)


def observing(wrong, sentence):
    """A world whose observations are changed by `wrong(world, observations, rows)`."""

    class Misobserved(Errands):
        def _observe(self, rows):
            observations = super()._observe(rows)
            wrong(self, observations, rows)
            return observations

    Misobserved.__name__ = f"Misobserved_{len(BROKEN)}"
    breaks(sentence)(Misobserved)


def stepping(wrong, sentence):
    """A world whose step results are changed by `wrong(world, result as a list)`."""

    class Misstepped(Errands):
        def step(self, actions, chance=None):
            result = list(super().step(actions, chance))
            wrong(self, result)
            return tuple(result)

    Misstepped.__name__ = f"Misstepped_{len(BROKEN)}"
    breaks(sentence)(Misstepped)


with_attribute("agents", ("walker", "walker"), "agents must")
with_attribute("agents", ["walker_0", "walker_1"], "agents must")
with_attribute("action_spec", {"go": 3, "say": 0}, "action_spec")
with_attribute(
    "action_spec", {"push": NumbersSpec(np.zeros((2, 1), "f4"), np.ones((2, 1), "f4"))}, "called 'continuous'"
)
with_attribute("action_spec", {"continuous": 3}, "called 'continuous'")
with_attribute("max_episode_steps", None, "max_episode_steps")
with_attribute("text_spec", Errands.text_spec | {"cell": Errands.text_spec["sentences"]}, "declared both in")
with_attribute("observation_spec", {"decides": ArraySpec((), "uint8", 0, 1, "")}, "'decides'")
with_attribute("observation_spec", {"cell": spaces.Discrete(CELLS)}, "observation_spec must .* ArraySpec")
with_attribute("text_spec", {"sentences": spaces.Text(9)}, "text_spec must .* TextSpec")
with_attribute("observation_spec", {"cell": ArraySpec([1], "uint8", 0, 1, "")}, "'cell' must have a tuple")
with_attribute("observation_spec", {"cell": ArraySpec((), "text", 0, 1, "")}, "'cell' must have .* type of numbers")
with_attribute("observation_spec", {"cell": ArraySpec((), "uint8", np.zeros(2), 1, "")}, "'cell' must have .* low")
with_attribute("observation_spec", {"legal": ArraySpec((3,), "bool", 0, 1, "")}, r"'legal' must be bool .*\(8,\)")
with_attribute("observation_spec", {"legal": ArraySpec((8,), "uint8", 0, 1, "")}, "'legal' must be bool")
with_attribute("action_spec", {"continuous": NumbersSpec([[0.0]] * 2, [[1.0]] * 2)}, "action_spec must")
with_attribute("observation_spec", {"action_mask": ArraySpec((8,), "bool", 0, 1, "")}, "must be called 'legal'")
with_attribute("observation_spec", {"cell": ArraySpec((), "uint8", 0, np.inf, "", ids=True)}, "'cell' has ids")
with_attribute("observation_spec", {"cell": ArraySpec((), "int8", -1, 4, "", ids=True)}, "'cell' has ids")
with_attribute("text_tables", {"cell": "words"}, r"text_tables: \['cell'\]")
with_attribute("text_tables", {"cell": "few_words"}, r"text_tables: \['cell'\]")
with_attribute("action_spec", 2**21, "action_spec has 2,097,152 choices")
with_attribute("action_spec", True, "action_spec must")
with_attribute("entity_spec", EntitySpec("things", "", "line", (1.0, 5.0)), r"entity_spec names \['things'\]")
with_attribute("_tables", {"words": np.zeros(3)}, r"tables: \['words'\] must be read-only")
with_attribute("metric_names", ("success", "success"), "metric_names repeat")
with_attribute("metric_names", ("success", "length"), "return and length")
with_attribute("metric_ranges", {"survivors": SHARE}, r"'survivors' leaves its range 0 \.\. 1")


def change(values, name, function):
    """Replace an entry of a dict, if it is there."""
    if name in values:
        values[name] = function(values[name])


def out_of_bounds_at_last(world, observations, rows):
    over = world.state["episode_length"][rows] >= 1
    last = (world.state["cell"][rows] == CELLS - 1).all(1) & over
    observations["cell"][last] = CELLS


def born_dead_but_at_first(world, observations, rows):
    is_born = (world.state["episode_length"][rows] == 0) & (world.chance.episode[rows] > 0)
    observations["alive"] = observations["alive"] & ~is_born[:, None]


def token_outside_vocabulary(world, observations, rows):
    table, spec = world.texts["sentences"].table, dataclasses.replace(world.texts["sentences"].spec, vocabulary=100)
    table[observations["sentences"].flat[0], 0] = 99
    world.texts["sentences"] = TextStore(spec)
    world.texts["sentences"].load(table)


OBSERVATIONS = {
    "after reset: .*weather": lambda world, seen, rows: seen.update(weather=seen["cell"]),
    "'cell' must .*int64": lambda world, seen, rows: change(seen, "cell", lambda cell: cell.astype(np.int64)),
    r"'cell' must .*, 2, 1\)": lambda world, seen, rows: change(seen, "cell", lambda cell: cell[..., None]),
    "final observations: 'cell' .* bounds .* 5": out_of_bounds_at_last,
    "after reset: 'cell' must be an array, got list": lambda world, seen, rows: change(seen, "cell", np.ndarray.tolist),
    "'sentences' points outside": lambda world, seen, rows: change(seen, "sentences", lambda rows: rows + 1000),
    "'sentences' must .*int64": lambda world, seen, rows: change(seen, "sentences", lambda rows: rows.astype(np.int64)),
    "'sentences' leaves its vocabulary": token_outside_vocabulary,
    "decides = True": lambda world, seen, rows: seen.update(decides=world.state["steps_left"][rows] == 0),
    "left the game has decides": born_dead_but_at_first,
    "no agent decided": lambda world, seen, rows: change(seen, "decides", np.zeros_like),
}
for sentence, wrong in OBSERVATIONS.items():
    observing(wrong, sentence)


def stepped(number, function):
    """Change an entry of the result of a step."""
    return lambda world, result: result.__setitem__(number, function(result[number]))


def informed(name, function):
    return lambda world, result: change(result[4], name, function)


def of_episode(name, function):
    return lambda world, result: change(result[4].get("episode", {}), name, function)


RESULTS = {
    "reward must be .*float32": stepped(1, lambda reward: reward.astype(np.float32)),
    "reward must be an array, got list": stepped(1, np.ndarray.tolist),
    "reward must be finite": stepped(1, lambda reward: reward + np.inf),
    "terminated must be bool": stepped(2, lambda terminated: terminated.astype(np.uint8)),
    "both terminated and truncated": lambda world, result: result.__setitem__(3, result[3] | result[2]),
    "done_worlds is": informed("done_worlds", lambda done: np.zeros(0, int)),
    "info must hold 'final_obs'": lambda world, result: result[4].pop("final_obs", None),
    "final_obs or final_state": informed("final_state", lambda state: state | {"cell": 0 * state["cell"]}),
    "has keys .*success": lambda world, result: result[4].get("episode", {}).pop("success", None),
    "metric 'success' must be finite": of_episode("success", lambda success: success * np.nan),
    "metric 'success' must be float64": of_episode("success", lambda success: np.stack([success, success], 1)),
    "return is not the sum": of_episode("return", lambda returns: returns + 1),
    "length is not the number": of_episode("length", lambda length: length - 1),
    "duration does not count": informed("duration", np.ones_like),
    "info duration must .*int64": informed("duration", lambda duration: duration.astype(np.int64)),
}
for sentence, wrong in RESULTS.items():
    stepping(wrong, sentence)


@breaks("truncated after .* 9")
class StopsEarly(Errands):
    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward, over, stopped | (~over & (self.state["episode_length"] >= 1))


@breaks("outlasts .* 9")
class NeverStops(Errands):
    def _advance(self, actions, recorded):
        reward, over, stopped = super()._advance(actions, recorded)
        return reward, over & False, stopped & False

    def _begin(self, rows):
        self.state["cell"][rows] = 0


@breaks("alive again")
class Revives(Errands):
    def _advance(self, actions, recorded):
        gone = ~self.state["alive"]
        result = super()._advance(actions, recorded)
        self.state["alive"] |= gone
        return result


@breaks("has left the game gets a reward")
class PaysTheDead(Errands):
    def _advance(self, actions, recorded):
        gone = ~self.state["alive"]
        reward, over, stopped = super()._advance(actions, recorded)
        return reward + gone, over, stopped


@breaks("living agents")
class GhostTown(Errands):
    def _advance(self, actions, recorded):
        recorded = {"gust": np.ones((self.num_worlds, self.num_agents), bool)}
        reward, over, stopped = super()._advance(actions, recorded)
        over &= self.state["alive"].any(1)
        return reward, over, stopped & ~over


@breaks("after a step: .* no legal action")
class LeavesNothing(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.observation_spec = self.observation_spec | {"legal": ArraySpec((8,), "bool", 0, 1, "choices")}

    def _observe(self, rows):
        observations = super()._observe(rows)
        legal = np.ones((len(rows), self.num_agents, 8), bool)
        legal[self.state["episode_length"][rows] == 1, :, 3:] = False
        return observations | {"legal": legal}


@breaks("'wind' must be finite")
class BlowsForEver(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.observation_spec = self.observation_spec | {"wind": ArraySpec((), "float32", -np.inf, np.inf, "speed")}

    def _observe(self, rows):
        return super()._observe(rows) | {"wind": np.full((len(rows), self.num_agents), np.inf, np.float32)}


@breaks("before reset .*RuntimeError")
class AlwaysRunning(Errands):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.reset(0)


def accepting(name, mend, sentence):
    """A world that mends wrong actions instead of refusing them."""

    class Lenient(Errands):
        def _checked(self, actions):
            sizes = self.action_spec if isinstance(actions, dict) else {}
            mended = {name: mend(np.asarray(actions[name]), sizes[name]) for name in sizes if name in actions}
            return super()._checked(actions | mended if mended else actions)

    Lenient.__name__ = f"Accepts_{name}"
    breaks(sentence)(Lenient)


accepting("shapes", lambda actions, size: actions.reshape(actions.shape[:2]), "wrong shape")
accepting("batches", lambda actions, size: actions[:4], "too many worlds")
accepting(
    "floats",
    lambda actions, size: actions.astype(int) if actions.dtype == float else actions,
    "not integers",
)
accepting("high", lambda actions, size: np.minimum(actions, size - 1), "beyond the last")
accepting("low", lambda actions, size: np.maximum(actions, 0), "below zero")


@breaks("without one")
class FillsInFactors(Errands):
    def _checked(self, actions):
        zeros = np.zeros((self.num_worlds, self.num_agents), int)
        return super()._checked(dict.fromkeys(self.action_spec, zeros) | actions)


@breaks("factor too many")
class DropsFactors(Errands):
    def _checked(self, actions):
        return super()._checked({name: actions[name] for name in self.action_spec if name in actions})


@breaks("recorded draw")
class IgnoresDraws(Errands):
    def _check_recorded(self, recorded):
        pass


@breaks("refusing .*chance_step")
class TicksBeforeItLooks(Errands):
    def step(self, actions, chance=None):
        self._require_game()
        self.chance.next_step()
        return super().step(actions, chance)


@breaks("refusing the draw gust .*chance_step")
class LooksAtDrawsTooLate(Errands):
    def _draw_bounds(self):
        return {}

    def _advance(self, actions, recorded):
        if "gust" in recorded and np.shape(recorded["gust"]) != self.state["alive"].shape:
            raise ValueError("gust")
        return super()._advance(actions, recorded)


@breaks("'page' is .*IndexError")
class ReadsBeyondItsBook(Errands):
    def _blank_state(self, num_worlds):
        return super()._blank_state(num_worlds) | {"page": np.zeros(num_worlds, np.int64)}

    def _observe(self, rows):
        np.zeros(3)[self.state["page"]]
        return super()._observe(rows)


@breaks("unknown state")
class RestoresAnything(Errands):
    def restore(self, state):
        return super().restore({key: value for key, value in state.items() if "unknown" not in key})


@breaks("'chance_key' .uint64. is 0.7")
class RoundsStates(Errands):
    def restore(self, state):
        return super().restore({key: np.floor(value).astype(value.dtype) for key, value in state.items()})


@breaks("uint8 .*float64")
class PaintsInFractions(Errands):
    def render(self, index=0):
        return super().render(index) / 255


@breaks("agent_colours must name 2")
class PaintsOneAgent(Errands):
    colours = ((255, 255, 255),)


@breaks(r"\(9, 9, 9\).*agent_colours")
class PaintsInOtherColours(Errands):
    def agent_colours(self):
        return [(255, 255, 255), (9, 9, 9)]


@breaks("rendering .*cell")
class PaintsTheWorld(Errands):
    def render(self, index=0):
        self.state["cell"][index] = 2
        return super().render(index)
