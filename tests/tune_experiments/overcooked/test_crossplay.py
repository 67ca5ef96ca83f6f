"""Cross-play: who acts in a mixed pair, what the matrix holds, what the script writes and refuses."""

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from tests.tune_experiments.overcooked.runs import INTERACT, STAY, stubborn_team, write_run
from tune_experiments.core.errors import UserError
from tune_experiments.overcooked.config import make_world
from tune_experiments.overcooked.crossplay import Matrix, MixedTeam, load_teams, play_all, play_pair
from tune_experiments.overcooked.evaluation import play_team
from tune_experiments.overcooked.trials import self_play_team
from tune_experiments.overcooked_crossplay import main
from tune_experiments.overcooked_roles import SMOKE as ROLES
from tune_experiments.overcooked_selfplay import SMOKE
from tune_experiments.results.rows import read
from tune_experiments.sama.overcooked.meetings import KITCHENS
from tune_experiments.sama.overcooked.trials import plan as sama_plan
from tune_experiments.sama_overcooked import SMOKE as SAMA

SHORT = dataclasses.replace(SMOKE, max_episode_steps=20)


def thoughts(team):
    world = make_world(SMOKE, 3)
    obs = {key: torch.from_numpy(value)[:, None] for key, value in world.reset(0).items()}
    with torch.inference_mode():
        return team(obs, {}, torch.ones(3, 1, dtype=torch.bool))


def test_chef_i_of_a_mixed_pair_thinks_and_values_as_its_own_team_does():
    first, second = self_play_team(SMOKE, 0), self_play_team(SMOKE, 1)
    mixed = thoughts(MixedTeam([first, second]))
    for chef, team in enumerate((first, second)):
        alone = thoughts(team)
        torch.testing.assert_close(mixed.policy.marginals()[:, :, chef], alone.policy.marginals()[:, :, chef])
        torch.testing.assert_close(mixed.values[..., chef], alone.values[..., chef])
        assert not torch.equal(mixed.values[..., 1 - chef], alone.values[..., 1 - chef])


def test_a_team_mixed_with_itself_plays_as_it_does_by_itself():
    team = self_play_team(SHORT, 3)
    alone, mixed = (play_team(make_world(SHORT, 6), each) for each in (team, MixedTeam([team, team])))
    for name, values in alone.items():
        np.testing.assert_array_equal(mixed[name], values)


def test_teams_with_a_memory_or_of_another_size_cannot_be_mixed():
    team = self_play_team(SMOKE, 0)
    with pytest.raises(ValueError, match="3"):
        MixedTeam([team, team, team])
    remembers = self_play_team(SMOKE, 1)
    remembers.network.initial_state = lambda batch: {"hidden": torch.zeros(batch, 2, 4)}
    with pytest.raises(ValueError, match="memory"):
        MixedTeam([team, remembers])


def by_the_game(first, second, episodes):
    return play_pair(SHORT, first.policy, second.policy, episodes)


def test_the_matrix_has_chef_0_in_its_rows_and_both_orders(monkeypatch):
    first, second = stubborn_team(SHORT, STAY), stubborn_team(SHORT, INTERACT)
    asked = []

    def episodes(world, team, seed):
        likeliest = thoughts(team).policy.mode()[0][0, 0].tolist()
        asked.append(likeliest)
        soups = np.full(world.num_worlds, float(10 * likeliest[0] + likeliest[1]))
        return {"soups": soups, "reward": 20 * soups}

    monkeypatch.setattr("tune_experiments.overcooked.crossplay.play_team", episodes)
    teams = {name: SimpleNamespace(config=SHORT, policy=policy) for name, policy in (("a", first), ("b", second))}
    matrix = play_all(teams, SHORT.task, 2, by_the_game)
    assert asked == [[STAY, STAY], [STAY, INTERACT], [INTERACT, STAY], [INTERACT, INTERACT]]
    np.testing.assert_array_equal(matrix.values["soups"], [[44, 45], [54, 55]])
    assert [line.method for line in matrix.results[::2]] == ["a with a", "a with b", "b with a", "b with b"]


def test_a_team_is_judged_with_the_others_in_both_places_and_its_own_pair_apart():
    soups = np.array([[9.0, 1.0, 2.0], [3.0, 8.0, 4.0], [5.0, 6.0, 7.0]])
    matrix = Matrix("cramped_room", ("a", "b", "c"), {"soups": soups, "reward": 20 * soups}, ())
    np.testing.assert_array_equal(matrix.own("soups"), [9, 8, 7])
    np.testing.assert_array_equal(matrix.with_others("soups"), [(1 + 2 + 3 + 5) / 4, (3 + 4 + 1 + 6) / 4, 17 / 4])
    assert matrix.with_others("soups").mean() == pytest.approx((1 + 2 + 3 + 4 + 5 + 6) / 6)


@pytest.mark.long
def test_the_script_leaves_lines_tables_and_pictures_of_every_pair(tmp_path, capsys):
    run = write_run(tmp_path / "run", [{5: self_play_team(SHORT, 0)}, {5: self_play_team(SHORT, 1)}], config=SHORT)
    other = write_run(tmp_path / "other", [{7: self_play_team(SHORT, 2)}], config=SHORT, method="selfplay_sparse")
    out = tmp_path / "report"
    assert main([str(run), str(other), "--episodes", "3", "--out", str(out)]) == 0
    lines = read(out / "results.jsonl")
    assert len(lines) == 3 * 3 * 2 and {line.n_episodes for line in lines} == {3}
    assert {"selfplay-seed1 with selfplay_sparse-seed0", "selfplay-seed0 with selfplay-seed0"} <= {
        line.method for line in lines
    }
    written = (out / "crossplay.md").read_text()
    assert "| mean |" in written and written in capsys.readouterr().out
    for metric in ("reward", "soups"):
        with Image.open(out / f"plots/crossplay_{metric}.png") as picture:
            assert min(picture.size) > 300
    assert main([str(run), str(other), "--episodes", "3", "--out", str(out)]) == 0
    assert read(out / "results.jsonl") == lines
    assert main([str(run), "--episodes", "3", "--out", str(out)]) == 0
    assert not any("selfplay_sparse" in line.method for line in read(out / "results.jsonl"))


def test_what_cannot_meet_is_refused_in_one_sentence(tmp_path, capsys):
    run = write_run(tmp_path / "run", [{5: self_play_team(SHORT, 0)}], config=SHORT)
    ring = dataclasses.replace(SHORT, task="coordination_ring")
    other = write_run(tmp_path / "ring", [{5: self_play_team(ring, 0)}], config=ring)
    told = tmp_path / "told"
    team = sama_plan(SAMA, "sama-cramped_room", 0).build_policy()
    write_run(told, [{5: team}], config=SAMA, experiment="sama_overcooked", method="sama")
    roles = write_run(tmp_path / "roles", [], config=ROLES, experiment="overcooked_roles", method="qmix")
    for runs, said in (
        ([run], str(run)),
        ([run, other], "coordination_ring, cramped_room"),
        ([run, roles], "overcooked_roles.*overcooked_selfplay"),
        ([run, told, "--kitchen", "coordination_ring"], "coordination_ring.*--seeds"),
        ([tmp_path], str(tmp_path)),
    ):
        assert main(list(map(str, runs))) == 2
        error = capsys.readouterr().err
        assert re.search(said, error), error
    assert main(["--episodes", "none"]) == 2


def test_a_report_does_not_go_into_a_folder_of_others(tmp_path, capsys):
    (tmp_path / "crossplay_of_others.md").write_text("mine")
    assert main([str(tmp_path / "run"), "--out", str(tmp_path)]) == 2
    assert re.search(r"crossplay_of_others\.md", capsys.readouterr().err)
    assert [path.name for path in tmp_path.iterdir()] == ["crossplay_of_others.md"]


def test_a_single_trial_such_as_the_best_of_a_search_can_meet_a_run(tmp_path):
    run = write_run(tmp_path / "run", [{5: self_play_team(SHORT, 0)}], config=SHORT)
    search = write_run(tmp_path / "search", [{5: self_play_team(SHORT, 1)}], config=SHORT)
    best = (search / "trials/selfplay-seed0").rename(search / "trials/selfplay-setting02-seed0")
    assert list(load_teams([run, best], KITCHENS)) == ["selfplay-seed0", "selfplay-setting02-seed0"]


def test_teams_that_are_called_alike_are_told_apart_by_their_runs(tmp_path):
    runs = [write_run(tmp_path / name, [{5: self_play_team(SHORT, 0)}], config=SHORT) for name in ("a", "b", "c/a")]
    assert list(load_teams(runs[:2], KITCHENS)) == ["a/selfplay-seed0", "b/selfplay-seed0"]
    with pytest.raises(UserError, match="a/selfplay-seed0"):
        load_teams(runs, KITCHENS)
