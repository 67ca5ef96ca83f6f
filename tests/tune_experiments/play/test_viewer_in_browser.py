"""The page of episodes in a real browser: its player to the end, by keys and mouse, and nothing that it may not do."""

import numpy as np
import pytest

from cluster.testing.local_cluster import wait_until
from tests.browser import chromium, tab  # noqa: F401 (fixtures)
from tests.tune_experiments.play.pages import EVIL, make_episode
from tests.tune_experiments.play.teams import untrained
from tune_experiments.play.show import write_page
from tune_experiments.play.viewer.page import ShownTeam, render_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A page with two teams side by side."""
    path = tmp_path_factory.mktemp("page") / "pair.html"
    teams = [untrained("endi_messenger", method) for method in ("endi_dis", "emma")]
    return write_page(path, teams, 3, 2, beside=True)[0]


def test_the_player_steps_two_teams_to_their_end_by_keys(pair, tab):  # noqa: F811
    tab.goto(pair.as_uri())
    last = int(tab.get_attribute("#scrub", "max"))
    assert tab.locator(".team").count() == 2 and last > 0
    assert "same state" in tab.inner_text("#same")
    for _ in range(last):
        tab.keyboard.press("ArrowRight")
    assert tab.input_value("#scrub") == str(last) and "end" in tab.inner_text("#where")
    assert "length" in tab.locator(".team").first.inner_text()
    tab.keyboard.press("Home")
    assert tab.input_value("#scrub") == "0"
    assert tab.complaints == []


def test_rows_and_columns_of_the_joint_policy_are_named_as_the_actions(pair, tab):  # noqa: F811
    tab.goto(pair.as_uri())
    first = tab.locator(".team").first
    names = untrained("endi_messenger", "endi_dis").make_world(1).action_names
    for scope in ("row", "col"):
        assert first.locator(f".map th[scope={scope}]").all_inner_texts() == list(names)
    first.locator(".map td[aria-label]").first.hover()
    assert f"{names[0]} and {names[0]}: " in first.locator(".map td[aria-label]").first.get_attribute("aria-label")
    assert f"{names[0]} and {names[0]}: " in first.locator(".left").inner_text()
    assert tab.complaints == []


def test_it_plays_by_itself_and_stops_at_the_end(pair, tab):  # noqa: F811
    tab.goto(pair.as_uri())
    tab.select_option("#speed", "100")
    tab.keyboard.press(" ")
    wait_until(lambda: tab.inner_text("#where").startswith("end"), 60, "it does not play to the end")
    assert tab.inner_text("#play") == "\u25b6"


def test_scrubbing_draws_the_picture_of_that_step(pair, tab):  # noqa: F811
    tab.goto(pair.as_uri())
    tab.locator("#scrub").fill("1")
    tab.wait_for_selector(".world[data-step='1']")
    size = tab.evaluate("[document.querySelector('.world').width, document.querySelector('.world').height]")
    assert min(size) > 100
    drawn = tab.evaluate(
        "Array.from(document.querySelector('.world').getContext('2d').getImageData(60, 60, 40, 40).data)"
    )
    assert np.std(drawn) > 0


def test_a_team_can_be_exchanged_and_another_start_chosen(pair, tab):  # noqa: F811
    tab.goto(pair.as_uri())
    tab.select_option("#second", "-1")
    assert tab.locator(".team").count() == 1
    tab.keyboard.press(".")
    assert tab.input_value("#start") == "1"
    tab.select_option("#first", "1")
    assert tab.locator(".team h2").inner_text() == "emma-seed0"


@pytest.mark.parametrize("text", [EVIL, "<img src=x onerror=\"document.title='taken'\">", "word " * 200_000])
def test_what_a_model_wrote_is_shown_as_it_is_and_does_nothing(text, tmp_path, tab):  # noqa: F811
    path = tmp_path / "page.html"
    path.write_text(
        render_page("a title", [ShownTeam("team", "about", [make_episode(text, "done")])]), encoding="utf-8"
    )
    tab.goto(path.as_uri())
    assert tab.locator(".message").inner_text().startswith(text.strip()[:100])
    assert tab.locator("img").count() == 0 and tab.title() == "a title"
    assert tab.complaints == []
    if len(text) > 20_000:
        tab.locator(".message button").click()
        assert len(tab.locator(".message").text_content()) == len(text)


def test_the_page_can_reach_no_network(pair, tab):  # noqa: F811
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(pair.as_uri())
    refused = tab.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')")
    assert refused == "refused"
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert any("Content Security Policy" in said for said in tab.complaints)
