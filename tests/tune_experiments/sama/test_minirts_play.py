"""SAMA on MiniRTS: rounds that are undone, executors, who sees what, tests of a run, records and bad input."""

import dataclasses
import functools

import pytest

from rl_envs.minirts.symbols import UNITS
from rl_envs.testing import check_world
from tests.tune_experiments.play.teams import untrained
from tests.tune_experiments.sama.fixed_plans import FixedPlans
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.red.config import RedConfig
from tune_experiments.red.trials import build_policy
from tune_experiments.run.final_evaluation import make_results
from tune_experiments.sama.minirts.play import FORMS, METRICS, PlannedRts, RtsPlay, open_book, scripted
from tune_experiments.sama.minirts.subgoals import ATTACK, MINE, WAIT
from tune_experiments.sama.minirts.trials import build_team, evaluate, planned
from tune_experiments.sama.planning import make_planner
from tune_experiments.sama.play import PlannedPlay, learned_executor
from tune_experiments.sama_minirts import table_title, tables

EXPERIMENT = find_experiment("sama_minirts")
SMOKE = EXPERIMENT.presets["smoke"]
TWO = "scripted_2"


def worlds(number=2, agents=2, **game):
    world = PlannedRts(number, agents_per_side=agents, actions=FORMS[False], opponents="simple", **game)
    world.reset(3)
    world.auto_resets = False
    return world


def state_of(world, index):
    """Everything that a game's future depends on, but for the size of its table of learned distances."""
    kept = world.snapshot_game(index)
    learned_distances = sorted(one for one in kept.learned.tolist() if one[0])
    record = {name: kept.record[name].tolist() for name in kept.record.dtype.names}
    return record, learned_distances, {n: v.tolist() for n, v in kept.others.items()}, kept.clock


def test_a_game_that_is_restored_repeats_itself_and_leaves_the_others_alone():
    world = worlds()
    for _ in range(3):
        world.step(scripted(world))
    kept, before = world.snapshot_game(0), state_of(world, 0)
    world.tell(0, 0, "build stable")
    for _ in range(5):
        world.step(scripted(world))
    first, other = state_of(world, 0), state_of(world, 1)
    world.restore_game(0, kept)
    world.observe()
    assert state_of(world, 0) == before and state_of(world, 1) == other and before != first
    world.tell(0, 0, "build stable")
    for _ in range(5):
        world.step(scripted(world))
    assert state_of(world, 0) == first


def test_a_game_is_restored_although_the_tables_have_grown():
    world = worlds()
    world.step(scripted(world))
    kept, before = world.snapshot_game(1), state_of(world, 1)
    world.games.grow()
    world.step(scripted(world))
    world.restore_game(1, kept)
    assert state_of(world, 1) == before


def play(commands, undone=(), min_steps=2, max_steps=4, limit=9, watch=None):
    world = worlds(1, max_episode_steps=limit)
    planner = make_planner(SMOKE, "2", 0)
    loop = FixedPlans(commands, undone)
    with open_book("builtin", planner) as book:
        found = PlannedPlay(RtsPlay(world, book), scripted, loop, max_steps, min_steps).run(3, watch)
    return {name: float(value[0]) for name, value in found.items()}, loop


def test_undone_decisions_are_counted_and_stand_in_no_game():
    failing, plain = play((ATTACK, ATTACK), [(ATTACK, ATTACK)] * 2), play((ATTACK, ATTACK))
    assert failing[0]["undone_decisions"] == 8 and plain[0]["undone_decisions"] == 0
    assert failing[0]["decisions"] == plain[0]["decisions"] == 9
    assert failing[0]["ticks"] == plain[0]["ticks"]
    assert [end.state for end in failing[1].ends][:3] == [plain[1].ends[0].state] * 3


def test_a_round_lasts_its_smallest_number_of_decisions_and_ends_at_its_limit():
    reached, loop = play((MINE, WAIT), min_steps=3)
    assert reached["rounds"] == reached["reached_rounds"] == 2 and all(loop.ends[0].reached)
    failed, loop = play((ATTACK, WAIT), max_steps=4)
    assert failed["rounds"] == 2 and failed["reached_rounds"] == 0 and loop.ends[0].reached == (False, True)


def test_who_has_made_what_it_was_to_make_hears_nothing_more_and_who_attacks_goes_on():
    commands = []
    play(
        ("build peasant", "wait"),
        min_steps=6,
        max_steps=6,
        watch=lambda world, loop: commands.append(world.latest_commands(0)),
    )
    first = [words[0] for words in commands[:6]]
    assert first[0] == "build peasant" and "" in first[1:] and first.index("") >= 1
    assert all(words[1] == "" for words in commands)


def test_only_full_sight_shows_what_the_fog_hides_and_executors_never_see_it():
    texts = {}
    for sight in ("fair", "full", "types"):
        world = worlds(1, sight=sight)
        texts[sight] = world.states([0])[0]
        assert int(world.seen["num_enemy"][0, 0]) == 0
        assert not world.games["oracle"].any()
    assert "enemy" not in texts["fair"].split("Decision")[0] and "enemy 0: peasant" in texts["full"]
    trained = [UNITS[kind] for kind in worlds(1).enemies_trained(0)]
    assert trained and texts["types"].endswith(f"Seen lately: 100 % {trained[0]}.") and trained[0] not in texts["fair"]
    with pytest.raises(ValueError, match="sight"):
        PlannedRts(1, sight="all")


@pytest.mark.slow
def test_the_world_keeps_the_contract_of_worlds():
    check_world(functools.partial(PlannedRts, agents_per_side=2, is_read=True, max_episode_steps=6))


def test_a_learned_team_carries_commands_out_and_repeats_a_round_that_is_undone():
    red = RedConfig(num_agents=2, network=find_experiment("red_minirts").presets["smoke"].network)
    executor = learned_executor(build_policy(red, 0))
    world = PlannedRts(2, agents_per_side=2, actions=FORMS[True], is_read=True, opponents="simple")
    world.reset(1)
    world.auto_resets = False
    kept = [world.snapshot_game(index) for index in range(2)]
    ends = []
    for _ in range(2):
        for index, one in enumerate(kept):
            world.restore_game(index, one)
        world.tell(0, 0, "build stable")
        for _ in range(3):
            world.step(executor(world))
        ends.append([state_of(world, index) for index in range(2)])
    assert ends[0] == ends[1]


def test_every_test_of_a_smoke_ends_with_its_numbers():
    config = dataclasses.replace(SMOKE, tests=("plain", "commanders", "goals"), test_episodes=1, max_episode_steps=8)
    found = evaluate(config, TWO, build_team(config, TWO, 0))
    conditions = [
        "no commands",
        "RED's oracle",
        "rules, 3 reflections",
        "DEPS",
        "Plan4MC",
    ]
    assert [tested.condition for tested in found] == conditions
    for tested, episodes in found.items():
        assert episodes["decisions"].tolist() == [8.0] and set(episodes) - {"_transcript"} <= {
            *METRICS,
            "questions",
            "answered_by_rule",
        }
        assert ("_transcript" in episodes) == (tested.condition == "rules, 3 reflections")
    rows = [row for world, one in found.items() for row in make_results(EXPERIMENT, TWO, 0, world, one, None)]
    (table,) = tables(rows)
    assert table.title == table_title(TWO) and [label for label, _ in table.rows] == conditions


def test_seeds_play_different_games_and_a_seed_the_same_ones():
    seeds = [build_team(SMOKE, TWO, seed).seed for seed in (0, 1)]
    config = dataclasses.replace(SMOKE, max_episode_steps=6, test_episodes=1)
    texts = [str(planned(config, TWO, build_team(config, TWO, 0), 40 + seed)["_transcript"]) for seed in (*seeds, 0)]
    assert texts[0] == texts[2] != texts[1]


@pytest.mark.parametrize(("most", "is_whole"), [(3, False), (99, True)])
def test_a_record_has_metrics_unless_it_was_cut(most, is_whole):
    loaded = untrained("sama_minirts", TWO)
    (episode,) = EXPERIMENT.episodes(loaded, 3, 1, most)
    assert bool(episode.metrics) == is_whole
    assert len(episode.steps) <= most
