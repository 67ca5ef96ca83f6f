"""A figure, video or page that cannot be made is one line; everything else of a run is written."""

import io
import json
import shlex

import numpy as np
import pytest
from rich.console import Console

from tests.tune_experiments.experiments import TRAINED
from tests.tune_experiments.play.pages import read_data
from tests.tune_experiments.play.teams import untrained
from tests.tune_experiments.run.refusals import EXPERIMENT, SMOKE, save
from tests.tune_experiments.teams.games import Meeting
from tune_experiments.__main__ import main as command
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.drawing import Missing, attempt, attempt_part, describe_drawings
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.report import show_results
from tune_experiments.play import loading, show, team_commands, trial_figures
from tune_experiments.play.show import PAGE, write_page
from tune_experiments.play.team_commands import Render, Show
from tune_experiments.results import rows
from tune_experiments.results.rows import Result
from tune_experiments.run.final_evaluation import write_test_results
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.run.stored_run import StoredRun

FAULTS = {
    "raises": (RuntimeError("no display"), "no display"),
    "exits": (SystemExit("no screen"), "no screen"),
    "none": (None, ""),
    "grey": (np.zeros((4, 4), np.uint8), "render"),
    "empty": (np.zeros((0, 4, 3), np.uint8), "render"),
}


class Faulty(Meeting):
    """Draws as `fault` says."""

    def __init__(self, fault="", render_mode=None):
        super().__init__(render_mode=render_mode)
        self.fault = fault

    def render(self):
        picture, _ = FAULTS[self.fault]
        if isinstance(picture, BaseException):
            raise picture
        return picture


def faulty_team(fault):
    arguments = json.dumps({"fault": fault})
    return untrained("train", "ippo", env=f"{__name__}:Faulty", env_arguments=arguments, methods=("ippo",))


def given(monkeypatch, *teams):
    """All that is drawn is drawn of these teams."""
    monkeypatch.setattr(trial_figures, "trained_teams", lambda trials: ((team.method, team) for team in teams))


@pytest.fixture
def run_folder(tmp_path):
    """A run with results and a log."""
    folder = tmp_path / "a run"
    trial = folder / "trials/ippo-seed0"
    trial.mkdir(parents=True)
    (trial / "metrics.jsonl").write_text('{"env_steps": 10, "episode/return": 1.0}\n')
    line = Result("train", "Teams in any environment", "ippo", "game", "test", 0, "return", 1.0)
    rows.write(folder / "results.jsonl", [line])
    write_test_results(trial, [line])
    return folder


def shown(team, folder):
    console = Console(file=io.StringIO(), width=400)
    show_results(StoredRun(folder, team.experiment, team.config), console)
    return console.file.getvalue()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_is_written_whole_but_for_the_pictures_that_its_environment_does_not_draw(monkeypatch, run_folder, fault):
    team = faulty_team(fault)
    given(monkeypatch, team)
    said = shown(team, run_folder)
    lines = [line for line in said.splitlines() if line.startswith("no ")]
    assert any("video of ippo" in line and FAULTS[fault][1] in line for line in lines), said
    assert sum("video of ippo" in line for line in lines) == 1
    assert (run_folder / "table.md").exists() and (run_folder / "plots/curves.png").exists()
    (episode,) = read_data((run_folder / PAGE).read_text())["teams"][0]["episodes"]
    assert len(episode["steps"]) == 4 and not any(episode["pictures"])
    assert not list((run_folder / "videos").glob("*"))


def test_figures_and_pages_are_of_the_trials_that_the_table_has(monkeypatch, run_folder):
    team, drawn = faulty_team(""), []
    for number, budgets in ((1, {"budget_env_steps": 1}), (2, None)):
        (folder := run_folder / f"trials/ippo-seed{number}").mkdir()
        if budgets:
            write_test_results(folder, [], budgets)
    for name in ("figures", "page"):
        monkeypatch.setattr(type(team.experiment), name, lambda self, out, trials: drawn.append(trials) or [])
    shown(team, run_folder)
    assert drawn == [{"ippo": {0: run_folder / "trials/ippo-seed0"}}] * 2


def test_a_team_that_cannot_be_opened_is_missing_in_the_page_of_the_others(monkeypatch, tmp_path):
    team = untrained("train", "ippo", env="tests.tune_experiments.teams.games:Meeting")

    def opened(trials):
        for method in trials:
            if method == "damaged":
                raise UserError("its weights are damaged")
            yield method, team

    monkeypatch.setattr(trial_figures, "trained_teams", opened)
    trials = {method: {0: tmp_path} for method in ("damaged", "ippo")}
    said = describe_drawings(team.experiment.page(tmp_path, trials))
    assert [one.partition(" ")[0] for one in sorted(said)] == ["no", "wrote"] and "damaged in" in "".join(said)
    assert [one["name"] for one in read_data((tmp_path / PAGE).read_text())["teams"]] == ["ippo-seed0"]


def test_curves_that_fail_and_a_folder_that_cannot_be_written_leave_the_rest(monkeypatch, run_folder):
    team = untrained("train", "ippo", env="tests.tune_experiments.teams.games:Meeting", methods=("ippo",))
    given(monkeypatch, team)
    (run_folder / "videos").write_text("a file in the way")

    def fails(*arguments, **named):
        raise MemoryError("no room for a figure")

    monkeypatch.setattr(trial_figures.plots, "learning_curves", fails)
    said = shown(team, run_folder)
    assert "no room for a figure" in said and "videos" in said
    assert any(read_data((run_folder / PAGE).read_text())["teams"][0]["episodes"][0]["pictures"])


def test_a_file_from_before_is_named_where_drawing_it_again_has_failed(monkeypatch, run_folder):
    team = untrained("train", "ippo", env="tests.tune_experiments.teams.games:Meeting", methods=("ippo",))
    given(monkeypatch, team)
    assert not [line for line in shown(team, run_folder).splitlines() if line.startswith("no ")]
    monkeypatch.setattr(type(team.experiment), "video", lambda *given: Broken().frames)
    monkeypatch.setattr(show, "write_page", lambda *given, **named: Broken().page)
    (named,) = (line for line in shown(team, run_folder).splitlines() if "videos/ippo" in line)
    assert named.startswith("no ") and f"/{PAGE.removesuffix('.html')}" in named and "curves" not in named


class Broken:
    """A team of which nothing can be drawn."""

    method, seed, trial_folder = "a", 0, None

    def __getattr__(self, name):
        raise RuntimeError("no display")


@pytest.mark.parametrize("name", TRAINED)
def test_no_experiment_ends_by_a_team_that_cannot_be_drawn(monkeypatch, tmp_path, name):
    """Neither by one that cannot be loaded."""
    experiment = find_experiment(name)
    config = next(iter(experiment.presets.values()))
    method = experiment.methods(config)[0]
    trials = {method: {0: tmp_path}}
    monkeypatch.setattr(trial_figures, "first_checkpoint", lambda seeds: tmp_path)
    for load in (lambda path: Broken(), lambda path: Broken().weights):
        monkeypatch.setattr(trial_figures, "load_policy", load)
        drawn = [*experiment.figures(tmp_path, trials), *experiment.page(tmp_path, trials)]
        assert all(isinstance(one, Missing) for one in drawn)
        assert "no display" in "\n".join(describe_drawings(drawn))


class Panic(BaseException):
    """What extensions in Rust raise, which is no `Exception`."""


@pytest.mark.parametrize("error", [ZeroDivisionError("a mistake"), Panic("a mistake")])
def test_a_hook_of_a_users_own_that_raises_is_one_line(error):
    def figures():
        yield from ()
        raise error

    assert describe_drawings(list(attempt("figures", figures))) == [f"no figures: {type(error).__name__}: a mistake"]
    missing = {}
    attempt_part(missing, "notes", lambda: list(figures()), None)
    assert missing == {"notes": f"{type(error).__name__}: a mistake"}
    with pytest.raises(KeyboardInterrupt):
        list(attempt("figures", lambda: (_ for _ in ()).throw(KeyboardInterrupt)))


def test_show_writes_what_can_be_shown_and_names_the_rest(monkeypatch, tmp_path):
    whole = untrained("train", "ippo", env="tests.tune_experiments.teams.games:Meeting")
    monkeypatch.setattr("tune_experiments.play.show.unique_names", lambda teams: ["whole", "broken"])
    page, *missing = write_page(tmp_path / "page.html", [whole, Broken()])
    assert [team["name"] for team in read_data(page.read_text())["teams"]] == ["whole"]
    assert describe_drawings(missing) == ["no broken in page.html: RuntimeError: no display"]


@pytest.mark.parametrize("named", ["show", "render"])
def test_a_picture_that_is_asked_for_and_cannot_be_made_at_all_is_an_error(monkeypatch, tmp_path, named):
    monkeypatch.chdir(tmp_path)
    team = faulty_team("raises")
    monkeypatch.setattr(loading, "find_checkpoint", lambda *given: tmp_path / "a/b/c")
    monkeypatch.setattr(loading, "load_policy", lambda *given: team)
    monkeypatch.setattr(show, "load_teams", lambda *given: ([team], []))
    monkeypatch.setattr(type(team.experiment), "episodes", lambda *given: Broken().episodes)
    draw = {"show": lambda: team_commands.show(Show(tmp_path), Console())}
    draw["render"] = lambda: team_commands.render(Render(tmp_path), Console())
    with pytest.raises(UserError, match="no display"):
        draw[named]()
    assert not list(tmp_path.glob("*.html")) and not list(tmp_path.rglob("*.gif"))


def test_a_shell_reads_the_folder_of_a_printed_command_as_one_word(monkeypatch, run_folder):
    given(monkeypatch)
    last = shown(faulty_team(""), run_folder).splitlines()[-1]
    assert shlex.split(last)[-1] == str(run_folder / "trials")


def test_a_method_is_shown_by_its_first_seed_with_a_checkpoint_and_one_without_is_named(tmp_path):
    RunFolder.open(tmp_path / "run", config_to_json(SMOKE), EXPERIMENT.name).close()
    (tmp_path / "run/trials/marginal-seed0").mkdir()
    save(tmp_path / "run/trials/marginal-seed1/checkpoints", seed=1)
    teams, missing = show.load_teams(tmp_path / "run")
    assert [(team.method, team.seed) for team in teams] == [("marginal", 1)]
    assert {one.what for one in missing} == {*EXPERIMENT.methods(SMOKE)} - {"marginal"}
    trials = StoredRun.open(tmp_path / "run").trials
    assert {method: team.seed for method, team in trial_figures.trained_teams(trials)} == {"marginal": 1}


@pytest.mark.parametrize(
    ("words", "flag", "name"),
    [
        (["show", "pretrained/furnmove_sync"], "--out", "page.html"),
        (["render", "pretrained/furnmove_sync"], "--out", "video.gif"),
        (["play", "pretrained/furnmove_sync", "--human", "agent_0"], "--record", "kept"),
        (["table", "run"], "--save", "run.jsonl.gz"),
        (["export", "run"], "--out", "run.csv"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(monkeypatch, tmp_path, capsys, words, flag, name):
    (tmp_path / "file").touch()
    monkeypatch.setattr(loading.LoadedPolicy, "make_world", None)
    assert command([*words, flag, str(tmp_path / "file/below" / name)]) != 0
    said = capsys.readouterr().err
    assert flag in said and f"{tmp_path / 'file'} " in said and said.count("\n") == 1
