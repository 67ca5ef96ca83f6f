"""Whether sprites find the sentences about them: attention by who looks and whom a sentence tells of (EMMA, section 4).

Means over the starts of many episodes, in training games and in new games. A square that is never seen stays grey.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rl_envs.messenger.corpus import TEXT_SPLITS
from rl_envs.messenger.corpus_file import corpus_of
from rl_envs.messenger.symbols import ENTITIES, FIRST_ENTITY, MOVEMENTS, ROLES
from tune_experiments.messenger.config import GROUNDED, MessengerRunConfig, make_world
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.results.plots.figures import FAINT, REMARK, new_figure, save

EPISODES = 600
SEED = 226
SPLITS = {"train": "training games", "test": "new games, new sentences"}


def mean_attention(policy: LoadedPolicy, split: str) -> np.ndarray:
    """[12, 12] float64: how much sprites of an entity look at sentences about another, nan where they never meet."""
    config: MessengerRunConfig = policy.config
    world = make_world(config, config.last_stage, EPISODES, split=split)
    obs = world.reset(SEED)
    policy.reset(SEED, world.texts)
    with policy.showing_attention():
        policy.act(obs)
    assert policy.thought is not None
    weights = policy.thought.extras["attention/manual"][:, 0, 0].numpy()
    looks = obs["symbols"][:, 0, -1].astype(np.int64) - FIRST_ENTITY
    told = entities_of_sentences(config)[obs["manual"][:, 0]]
    return _mean_by_pair(*np.broadcast_arrays(looks[:, :, None], told[:, None], weights))


def entities_of_sentences(config: MessengerRunConfig) -> np.ndarray:
    """[D] int64, number of the entity that each sentence tells of."""
    corpus, _ = corpus_of(config.texts, config.repair_quotes, config.max_sentences_per_cell)
    found = np.empty(len(corpus.sentences), np.int64)
    for split in TEXT_SPLITS:
        for entity in range(len(ENTITIES)):
            for role in range(len(ROLES)):
                for kind in range(len(MOVEMENTS)):
                    found[corpus.cell(split, entity, role, kind)] = entity
    return found


def draw_attention(policy: LoadedPolicy, path: Path) -> Path:
    """Two panels, training games and new ones; a team that reads well has a dark diagonal in both."""
    figure = new_figure(width=10.5, height=5.3)
    for panel, (split, name) in zip(figure.subplots(1, 2), SPLITS.items(), strict=True):
        attention = mean_attention(policy, split)
        panel.imshow(np.ones_like(attention), cmap="Greys", vmin=0, vmax=8)
        panel.imshow(attention, cmap="Blues", vmin=0, vmax=1)
        panel.set_xticks(range(len(ENTITIES)), ENTITIES, rotation=90, fontsize=8)
        panel.set_yticks(range(len(ENTITIES)), ENTITIES, fontsize=8)
        panel.set_title(f"{name}: {np.nanmean(np.diag(attention)):.2f} on the own sentence", loc="left", fontsize=10)
        panel.set_xlabel("sentence tells of", fontsize=9)
        panel.tick_params(length=0)
        panel.spines[:].set_color(FAINT)
    figure.axes[0].set_ylabel("sprite", fontsize=9)
    is_grounded = policy.method.endswith(GROUNDED)
    remark = ", with a contrastive grounding loss that is not in the paper" if is_grounded else ""
    figure.suptitle(f"{policy.method}{remark}", x=0.01, ha="left", fontsize=11)
    said = f"mean attention at the start of {EPISODES} episodes: white is 0, the darkest 1; grey: never together"
    figure.supxlabel(said, fontsize=8, color=REMARK)
    return save(figure, path)


def _mean_by_pair(looks: np.ndarray, told: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means [12, 12] over all sprites and sentences."""
    side = len(ENTITIES)
    place = (looks * side + told).ravel()
    sums = np.bincount(place, weights.ravel(), side * side)
    with np.errstate(invalid="ignore"):
        return (sums / np.bincount(place, minlength=side * side)).reshape(side, side)
