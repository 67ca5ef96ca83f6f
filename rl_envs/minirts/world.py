"""MiniRTS: a real-time strategy game on 32 x 32 cells, against a script (SAMA, section 5; RED, Xu et al. 2022).

Gather, build, train, fight; who destroys the other side's town halls wins. The rules equal the authors' engine tick by
tick. An env step is a decision: 50 ticks. N agents command one side together; each new object goes to the agent with
the fewest of its class (peasants, army, buildings), for good.

| | |
|---|---|
| agents | `agent_0` .. `agent_{N-1}`, N = `agents_per_side`, all of side 0 |
| actions | `collective` (RED): `continue_all` (2), `command` (7: idle, gather, attack, build building, build unit, move, continue), `gather` and `attack` (50, index into the lists), `unit_type` and `building_type` (16), `building_cell` and `move_cell` (1024, y * 32 + x), and flags `unit_00` .. `unit_49` (2): 1 takes the command, 0 continues. `per_unit`: `continue_all`, and `command_00`, `gather_00` .. for each of 50 units. Illegal choices are dropped, as the engine drops them |
| observation `map` | [42, 32, 32] uint8: row and column (the engine divides by 32); visible, seen, unseen; terrain soil, sand, grass, rock, water, unknown; own objects by type (15), enemies by type (15), resources |
| observation `own_type`, `own_x`, `own_y`, `enemy_type`, `enemy_x`, `enemy_y`, `resource_type`, `resource_x`, `resource_y` | [50] uint8, lists by type, then by id; positions are cut off |
| observation `own_hp`, `enemy_hp`, `resource_hp` | [50] float32, share of full health, of remembered objects when they were last seen |
| observation `enemy_in_sight`, `resource_in_sight` | [50] bool, whether it is in sight now; else it is remembered: buildings and resources are, where they stood |
| observation `num_own`, `num_enemy`, `num_resource` | [] uint8, lengths of the lists |
| observation `command_type`, `command_unit_type`, `command_x`, `command_y`, `command_gather`, `command_attack` | [50] uint8, present command of each own unit |
| observation `past_commands` | [50, 25] uint8, commands of the last decisions |
| observation `money`, `money_bin` | [] int32; [11] uint8, one-hot of money // 50 |
| observation `count`, `in_production`, `enemy_average` | [34] float32: shares of cells visible, seen, unseen, own objects by type (15), enemies (15), resources; [16] uint8; [16] float32, running average of known enemies |
| observation `owned` | [50] bool, own units that this agent commands |
| observation `legal_command`, `legal_unit_type`, `legal_building_type`, `legal_gather`, `legal_attack` | [50, 7], [50, 16], [16], [50], [50] bool, choices that have an effect |
| observation `own_fact`, `enemy_fact`, `resource_fact` | [50] uint16, only with `facts`: a sentence about each listed object, a row of `tables["facts"]`; 0 beyond the list |
| tables | `facts` [D, 7] int16 and `phrases` [18, 5] int16 (the empty phrase and the 17 of `phrases.PHRASES`): tokens, words of `facts.VOCABULARY` |
| text | `text.describe(text.team_view(observations, index))` says in sentences what a side observes, and `text.read` gives the arrays back; `phrases.commands_for` turns a phrase into commands of units, `phrases.collective_action` and `per_unit_action` into an action |
| rewards | the same to all agents: +1 for a win, -1 for a loss, else 0 |
| episode end | terminated: a side has won, or (quirk `abort`) 250 moves failed within 30 ticks, a draw; truncated: `max_episode_steps` (256 decisions, 12,800 ticks) |
| arguments | `agents_per_side` (1), `opponents` (medium: names of `opponents.get_opponent`, one drawn per episode), `own_script` (None: agents play; a name: that script plays side 0 and actions are ignored), `actions` (collective), `oracle` (False; True shows all enemies and resources), `fair` (False; True puts near resources exactly on rings), `extra_units` (0), `income_scale` (1.0, of scripts), `quirks` (None for all: peculiarities of the engine to keep, of `game.QUIRKS`), `engine_hp` (False; True observes 1 at full health, else 0), `facts` (False), `max_episode_steps` (256) |
| recorded draws | none; maps, opponents and scripts' seeds are drawn when an episode begins |
| state for `restore` | fields of `game.GAME` by name, as `snapshot` gives them; needed are `terrain` [1024], `num_units`, and by object in the order of ids `unit_id` [128] (player * 2**24 + number), `unit_type`, `unit_player`, `unit_x`, `unit_y`. Left out: full health, finished, no orders, 500 money, first decision, sight as it follows; without `script_kind` the world's opponent and scripts, as at the start of an episode |
| metrics | `win`, `loss`, 1 or 0; `ticks`, length in ticks |
| version history | v0: first version; replays the authors' engine without a mismatch; which builder or building scripts attack, and what a search for a path learns when it is given up, were corrected later |
"""  # noqa: E501 (a table row is one line)

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rl_envs.core.arguments import finite, flags, one_of, whole
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story
from rl_envs.minirts import kernels
from rl_envs.minirts.actions import CONTINUE, FORMS, action_spec, action_tables
from rl_envs.minirts.batch import LEARNED_KEYS, Games, Player, packed, set_map, unpacked
from rl_envs.minirts.factored import MAX_LISTED
from rl_envs.minirts.facts import FACTS, make_facts, text_tables
from rl_envs.minirts.game import MIN_LEARNED, QUIRKS
from rl_envs.minirts.metric_ranges import METRIC_RANGES
from rl_envs.minirts.observation import OBSERVATION, OBSERVATION_NAMES
from rl_envs.minirts.opponents import get_opponent
from rl_envs.minirts.state_checks import BOUNDS, MAX_AGENTS, MOST_TICKS, check_state
from rl_envs.minirts.symbols import BUILDER, COST, FIRST_BUILDING, LEARNER, MAX_HP, NUM_TYPES, PEASANT, START_MONEY
from rl_envs.minirts.tick import ABORTED, RUNNING
from rl_envs.minirts.twister import THREAD_BITS

DECISION_TICKS = 50
NUM_MAPS = 65_537
_DRAWS = 16
BOOLEANS = ("legal_command", "enemy_in_sight", "resource_in_sight")
"""Keys of the kernels' record that are observed as bool."""
FACT_KEYS = ("own_fact", "enemy_fact", "resource_fact")
_WIN = np.array([1.0, -1.0, 0.0])
"""Reward of side 0 by winner 0, 1 and -1."""


class MiniRts(World):
    """B games of MiniRTS; the table above documents them."""

    story = module_story(__name__)
    metric_names: tuple[str, ...] = ("win", "loss", "ticks")
    metric_ranges = METRIC_RANGES

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        agents_per_side: int = 1,
        opponents: str | Sequence[str] = "medium",
        own_script: str | None = None,
        actions: str = "collective",
        oracle: bool = False,
        fair: bool = False,
        extra_units: int = 0,
        income_scale: float = 1.0,
        quirks: Sequence[str] | None = None,
        engine_hp: bool = False,
        facts: bool = False,
        max_episode_steps: int = 256,
    ) -> None:
        """Build B worlds; the table above documents the arguments."""
        names = (opponents,) if isinstance(opponents, str) else tuple(opponents)
        _check(agents_per_side, names, actions, extra_units, income_scale, quirks)
        flags(oracle=oracle, fair=fair, engine_hp=engine_hp, facts=facts)
        self.agents = tuple(f"agent_{number}" for number in range(agents_per_side))
        self._opponents = [get_opponent(name) for name in names]
        self._own = get_opponent(own_script) if own_script is not None else None
        self._form, self._fair, self._extras = actions, fair, extra_units
        self._oracle, self._true_hp, self._income = oracle, not engine_hp, income_scale
        self._facts = facts
        self._quirks = sum(1 << bit for bit, name in enumerate(QUIRKS) if quirks is None or name in quirks)
        self.max_episode_steps = whole("max_episode_steps", max_episode_steps, 1, MOST_TICKS // DECISION_TICKS)
        self.action_spec = dict(action_spec(actions))
        self.observation_spec = _specs(facts)
        self.text_tables = dict.fromkeys(FACT_KEYS, "facts") if facts else {}
        self._player, self._capacity = Player(agents_per_side), MIN_LEARNED
        super().__init__(num_worlds, first_world)
        self.tables = dict(text_tables())

    @property
    def games(self) -> Games:
        """The games in memory, for renderers and replays."""
        state = self.state
        assert isinstance(state, Games)
        return state

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        games = self.games
        tables, continues = action_tables(self._form, actions), actions[CONTINUE].astype(np.int8)
        for row in np.flatnonzero(games["result"] == RUNNING):
            self._player.play(games, int(row), tables[row], continues[row])
        self._capacity = games.learned.shape[1]
        winner, over = games["winner"], games["result"] != RUNNING
        reward = np.where(over, _WIN[winner], 0.0)
        terminated = over & ((winner >= 0) | (games["result"] == ABORTED))
        return np.repeat(reward[:, None], self.num_agents, axis=1), terminated, over & ~terminated

    def _begin(self, rows: Array) -> None:
        games = self.games
        for row, uniforms in zip(rows, self.chance.uniforms(_DRAWS, rows), strict=True):
            set_map(games, row, int(uniforms[0] * NUM_MAPS), fair=self._fair, extras=self._extras)
            self._set_sides(row, uniforms)
            self._player.begin(games, row)
        self._capacity = games.learned.shape[1]

    def _set_sides(self, row: int, uniforms: Array) -> None:
        """Choose who plays the two sides of a game, by the uniforms [16] of its start."""
        games, chosen = self.games, self._opponents[int(uniforms[1] * len(self._opponents))]
        for side, script, drawn in ((0, self._own, uniforms[4:10]), (1, chosen, uniforms[10:16])):
            games["script_kind"][row, side] = LEARNER if script is None else script.kind
            if script is not None:
                games["script_towers"][row, side] = script.towers
                games["script_forced"][row, side] = script.types(drawn)
                games["script_scale"][row, side] = self._income
        seeds = (uniforms[2:4] * (1 << THREAD_BITS)).astype(np.int64)
        kernels.start_scripts(games.records, row, seeds[0], seeds[1] + (1 << THREAD_BITS))

    def _observe(self, rows: Array) -> Arrays:
        seen = self._player.observe(self.games, rows, 0, self._true_hp)
        seen |= {name: seen[name].astype(bool) for name in BOOLEANS}
        owner, listed = seen.pop("owner"), np.arange(MAX_LISTED)
        exists = listed < seen["num_own"][:, None]
        shared = seen | _legal_choices(seen) | (make_facts(seen) if self._facts else {})
        each = {name: np.repeat(value[:, None], self.num_agents, axis=1) for name, value in shared.items()}
        each["owned"] = (owner[:, None] == np.arange(self.num_agents)[:, None]) & exists[:, None]
        continues = np.arange(each["legal_command"].shape[-1]) == each["legal_command"].shape[-1] - 1
        each["legal_command"] = np.where(each["owned"][..., None], each["legal_command"], continues)
        each["legal_unit_type"] &= each["owned"][..., None]
        return each

    def _episode_metrics(self, rows: Array) -> Arrays:
        games = self.games
        winner = games["winner"][rows]
        return {
            "win": (winner == 0).astype(np.float64),
            "loss": (winner == 1).astype(np.float64),
            "ticks": games["tick"][rows].astype(np.float64),
        }

    def _blank_state(self, num_worlds: int) -> Arrays:
        games = Games(num_worlds, self._capacity)
        games["max_tick"][...] = self.max_episode_steps * DECISION_TICKS
        games["interval"][...] = DECISION_TICKS
        games["quirks"][...] = self._quirks
        games["script_kind"][...] = LEARNER
        games["oracle"][:, 0] = self._own is None and self._oracle
        games.update(super()._blank_state(num_worlds))
        return games

    def snapshot(self) -> Arrays:
        """See `World.snapshot`, name -> [B, ...]. Learned distances come without empty slots."""
        return super().snapshot() | packed(self.games.learned)

    def restore(self, state: Arrays) -> Arrays:
        """See `World.restore`, name -> [B, ...] to observations [B, N, ...]; learned distances as of `snapshot`."""
        before, self._capacity = self._capacity, MIN_LEARNED
        try:
            if any(name in state for name in LEARNED_KEYS):
                state = {**state, **unpacked(state)}
                self._capacity = state[LEARNED_KEYS[0]].shape[1]
            return super().restore(state)
        except ValueError:
            self._capacity = before
            raise

    def _needed_state(self) -> set[str]:
        return {"terrain", "num_units", "unit_id", "unit_type", "unit_player", "unit_x", "unit_y"}

    def _state_bounds(self) -> Mapping[str, tuple[int, int]]:
        return BOUNDS

    def _check_state(self, state: Arrays) -> None:
        check_state(state)

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        games = self.games
        if "script_kind" not in given:
            for row, uniforms in zip(rows, self.chance.uniforms(_DRAWS, rows), strict=True):
                self._set_sides(row, uniforms)
        if "unit_hp" not in given:
            games["unit_hp"][...] = MAX_HP[games["unit_type"]]
        if "money" not in given:
            games["money"][...] = START_MONEY
        if "tick" not in given:
            games["tick"][...] = DECISION_TICKS - 1
        games["num_learned"][...] = (games["learned_key"] != 0).sum(1)
        if "unit_seen_hp" not in given:
            games["unit_seen_hp"][...] = games["unit_hp"][..., None]
        if "next_id" not in given:
            games["next_id"][...] = (games["unit_id"] & 0xFFFFFF).max(1) + 1
        for row in rows:
            self._player.settle(games, row, "visible_rows" not in given)

    @staticmethod
    def match_frames(policies: Sequence[str], seed: int, every_ticks: int = 25) -> Iterator[Array]:
        """A match of two scripts as frames: its start, every so many ticks, and its end.

        Args:
            policies: names of the scripts of both sides, of `opponents.get_opponent`.
            seed: as of `reset`; the match is the first game of a world with these scripts.
            every_ticks: ticks from one frame to the next.

        Yields:
            [H, W, 3] uint8.
        """
        if len(policies) != 2:
            raise ValueError(f"a match of MiniRTS has two policies, one per side, not {len(policies)}")
        every_ticks = whole("every_ticks", every_ticks, 1)
        world = MiniRts(1, own_script=policies[0], opponents=policies[1])
        world.reset(seed)
        return world._frames_to_the_end((policies[0], policies[1]), every_ticks)

    def _frames_to_the_end(self, names: tuple[str, str], every_ticks: int) -> Iterator[Array]:
        """Play the first game, a game of scripts, and draw it at its start, every so many ticks, and at its end."""
        from rl_envs.minirts.render import draw  # draws with Pillow, which training does not need

        game, player = self.games.records[0], Player(1)
        yield draw(game, names)
        while game["result"] == RUNNING:
            player.tick(self.games, 0, player.no_tables, player.no_continues)
            if game["tick"] % every_ticks == 0 or game["result"] != RUNNING:
                yield draw(game, names)

    def render(self, index: int = 0) -> Array:
        """Image of world `index` from above, [H, W, 3] uint8."""
        from rl_envs.minirts.render import draw  # draws with Pillow, which training does not need

        return draw(self.games.records[index])


def _specs(facts: bool) -> dict[str, ArraySpec]:
    """Every observation key, from the record that the kernels write."""
    most = {"money": (0, 2**31 - 1), "count": (0, 1024), "enemy_average": (0, 128)}
    specs = {}
    for name in OBSERVATION_NAMES:
        dtype = OBSERVATION[name]
        high = 1 if name.endswith("_hp") else 255
        low, high = most.get(name, (0, high))
        specs[name] = ArraySpec(dtype.shape, dtype.base.name, low, high, name.replace("_", " "))
    del specs["owner"]
    shapes = {
        "owned": (MAX_LISTED,),
        "legal_command": (MAX_LISTED, 7),
        "legal_unit_type": (MAX_LISTED, NUM_TYPES),
        "legal_building_type": (NUM_TYPES,),
        "legal_gather": (MAX_LISTED,),
        "legal_attack": (MAX_LISTED,),
    }
    shapes |= {name: (MAX_LISTED,) for name in BOOLEANS if name.endswith("in_sight")}
    specs |= {name: ArraySpec(shape, "bool", 0, 1, name.replace("_", " ")) for name, shape in shapes.items()}
    if facts:
        last = len(FACTS) - 1
        specs |= {name: ArraySpec((MAX_LISTED,), "uint16", 0, last, f"{name.replace('_', ' ')}s") for name in FACT_KEYS}
    return specs


def _legal_choices(seen: Arrays) -> Arrays:
    """Legal targets and types, name -> [K, ...] bool."""
    listed = np.arange(MAX_LISTED)
    affordable = seen["money"][:, None] >= COST
    makes = seen["own_type"][..., None] == BUILDER
    is_unit = np.arange(NUM_TYPES) < FIRST_BUILDING
    return {
        "legal_unit_type": makes & (affordable & is_unit)[:, None] & seen["legal_command"][:, :, 4:5],
        "legal_building_type": affordable & (BUILDER == PEASANT),
        "legal_gather": listed < seen["num_resource"][:, None],
        "legal_attack": listed < seen["num_enemy"][:, None],
    }


def _check(
    agents: int, opponents: Sequence[str], actions: str, extras: int, income: float, quirks: Sequence[str] | None
) -> None:
    """Refuse arguments out of range."""
    if not opponents:
        raise ValueError("opponents must be the name of a script, or a list of one or more")
    whole("agents_per_side", agents, 1, MAX_AGENTS)
    whole("extra_units", extras, 0, 20)
    finite(income_scale=income)
    one_of(FORMS, actions=actions)
    if not 0 < income <= 10:
        raise ValueError(f"income_scale must be above 0 and at most 10, got {income}")
    unknown = sorted(set(quirks or ()) - set(QUIRKS))
    if unknown:
        raise ValueError(f"quirks must be of {', '.join(QUIRKS)}, got {unknown}")
