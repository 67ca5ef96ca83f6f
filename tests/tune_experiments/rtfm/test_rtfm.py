"""RTFM's experiments: methods and constants as published, what is evaluated, and what stands beside a win rate."""

import dataclasses

import numpy as np
import pytest

from rl_envs.rock_paper_scissors.splits import triples
from rl_envs.rock_paper_scissors.world import RockPaperScissors
from rl_envs.rtfm.grid import make_grid
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from tests.rl_models.text.small import save_bert
from tests.tune_experiments.fragments import update
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.results.rows import Result
from tune_experiments.rtfm.config import REFERENCES, RtfmTask, learner_config, make_world
from tune_experiments.rtfm.evaluation import (
    WithWrongDocuments,
    all_bags,
    evaluate,
    play,
    random_layouts,
    references,
    solve,
)
from tune_experiments.rtfm.stages import METHODS as CURRICULA
from tune_experiments.rtfm.stages import plan as plan_of_stages
from tune_experiments.rtfm.stages import transfer_table, win_rate_table
from tune_experiments.rtfm.trials import plan
from tune_experiments.rtfm.trials import plan_letters as plan_of_row
from tune_experiments.rtfm_curriculum import TABLE_2

RTFM, LETTERS = (find_experiment(name).presets for name in ("rtfm_txt2pi", "rtfm_rock_paper_scissors"))
CURRICULUM = find_experiment("rtfm_curriculum").presets
GENERALISATION = find_experiment("rtfm_generalisation")
METHODS = RTFM["laptop"].methods
TINY = {"rtfm": RTFM["smoke"], "letters": LETTERS["smoke"]}


@pytest.mark.parametrize("algorithm", ["ppo", "impala"])
@pytest.mark.parametrize("method", METHODS)
def test_every_row_learns_by_ppo_and_impala(method, algorithm):
    config = dataclasses.replace(TINY["rtfm"], learner=learner_config(algorithm=algorithm))
    assert isinstance(plan(config, method, 0).objective, Ppo if algorithm == "ppo" else Impala)
    assert np.isfinite(float(update(plan(config, method, 0))[1]["loss/total"]))


@pytest.mark.parametrize("method", ["txt2pi", "film", "cnn"])
def test_rows_read_by_a_frozen_encoder_whose_projection_alone_learns(method, tmp_path):
    save_bert(tmp_path, positions=64, more_words=make_world(RtfmTask()).vocabulary[1:60])
    network = dataclasses.replace(TINY["rtfm"].network, text_encoder=str(tmp_path))
    config = dataclasses.replace(TINY["rtfm"], network=network, learner=learner_config(algorithm="impala"))
    assert np.isfinite(float(update(plan(config, method, 0))[1]["loss/total"]))
    policy = plan(config, method, 0).build_policy()
    assert [key for key in policy.state_dict() if "words" in key.split(".")] == [
        key for key in policy.state_dict() if key.endswith("words.projection.weight")
    ]


def test_the_paper_preset_has_the_released_networks_but_for_the_words_that_nobody_uses():
    vocabulary = make_world(RTFM["paper"].task).text_spec["document"].vocabulary
    unused = 30 * (262 - vocabulary)
    for method, count in {"txt2pi": 912_872, "film": 342_077, "cnn": 466_517}.items():
        policy = plan(RTFM["paper"], method, 0).build_policy()
        assert sum(weights.numel() for weights in policy.parameters()) == count - unused


@pytest.mark.parametrize(("plan_of", "config"), [(plan, RTFM["smoke"]), (plan_of_row, LETTERS["smoke"])])
def test_the_rows_are_ablations_of_one_network(plan_of, config):
    networks = {method: plan_of(config, method, 0).build_policy().network for method in METHODS}
    readers = {name: networks[name].reader.config for name in METHODS if name not in ("cnn", "film")}
    assert [name for name, reader in readers.items() if not reader.attends_to_goal] == ["no_task_attn"]
    assert [name for name, reader in readers.items() if not reader.attends_to_grid] == ["no_vis_attn"]
    sizes = {name: sum(w.numel() for w in network.stack.parameters()) for name, network in networks.items()}
    assert sizes["no_text_mod"] < sizes["txt2pi"]


@pytest.mark.long
def test_a_test_plays_seen_unseen_and_other_rooms_shuffled_documents_and_the_references():
    config = dataclasses.replace(TINY["letters"], test_sizes=(5, 6), test_episodes=6)
    played = evaluate(config, plan(config, "txt2pi", 0).build_policy())
    rooms = [Tested(f"{name}_{size}x{size}") for name, size in (("train", 5), ("valid", 5), ("eval", 5), ("eval", 6))]
    rooms.append(Tested("eval_5x5", "shuffled"))
    computed = [Tested(f"eval_{size}x{size}", method=name) for size in (5, 6) for name in REFERENCES]
    assert list(played) == [*rooms, *computed]
    assert all(len(played[name][metric]) == 6 for name in rooms for metric in ("win_rate", "win_rate_sampled"))
    again = evaluate(config, plan(config, "txt2pi", 0).build_policy())
    for name in rooms:
        np.testing.assert_array_equal(played[name]["length"], again[name]["length"])


def test_wrong_documents_are_those_that_neighbours_show_when_an_episode_begins():
    config = TINY["letters"]
    world, policy = make_world(config.task, 5), plan(config, "film", 0).build_policy()
    shown, kept = [], []

    class Watched(WithWrongDocuments):
        def _seen(self):
            shown.append((self._obs["document"].copy(), self._is_first.copy()))
            seen = super()._seen()
            kept.append(self._documents.copy())
            np.testing.assert_array_equal(seen["document"].reshape(kept[-1].shape), kept[-1])
            return seen

    play(world, policy, Watched)
    for step, ((documents, is_first), lent) in enumerate(zip(shown, kept, strict=True)):
        for number in range(5):
            wanted = documents[number - 1] if is_first[number] else kept[step - 1][number]
            assert lent[number] == wanted


def test_wrong_documents_stay_the_same_when_the_world_drops_texts_that_it_does_not_show(monkeypatch):
    task, policy = RtfmTask(group=True, nl=True, max_episode_steps=12), plan(TINY["rtfm"], "film", 0).build_policy()
    sights = []

    class Watched(WithWrongDocuments):
        def _seen(self):
            seen = super()._seen()
            sights[-1].append(self.world.texts["document"].look_up(self._documents))
            return seen

    for most in (100, 1):
        monkeypatch.setattr("rl_models.training.evaluation.TEXTS_KEPT_FOR", most)
        sights.append([])
        Watched(make_world(task, 9), policy).run(3, episodes_per_world=2)
    for whole, dropped in zip(*sights, strict=True):
        np.testing.assert_array_equal(whole, dropped)


def line(method, world, value, condition="", seed=0, table="caption"):
    rest = ("test", seed, "win_rate", value, value, value, 10, 7)
    return Result("x", table, method, world, *rest, condition=condition)


def test_the_table_has_win_rates_by_room_and_references_in_the_columns_of_their_room():
    values = {"train_6x6": 0.5, "eval_6x6": 0.4, "eval_10x10": 0.3, "shuffled_6x6": 0.2}
    own = [line(method, world, value) for method in ("cnn", "film") for world, value in list(values.items())[:3]]
    own += [line(method, "eval_6x6", 0.2, "shuffled") for method in ("cnn", "film")]
    known = [line(RANDOM, f"eval_{room}", 0.1, seed=None) for room in ("6x6", "10x10")]
    table = win_rate_table([*own, *known], "caption", {"cnn": {"eval_6x6": 0.25}})
    assert table.metrics == tuple(values)
    rows = {label: [cell and cell.value for cell in cells] for label, cells in table.rows}
    assert rows == {
        "cnn": [0.5, 0.4, 0.3, 0.2],
        "cnn, paper": [None, 0.25, None, None],
        "film": [0.5, 0.4, 0.3, 0.2],
        RANDOM: [0.1, 0.1, 0.1, None],
    }


def test_simpler_games_have_a_table_of_their_own_and_the_full_games_stage_is_a_column_like_any_other():
    row, table = "trained_on_10x10", GENERALISATION.caption
    earlier = [line(row, "train_6x6", 0.5, f"after {game}", table=table) for game in ("simplest", "dyna_group")]
    last = [line(row, "train_10x10", 0.5, "after full_10x10", table=table), line(row, "eval_10x10", 0.5, table=table)]
    ends, stages = GENERALISATION.tables([*earlier, *last])
    assert ends.metrics == ("train_10x10", "eval_10x10")
    assert [label for label, _ in ends.rows] == ["trained_on_10x10", "trained_on_10x10, paper"]
    assert stages.metrics == ("simplest", "dyna_group", "full_10x10")
    (of_a_simpler_game,) = GENERALISATION.tables(earlier[:1])
    assert of_a_simpler_game.metrics == ("simplest",)


def test_uniform_moves_win_as_often_as_is_known():
    """0.113 in the simplest RTFM, by the authors' engine without a limit."""
    task = dataclasses.replace(RTFM["laptop"].task, max_episode_steps=1000)
    episodes = references(task, 6, 2000)[RANDOM]
    assert abs(episodes["win_rate"].mean() - 0.113) < 4 * (0.113 * 0.887 / 2000) ** 0.5


@pytest.mark.parametrize("winning", [1, 2])
def test_the_best_player_of_the_computed_rules_meets_the_dragon_so_often_in_the_real_game(winning):
    """Every layout is played by its own best moves. Who dies with the second item met the dragon with it."""
    size, horizon, layouts, repeats = 5, 30, 10, 60
    layout = random_layouts(size, layouts)
    values, moves = solve(size, layout.items, winning, horizon)
    wanted = values[np.arange(layouts), 0, layout.agent, layout.dragon].mean()
    number = np.tile(np.arange(layouts), repeats)
    world = RockPaperScissors(len(number), size=size, max_episode_steps=horizon)
    inside = make_grid(size).inside
    # The dragon bears the first letter, so the items that beat letters 0, 1, 2 are the right one, ... in this order.
    world.restore(
        {
            "agent_cells": inside[layout.agent[number]][:, None],
            "monster_cells": inside[layout.dragon[number]][:, None],
            "item_cells": inside[layout.items[number]],
            "triple": np.tile([0, 1, 2], (len(number), 1)),
            "dragon": np.zeros(len(number), np.int64),
        }
    )
    world.auto_resets = False
    bags = all_bags()
    met, running = np.zeros(len(number), bool), np.ones(len(number), bool)
    while running.any():
        state = {name: value.copy() for name, value in world.state.items()}
        bag = [
            bags.index((int(held) - 1, tuple(floor)))
            for held, floor in zip(state["held"][:, 0], (state["item_cells"] > 0).tolist(), strict=True)
        ]
        cells = [np.searchsorted(inside, state[name][:, 0]) for name in ("agent_cells", "monster_cells")]
        _, _, terminated, *_ = world.step(moves[number, bag, cells[0], cells[1]][:, None])
        is_alive = world.state["agent_alive"][:, 0]
        won = is_alive & ~world.state["monster_alive"][:, 0]
        died_with_second = ~is_alive & (world.state["held"][:, 0] == 2)
        met |= running & (won | (died_with_second if winning == 2 else False))
        running &= ~terminated
        if terminated.any():
            world.next_episode(np.flatnonzero(terminated))
    assert abs(met.mean() - wanted) < 4 * (wanted * (1 - wanted) / len(number)) ** 0.5


def test_every_stage_is_harder_than_the_one_before_and_only_cells_of_table_2_end_before_the_full_game():
    for row, games in CURRICULA.items():
        way = plan_of_stages(CURRICULUM["paper"], row, 0)
        assert [stage.name for stage in way.stages] == list(games)
        tasks = [stage.plan.make_world.args[0] for stage in way.stages]
        difficulties = [task.group + task.dyna + task.nl for task in tasks]
        assert difficulties == sorted(set(difficulties))
        assert (difficulties[-1] == 3) == ("_to_" not in row)
        assert tasks[-1].size == (10 if row == "trained_on_10x10" else 6)
        for stage, task in zip(way.stages, tasks, strict=True):
            assert ("dyna" in stage.name, "group" in stage.name, "nl" in stage.name) == (
                (task.dyna, task.group, task.nl) if not stage.name.startswith("full") else (False,) * 3
            )


def test_the_paper_presets_rows_fill_every_cell_of_table_2_once():
    """Results have the form that rows write: earlier stages under `after`, the full game under its room."""

    lines = []
    for number, row in enumerate(CURRICULUM["paper"].methods):
        games = CURRICULA[row]
        lines += [line(row, "train_6x6", number / 100, f"after {game}") for game in games if game != "full"]
        lines += [line(row, f"{split}_6x6", number / 100) for split in ("train", "eval")]
        lines += [line(row, "eval_6x6", number / 100, "shuffled")]
    table = transfer_table(lines, "caption", TABLE_2)
    rows = {label: dict(zip(table.metrics, cells, strict=True)) for label, cells in table.rows}
    assert set(table.metrics) == set(TABLE_2["from_scratch"])
    for origin, printed in TABLE_2.items():
        ours, paper = rows[origin], rows[f"{origin}, paper"]
        games = set(printed) - {"full_10x10"}
        assert {game for game, cell in ours.items() if cell} == {game for game, cell in paper.items() if cell} == games
    assert rows["from_6x6"]["nl"].value == CURRICULUM["paper"].methods.index("from_6x6_to_nl") / 100
    assert rows["from_scratch"]["simplest"].value == CURRICULUM["paper"].methods.index("from_6x6") / 100


def test_a_transferred_team_trains_on_seen_games_and_then_on_unseen_ones():
    config = LETTERS["laptop"]
    seen, unseen = plan_of_row(config, "film_transferred", 0).stages
    alone, scratch = (plan_of_row(config, row, 0) for row in ("film", "film_from_scratch"))
    for trial, split, budget in (
        (seen.plan, "train", 500_000),
        (unseen.plan, "eval", 500_000),
        (alone, "train", 500_000),
        (scratch, "eval", 500_000),
    ):
        world = trial.make_world(num_worlds=6000, first_world=0)
        world.reset(0)
        np.testing.assert_array_equal(np.unique(world.state["triple"], axis=0), triples("ten_letters", split))
        assert trial.budget_env_steps == budget
