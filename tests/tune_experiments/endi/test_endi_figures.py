"""Films of EnDi: each agent's entities are ringed in its colour, and nothing else changes in the picture."""

import numpy as np
import pytest

from rl_models.networks.entity_divider import ENTITIES, MASK
from tests.tune_experiments.play.teams import untrained
from tune_experiments.endi import episode_video
from tune_experiments.endi.episode_video import ringed
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.recording import chosen_episode

MESSENGER, RTFM = find_experiment("endi_messenger"), find_experiment("endi_rtfm")
WORLDS = pytest.mark.parametrize(
    ("experiment", "look", "row"),
    [
        (MESSENGER, episode_video.MESSENGER, "endi_dis"),
        (RTFM, episode_video.RTFM, "endi_dis"),
        (RTFM, episode_video.RTFM, "endi_dis_matching"),
    ],
    ids=["messenger", "rtfm", "matching"],
)
COLOURS = ((10, 20, 200), (200, 30, 40))


def test_a_ring_lies_in_its_cell_one_agents_within_the_others():
    blank = np.full((120, 120, 3), 255, np.uint8)
    one, both = (ringed(blank, [((1, 2), agents)], 40, COLOURS) for agents in ([1], [0, 1]))
    for picture in (one, both):
        changed = (picture != blank).any(-1)
        assert changed[40:80, 80:120].any()
        changed[40:80, 80:120] = False
        assert not changed.any()
    middle = both[60, 80:100].tolist()
    outer, inner = (middle.index(list(colour)) for colour in COLOURS)
    assert outer < inner
    assert list(COLOURS[0]) not in one.reshape(-1, 3).tolist()


@WORLDS
def test_rings_are_where_the_masks_say_and_nowhere_else(experiment, look, row, monkeypatch):
    policy = untrained(experiment.name, row, stage=0)
    told, thoughts = [], []

    def note(picture, owners, *arguments):
        told.append(owners)
        thoughts.append({name: policy.last_output.extras[name].clone() for name in (MASK, ENTITIES)})
        return ringed(picture, owners, *arguments)

    monkeypatch.setattr(episode_video, "ringed", note)
    index = chosen_episode(policy, 226)
    episode_video.video(policy, look, 226)
    assert told
    for owners, thought in zip(told, thoughts, strict=True):
        assert len(owners) == int(thought[ENTITIES][index, 0, 0].sum())
        taken = sum(len(agents) for _, agents in owners)
        assert taken == int(thought[MASK][index, 0].sum())


@WORLDS
def test_entities_are_ringed_in_the_cells_where_they_are(experiment, look, row):
    world = untrained(experiment.name, row, stage=0).make_world(2)
    obs = world.reset(1)
    cells = look.cells({name: value[1, 0] for name, value in obs.items()})
    if experiment is MESSENGER:
        assert cells == [tuple(map(int, sprite.place)) for sprite in world.scene(1).sprites]
    else:
        shown = [cell for cell, name in zip(cells, obs["grid"][1, 0].ravel(), strict=True) if name]
        scene = world.scene(1)
        assert {cell for _, cell in (*scene.monsters, *scene.items)} <= set(shown)


def test_teams_that_do_not_divide_have_no_rings(monkeypatch):
    ringed_cells = []
    monkeypatch.setattr(episode_video, "ringed", lambda picture, owners, *look: ringed_cells.append(owners) or picture)
    MESSENGER.video(untrained("endi_messenger", "emma", stage=0), 226)
    assert ringed_cells and not any(ringed_cells)
