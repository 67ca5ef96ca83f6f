"""The mention-matching reader equals its equations, and does not depend on what it must not depend on."""

import numpy as np
import pytest
import torch

from rl_models.losses.mention_contrast import document_contrast
from rl_models.networks.mentions import DOCUMENTS, SCORES
from tests.rl_models.networks.slow_matching import SlowMatching
from tests.rl_models.networks.small import gradients, run
from tests.rl_models.networks.small_matching import KINDS, SENTENCE_END, observations, team

EMPTY = 1


def with_documents(obs):
    """Without the empty document, of which the equations say nothing."""
    obs["document"] = obs["document"].clamp(min=1)
    return obs


@pytest.mark.parametrize(
    ("agents", "changes"),
    [
        (1, {"sees_names": True, "unit_words": False}),
        (2, {}),
        (1, {"unit_words": False}),
        (1, {"has_two_tables": True}),
        (1, {"reads": "vector"}),
    ],
)
def test_features_are_what_the_equations_say(agents, changes):
    policy, obs = team(agents, **changes), with_documents(observations(agents, batch=1, time=2))
    with torch.no_grad():
        policy.network.beyond.normal_()
        features = policy.network(obs, {}, None).features
        slow = SlowMatching(policy.network, SENTENCE_END)
        for frame in np.ndindex(1, 2, agents):
            torch.testing.assert_close(features[frame], slow.frame(obs, *frame), atol=1e-9, rtol=0)


def test_frames_do_not_depend_on_the_padding_that_other_frames_need():
    """Frames with few things beside frames with many, and alone."""
    policy, obs = team(), observations()
    obs["grid"][0] = EMPTY
    obs["grid"][0, :, :, 1, 2, 0] = len(KINDS) - 1
    together = run(policy, obs).values
    alone = run(policy, {key: value if key.startswith("texts/") else value[:1] for key, value in obs.items()}).values
    torch.testing.assert_close(together[:1], alone, atol=1e-12, rtol=0)


@pytest.mark.parametrize("changes", [{}, {"has_two_tables": True}, {"reads": "vector"}])
def test_every_parameter_gets_gradient_and_padding_none(changes):
    found = gradients(team(**changes), observations(batch=8, height=9))
    for parameter, gradient in found.items():
        assert gradient is not None and gradient.abs().max() > 1e-9, parameter
    for table in ("words", "document_words") if "has_two_tables" in changes else ("words",):
        assert not found[f"network.mentions.{table}.weight"][0].any()


def test_frozen_words_get_no_gradient():
    frozen = gradients(team(learns_words=False, has_two_tables=True), observations())
    words = {name for name in frozen if name.startswith("network.mentions.") and name.endswith("words.weight")}
    assert len(words) == 2 and all(frozen[name] is None for name in words)
    assert frozen["network.mentions.sharpness"] is not None


def contrasting(obs, **changes):
    policy = team(2, contrasts=True, **changes)
    return policy, run(policy, obs).extras


def test_scores_are_the_best_matches_of_a_frames_things_in_each_document():
    obs = with_documents(observations(2, batch=1, time=2))
    policy, extras = contrasting(obs, has_two_tables=True)
    slow = SlowMatching(policy.network, SENTENCE_END)
    shown = obs["document"].unique().tolist()
    assert extras[SCORES].shape == (1, 2, 2, len(shown))
    for frame in np.ndindex(1, 2, 2):
        goal = slow.vector(obs["texts/goal"][int(obs["goal"][frame])])
        things = [node[0] for node in slow.nodes(obs, frame, goal)]
        for column, row in enumerate(shown):
            document = [w for w in obs["texts/document"][row].tolist() if w]
            scores = [torch.stack(slow.match(thing, document)) * policy.network.mentions.sharpness for thing in things]
            wanted = sum(score.logsumexp(0) for score in scores)
            torch.testing.assert_close(extras[SCORES][(*frame, column)], wanted)
        assert shown[extras[DOCUMENTS][frame]] == obs["document"][frame]
    with torch.no_grad():
        assert run(policy, obs).extras == {}, "nothing is contrasted while acting"


def test_the_contrast_is_a_cross_entropy_over_rows_and_columns_of_each_documents_first_frame():
    scores = torch.tensor([[1.0, 2.0], [3.0, 0.0], [9.0, 9.0], [0.5, 4.0]])
    documents = torch.tensor([1, 0, 2, 1])  # the third frame's is not among the two
    table = torch.stack([scores[1], scores[0]])
    rows, columns = (-(side.log_softmax(1).diagonal().mean()) for side in (table, table.T))
    torch.testing.assert_close(document_contrast(scores, documents), (rows + columns) / 2)
