"""What one step of RTFM and of its reading task does, against the rules written out, and who comes first."""

import numpy as np
import pytest

from rl_envs.rock_paper_scissors.world import RockPaperScissors
from rl_envs.rtfm.world import Rtfm
from tests.rl_envs.rtfm.scenes import LEFT, RIGHT
from tests.rl_envs.rtfm.slow_rules import slow_rooms

WORLDS, ENV_STEPS = 100, 24
CASES = [
    {"size": 5, "dyna": True, "drop": "floor"},
    {"size": 5, "num_agents": 2, "distractor_item": False, "distractor_monster": False, "team_loss": -0.5},
    {"size": 6, "num_agents": 2, "dyna": True},
    {"size": 6, "num_agents": 2, "dyna": True, "drop": "floor", "team_loss": -1.0},
    {"size": 6, "num_agents": 3, "dyna": True, "distractor_item": False},
    {"size": 6, "num_agents": 3, "drop": "floor"},
]
GAMES = [*((Rtfm, case) for case in CASES), (RockPaperScissors, {"size": 5})]
COMPARED = ("agents", "monsters", "items", "held", "is_alive", "is_monster_alive")
SHARES = ("fights_right_item", "fights_wrong_item", "fights_no_item")


def draw_turns(world, random, actions):
    """Recorded chance of a step, and the turns that it means in each world: ("agent" or "monster", number, move)."""
    moves = {"agent": actions, "monster": random.integers(-1, 5, world.state["monster_cells"].shape)}
    ranks = {kind: random.permuted(np.tile(np.arange(of.shape[1]), (WORLDS, 1)), axis=1) for kind, of in moves.items()}
    chance = {"monster_moves": moves["monster"]} | {f"{kind}_order": rank for kind, rank in ranks.items()}
    given = {name: draw for name, draw in chance.items() if name in world.recorded_draws}
    kinds = ["agent", "monster"] if "monster_moves" in given else ["agent"]
    kinds = reversed(kinds) if isinstance(world, RockPaperScissors) else kinds
    order = [(kind, ranks[kind].argsort(1).tolist(), moves[kind].tolist()) for kind in kinds]
    return given, [[(kind, n, of[row][n]) for kind, who, of in order for n in who[row]] for row in range(WORLDS)]


def hasten(world, random):
    """Let all ends occur: agents begin with items, often the right ones, or together, and teams with dead targets."""
    state, fresh, agents = world.state, world.state["episode_length"] == 0, world.num_agents
    anything = random.integers(state["item_cells"].shape[1] + 1, size=(WORLDS, agents))
    held = np.where(random.random((WORLDS, 1)) < 0.6, state["beaten_by"][:, :agents], anything)
    state["held"][fresh] = held[fresh]
    together = fresh & (random.random(WORLDS) < 0.3)
    state["agent_cells"][together] = state["agent_cells"][together, :1]
    state["monster_alive"][fresh, :agents] = random.random((fresh.sum(), agents)) > 0.4 * (agents > 1)


@pytest.mark.parametrize(("kind", "arguments"), GAMES, ids=str)
def test_random_play_is_what_the_rules_say(kind, arguments):
    world, random, ways = kind(WORLDS, max_episode_steps=9, **arguments), np.random.default_rng(0), set()
    world.auto_resets = False
    world.reset(1)
    for _ in range(ENV_STEPS):
        hasten(world, random)
        rooms, actions = slow_rooms(world), random.integers(5, size=(WORLDS, world.num_agents))
        chance, turns = draw_turns(world, random, actions)
        _, reward, terminated, truncated, info = world.step(actions, chance)
        for room, after, given, mine in zip(slow_rooms(world), rooms, turns, reward.tolist(), strict=True):
            after.play(given, arguments.get("drop") == "floor")
            for name in COMPARED:
                assert getattr(room, name) == getattr(after, name), (given, name)
            assert mine == after.rewards(arguments.get("team_loss")), given
            ways.add((after.is_won, len(after.killers), len(after.losers)))
        over = [row for row, room in enumerate(rooms) if room.is_over]
        assert np.flatnonzero(terminated).tolist() == over and not truncated.any()
        if over:
            shares = np.transpose([info["episode"][name] for name in ("win_rate", *SHARES)])
            np.testing.assert_allclose(shares, [[rooms[row].is_won, *rooms[row].fights()] for row in over])
            world.next_episode(info["done_worlds"])
    assert len(ways) >= 3, "too little happened"


def test_agents_come_first_equally_often():
    world, size = Rtfm(4000, num_agents=2, size=8), 8
    world.reset(5)
    world.state["agent_cells"][:] = [3 * size + 3, 3 * size + 5]
    world.state["monster_cells"][:] = 6 * size + 6
    world.state["item_cells"][:] = [3 * size + 4, 0, 0]
    world.step(np.tile([RIGHT, LEFT], (4000, 1)))
    assert abs((world.state["held"][:, 0] == 1).mean() - 0.5) < 4 * 0.5 / 4000**0.5
