"""Single-step coordination games (A Cordial Sync, Jain et al., ECCV 2020, appendix A.2).

`rock_paper_scissors`: two agents form a team against an adversary and lose if their actions differ. Against an adversary
that knows their joint policy, independent agents reach at most 5 - 4 sqrt(2) = -0.657; a joint policy of rank 3 reaches
0. `coordination`: any table of good joint actions, for any number of agents and actions.

| | |
|---|---|
| agents | `agent_0` ... `agent_{N-1}`; N = 2 in rock_paper_scissors |
| actions | 3: rock, paper, scissors; in coordination A actions without names |
| observation `bias` | [1] uint8, always 1 |
| observation `coordination` | [] uint8, always 0: the row of `tables["coordination"]` that is valid now |
| rewards | the same to every agent. rock_paper_scissors: -1 if the agents' actions differ, else +1, 0 or -1 for a win, tie or loss against the adversary's action. coordination: 1 if the joint action is in the table, else 0 |
| episode end | always terminated after one step; never truncated |
| arguments | `game` (rock_paper_scissors), `adversary` (uniform; or an action, or `recorded`: every step needs the recorded draw), `coordination` (None: the diagonal; or [A] * N of 0 and 1), `num_agents` (None: 2, or as in `coordination`) and `num_actions` (None: 3, or as in `coordination`) of the diagonal |
| tables | `coordination` [1, A^N] bool, joint actions flattened in C order |
| recorded draws | `adversary` [B] int, the adversary's actions (rock_paper_scissors only) |
| state for `restore` | none needed; optional: `adversary` [3], the probabilities of the adversary's actions |
| metrics | `coordinated` (the joint action is in the table), `outcome` (an agent's reward) |
| version history | v0: first version |
"""  # noqa: E501 (a table row is one line)

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rl_envs.core.arguments import one_of, whole
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story
from rl_envs.matrix_game.payoff import payoff_tensor

GAMES = ("rock_paper_scissors", "coordination")
ACTION_NAMES = ("rock", "paper", "scissors")
MAX_ENTRIES = 2**24
"""Largest number of joint actions in the table of a diagonal."""


class MatrixGame(World):
    """B single-step games; the table above documents them."""

    story = module_story(__name__)
    metric_names = ("coordinated", "outcome")
    max_episode_steps = 1

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        game: str = "rock_paper_scissors",
        adversary: str | int = "uniform",
        coordination: ArrayLike | None = None,
        num_agents: int | None = None,
        num_actions: int | None = None,
    ) -> None:
        """Build B worlds; the table above documents the arguments."""
        one_of(GAMES, game=game)
        is_usual = coordination is None and num_agents in (None, 2) and num_actions in (None, 3)
        if game == "rock_paper_scissors" and not is_usual:
            fault = f"leave out num_agents {num_agents}, num_actions {num_actions} and coordination"
            raise ValueError(f"rock_paper_scissors has 2 agents, 3 actions and its own table: {fault}")
        if game != "rock_paper_scissors" and adversary != "uniform":
            raise ValueError(f"adversary is of rock_paper_scissors, got {adversary!r} in {game}: leave it out")
        good = _diagonal(num_agents, num_actions) if coordination is None else _table(coordination)
        for name, given, own in (("num_agents", num_agents, good.ndim), ("num_actions", num_actions, len(good))):
            if given not in (None, own):
                raise ValueError(f"{name} is {given}, but the coordination table has {own}: leave {name} out")
        self.agents = tuple(f"agent_{i}" for i in range(good.ndim))
        self.action_spec = good.shape[0]
        self.observation_spec = {
            "bias": ArraySpec((1,), "uint8", 1, 1, "a constant input"),
            "coordination": ArraySpec((), "uint8", 0, 0, "row of the table of good joint actions"),
        }
        self.game = game
        self.action_names = ACTION_NAMES if game == "rock_paper_scissors" else ()
        self.recorded_draws = ("adversary",) if game == "rock_paper_scissors" else ()
        super().__init__(num_worlds, first_world)
        self.tables = {"coordination": good.reshape(1, -1)}
        self._good = good
        self._payoff = payoff_tensor()
        self._must_record = adversary == "recorded"
        self._adversary = np.tile(_adversary_policy(adversary), (num_worlds, 1))

    def set_adversary(self, probabilities: ArrayLike) -> None:
        """From now on the adversary draws its actions from these probabilities ([3] or [B, 3])."""
        policy = np.asarray(probabilities, np.float64)
        if policy.shape not in ((3,), (self.num_worlds, 3)):
            raise ValueError(f"the adversary has 3 actions; got probabilities of shape {policy.shape}")
        self._check_state({"adversary": policy})
        self._adversary[...] = policy
        if self.state:
            self.state["adversary"][...] = policy

    def _begin(self, rows: Array) -> None:
        self.state["adversary"][rows] = self._adversary[rows]

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        joint = tuple(actions.T)
        coordinated = self._good[joint]
        outcome = coordinated.astype(np.float64)
        if self.game == "rock_paper_scissors":
            below = self.state["adversary"].cumsum(1)[:, :2]
            reply = recorded.get("adversary", (self.chance.uniforms(1) >= below).sum(1))
            outcome = self._payoff[(*joint, reply)]
        self.state["coordinated"][...] = coordinated
        reward = np.repeat(outcome[:, None], self.num_agents, axis=1)
        return reward, np.ones(self.num_worlds, bool), np.zeros(self.num_worlds, bool)

    def _observe(self, rows: Array) -> Arrays:
        shape = (len(rows), self.num_agents)
        return {"bias": np.ones((*shape, 1), np.uint8), "coordination": np.zeros(shape, np.uint8)}

    def _blank_state(self, num_worlds: int) -> Arrays:
        own = {"adversary": np.zeros((num_worlds, 3)), "coordinated": np.zeros(num_worlds, bool)}
        return super()._blank_state(num_worlds) | own

    def _check_state(self, state: Arrays) -> None:
        policy = state.get("adversary", self._adversary)
        if (policy < 0).any() or not np.allclose(policy.sum(-1), 1.0, atol=1e-5):
            raise ValueError("probabilities of the adversary must not be negative and must sum to 1")

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        if "adversary" in given:
            self._adversary[rows] = self.state["adversary"][rows]
        else:
            self.state["adversary"][rows] = self._adversary[rows]

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {
            "coordinated": self.state["coordinated"][rows].astype(np.float64),
            "outcome": self.state["episode_return"][rows, 0],
        }

    def _check_recorded(self, recorded: Arrays) -> None:
        super()._check_recorded(recorded)
        if self._must_record and "adversary" not in recorded:
            raise ValueError('this adversary is recorded: every step needs chance={"adversary": [B] actions}')

    def _draw_bounds(self) -> dict[str, tuple[tuple[int, ...], int, int]]:
        return {"adversary": ((self.num_worlds,), 0, 2)}


def _diagonal(num_agents: int | None, num_actions: int | None) -> Array:
    num_agents = 2 if num_agents is None else whole("num_agents", num_agents, 1, 24)
    num_actions = 3 if num_actions is None else whole("num_actions", num_actions, 1, MAX_ENTRIES)
    if num_actions**num_agents > MAX_ENTRIES:
        raise ValueError(f"num_agents {num_agents} and num_actions {num_actions} need a table beyond {MAX_ENTRIES:,}")
    good = np.zeros((num_actions,) * num_agents, bool)
    good[(np.arange(num_actions),) * num_agents] = True
    return good


def _table(coordination: ArrayLike) -> Array:
    good = np.asarray(coordination)
    if not good.size or good.ndim < 1 or len(set(good.shape)) != 1 or not np.isin(good, (0, 1)).all():
        raise ValueError(f"a coordination table is [A] * N of 0 and 1, got shape {good.shape}")
    return good.astype(bool)


def _adversary_policy(adversary: str | int) -> Array:
    if adversary in ("uniform", "recorded"):
        return np.full(3, 1 / 3)
    if adversary in (0, 1, 2):
        return np.eye(3)[int(adversary)]
    raise ValueError(f"adversary must be 'uniform', 'recorded', 0, 1 or 2, got {adversary!r}")
