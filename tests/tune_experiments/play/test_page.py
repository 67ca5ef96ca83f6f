"""The page of episodes: what it holds of each team, and that nothing in it runs, loads or escapes."""

import base64
import hashlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.tune_experiments.play.pages import EVIL, Elements, make_episode, read_data
from tests.tune_experiments.play.teams import untrained
from tune_experiments.__main__ import main as after_training
from tune_experiments.play.attention_maps import AttentionMap
from tune_experiments.play.episode import AgentStep, record_episodes
from tune_experiments.play.show import unique_names, write_page
from tune_experiments.play.viewer.page import FOLDER, KEY_EVERY, ShownTeam, encode_pictures, render_page


def test_the_policy_allows_the_pages_own_program_and_style_and_nothing_else():
    page = render_page("a title", [ShownTeam("team", "about", [make_episode("hello")])])
    elements = Elements(page)
    policy = next(attributes["content"] for tag, attributes in elements.tags if "http-equiv" in attributes)
    program = (FOLDER / "viewer.js").read_text()
    assert elements.scripts[1] == program
    hashes = re.findall("'sha256-(.*?)'", policy)
    style = (FOLDER / "viewer.css").read_text()
    assert hashes == [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (program, style)]
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy and "http" not in policy


def test_the_page_names_no_address_and_has_no_inline_handler():
    elements = Elements(render_page("a title", [ShownTeam("team", "about", [make_episode("hello")])]))
    names = {name for _, attributes in elements.tags for name in attributes}
    assert not names & {"src", "href", "srcset", "style", "action"}
    assert not any(name.startswith("on") for name in names)


@pytest.mark.parametrize("text", [EVIL, "<svg/onload=alert(1)>", "%PROGRAM% %DATA%", "\u202e\x00 & ' \" \\"])
def test_no_text_of_a_model_ends_the_element_that_holds_it(text):
    harmless, page = (render_page(one, [ShownTeam(one, one, [make_episode(one)])]) for one in ("a text", text))
    assert [tag for tag, _ in Elements(page).tags] == [tag for tag, _ in Elements(harmless).tags]
    data = read_data(page)
    assert data["title"] == text
    assert text in data["teams"][0]["episodes"][0]["texts"]


def test_the_program_writes_no_text_as_markup():
    program = (FOLDER / "viewer.js").read_text()
    assert not re.search("innerHTML|outerHTML|insertAdjacentHTML|document.write|eval|Function\\(", program)


def test_a_long_message_is_kept_whole_and_once():
    message = "word " * 200_000
    page = render_page("a title", [ShownTeam("team", "about", [make_episode(message, message, message)])])
    assert len(page) < 1_200_000
    assert message in read_data(page)["teams"][0]["episodes"][0]["texts"]


def test_pieces_of_pictures_laid_over_one_another_give_every_picture():
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 255, (20, 30, 3), np.uint8)]
    for _ in range(KEY_EVERY + 3):
        following = pictures[-1].copy()
        row, column = random.integers(0, 15, 2)
        following[row : row + 3, column : column + 4] += 1
        pictures.append(following)
    pictures += [pictures[-1], random.integers(0, 255, (24, 30, 3), np.uint8)]
    pieces, shown = encode_pictures(pictures), None
    for piece, picture in zip(pieces, pictures, strict=True):
        if piece is not None:
            part = np.asarray(Image.open(io.BytesIO(base64.b64decode(piece["png"]))))
            shown = np.zeros_like(picture) if piece["whole"] else shown
            y, x = piece["y"], piece["x"]
            shown[y : y + part.shape[0], x : x + part.shape[1]] = part
        assert (shown == picture).all()
    assert pieces[-2] is None and sum(piece["whole"] for piece in pieces if piece) == 3


def test_weights_of_attention_come_back_to_half_a_percent():
    weights = np.random.default_rng(0).random((2, 3)).astype(np.float32)
    episode = make_episode("hello")
    episode.steps[0].agents = (
        AgentStep("stay", attention=(AttentionMap("goal", ("a", "b"), ("x", "y", "z"), weights),)),
    )
    shown = read_data(render_page("title", [ShownTeam("team", "about", [episode])]))["teams"][0]["episodes"][0]
    (one,) = shown["steps"][0]["agents"][0]["attention"]
    read = (np.frombuffer(base64.b64decode(one["weights"]), np.uint8) / 255.0) ** 2
    assert abs(read.reshape(2, 3) - weights).max() < 0.005
    assert shown["texts"][one["words"]].split("\n") == ["x", "y", "z"]


TEAMS = {
    "furnmove_sync": ("sync_13_cordial", {"picture", "joint", "weights", "notes"}),
    "matrix_game": ("sync", {"likely"}),
    "messenger_emma": ("emma", {"picture", "attention", "texts"}),
    "rtfm_txt2pi": ("txt2pi", {"picture", "attention", "texts"}),
    "endi_rtfm": ("endi_dis", {"picture", "entities", "joint", "texts"}),
    "endi_messenger": ("endi_dis", {"picture", "entities", "joint"}),
    "overcooked_selfplay": ("selfplay", {"picture", "joint"}),
    "overcooked_roles": ("qmix", {"picture", "likely"}),
}


@pytest.mark.parametrize("experiment", TEAMS)
def test_a_teams_page_shows_all_that_its_world_and_network_offer(experiment):
    method, expected = TEAMS[experiment]
    loaded = untrained(experiment, method)
    (episode,) = loaded.experiment.episodes(loaded, 3, 1, 4)
    found = set()
    for step in episode.steps:
        found |= {name for name in ("joint", "picture") if getattr(step, name) is not None}
        found |= {name for name in ("weights", "notes", "texts") if getattr(step, name)}
        for agent, names in zip(step.agents, episode.actions, strict=True):
            found |= {name for name in ("likely", "attention") if getattr(agent, name)}
            found |= {"entities"} if agent.entities is not None else set()
            assert not names or agent.action in names
            assert all(len(one.rows) == len(one.weights) for one in agent.attention)
            assert all(len(one.words) == one.weights.shape[1] for one in agent.attention)
    assert expected <= found
    page = render_page(experiment, [ShownTeam(method, "", [episode])])
    assert len(read_data(page)["teams"][0]["episodes"][0]["steps"]) == len(episode.steps) > 0


def test_what_is_attended_to_is_named_as_the_world_names_it():
    loaded = untrained("rtfm_matching", "matching")
    (episode,) = record_episodes(loaded, 3, 1, 2)
    maps = {one.name: one for one in episode.steps[0].agents[0].attention}
    document = episode.steps[0].texts["document"].split()
    assert list(maps["goal"].words) == list(maps["grid"].words) == document
    assert any("(held)" in row for row in maps["grid"].rows)
    assert not {"wall", "empty", ""} & set(maps["grid"].rows)
    assert maps["goal"].weights.sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.long
def test_teams_of_one_run_begin_at_the_same_starts_and_of_another_seed_at_others(tmp_path):
    teams = [untrained("messenger_emma", method) for method in ("emma", "game_id")]
    starts = [[episode.start for episode in record_episodes(team, 3, 2, 1)] for team in teams]
    assert starts[0] == starts[1] and len(set(starts[0])) == 2
    assert record_episodes(teams[0], 4, 1, 1)[0].start not in starts[0]
    (page,) = write_page(tmp_path / "page.html", teams, 3, 1, beside=True)
    data = read_data(page.read_text())
    assert data["beside"] and data["teams"][0]["episodes"][0]["start"] == starts[0][0]


def test_custom_environments_that_show_something_else_begin_at_other_starts():
    games = "tests.tune_experiments.teams.games"
    teams = [untrained("train", "ippo", env=f"{games}:{name}") for name in ("Meeting", "Doors", "Meeting")]
    first, other, again = (record_episodes(team, 3, 1, 1)[0].start for team in teams)
    assert first == again != other


def test_an_episode_is_recorded_to_its_end_or_says_that_it_was_cut():
    loaded = untrained("messenger_emma", "emma")
    (whole,) = record_episodes(loaded, 3, 1)
    assert len(whole.steps) == whole.metrics["length"] and len(whole.steps[-1].rewards) == 1
    (cut,) = record_episodes(loaded, 3, 1, 1)
    assert len(cut.steps) == 1 and cut.metrics == {}


def test_show_writes_a_page_of_the_packages_teams_and_replaces_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for episodes in ("1", "2"):
        assert after_training(["show", "pretrained/rtfm_letters", "--episodes", episodes]) == 0
    assert len(read_data((tmp_path / "episodes.html").read_text())["teams"][0]["episodes"]) == 2


def test_teams_are_called_by_trial_then_by_folder_then_by_length_of_training():
    def name(*teams):
        made = [untrained("matrix_game", method) for method, _, _ in teams]
        for team, (_, folder, env_steps) in zip(made, teams, strict=True):
            team.trial_folder, team.env_steps = folder and Path(folder), env_steps
        return unique_names(made)

    assert name(("sync", None, 0), ("marginal", None, 0)) == ["sync-seed0", "marginal-seed0"]
    runs = ("sync", "/a/trials/sync-seed0", 5), ("sync", "/b/trials/sync-seed0", 5)
    assert name(*runs) == ["a/trials/sync-seed0", "b/trials/sync-seed0"]
    checkpoints = ("sync", "/a/trials/sync-seed0", 500), ("sync", "/a/trials/sync-seed0", 1000)
    assert name(*checkpoints) == ["sync-seed0, 500 env steps", "sync-seed0, 1,000 env steps"]
