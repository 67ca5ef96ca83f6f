"""Documents and goals say exactly the assignment and the team, whole, in our own words (RTFM, section 3)."""

import re

import numpy as np
import pytest

from rl_envs.rtfm import templates
from rl_envs.rtfm.assignments import assignments
from rl_envs.rtfm.text import DOCUMENT_DRAWS, DocumentWriter
from rl_envs.rtfm.words import ELEMENTS, NAME_SETS, TEAMS
from rl_envs.rtfm.world import Rtfm, lexicon

FORMS = (*templates.BEATS, *templates.MEMBERS, *templates.GOALS)
VARIANTS = [(group, names) for group in (False, True) for names in NAME_SETS]


def written(world, key):
    """The texts of all worlds as strings."""
    table = world.texts[key].table
    return [world.lexicon.decode(table[row]) for row in world.state[key]]


def understood(document, names):
    """(modifier -> element, monster -> team) as a reader who knows the templates takes them from a document."""
    element_of, team_of = {}, {}
    forms = [(form, ELEMENTS, element_of) for form in (templates.PLAIN_BEATS, *templates.BEATS)]
    forms += [(form, TEAMS, team_of) for form in (templates.PLAIN_MEMBERS, *templates.MEMBERS)]
    known = "|".join(names.monsters + names.modifiers)
    for sentence in document.removesuffix(" .").split(" . "):
        readings = []
        for form, groups, said in forms:
            pattern = re.escape(form).replace(r"\{names\}", rf"(?P<names>(?:{known})(?: , (?:{known}))*)")
            pattern = pattern.replace(r"\{group\}", f"(?P<group>{'|'.join(groups)})")
            if found := re.fullmatch(pattern, f"{sentence} ."):
                readings.append((found, said))
        assert len(readings) == 1, sentence
        found, said = readings[0]
        said |= dict.fromkeys(found["names"].split(" , "), found["group"])
    return element_of, team_of


@pytest.mark.parametrize(("group", "names"), VARIANTS)
@pytest.mark.parametrize("nl", [False, True])
def test_a_document_states_the_whole_assignment_and_nothing_else(group, names, nl):
    world = Rtfm(200, group=group, nl=nl, names=names)
    world.reset(0)
    known, own = assignments(group), NAME_SETS[names]
    teams, elements = known.ranks(world.state["assignment"])
    for row, document in enumerate(written(world, "document")):
        element_of, team_of = understood(document, own)
        team_labels, element_labels = known.teams.labels[teams[row]], known.elements.labels[elements[row]]
        assert team_of == {own.monsters[n]: TEAMS[label] for n, label in enumerate(team_labels)}
        assert element_of == {own.modifiers[n]: ELEMENTS[label] for n, label in enumerate(element_labels)}


def test_there_are_as_many_forms_as_the_papers_count():
    assert [len(set(forms)) for forms in (templates.GOALS, templates.BEATS, templates.MEMBERS)] == [12, 10, 10]
    assert all(form.count("{group}") == 1 for form in FORMS)
    assert all(form.count("{names}") == (form not in templates.GOALS) for form in FORMS)


def test_natural_documents_use_all_forms_in_every_order_and_plain_ones_one_form_in_one_order():
    world = Rtfm(600, group=True, nl=True)
    world.reset(0)
    documents = written(world, "document")
    for form in (*templates.BEATS, *templates.MEMBERS):
        pattern = re.escape(form).replace(r"\{names\}", "[^.:]+?").replace(r"\{group\}", "[a-z ]+?")
        assert sum(bool(re.search(rf"(^|\. ){pattern}", document)) for document in documents) > 30, form
    first = [next(group for group in (*ELEMENTS, *TEAMS) if group in text.split(" . ")[0]) for text in documents]
    assert min(first.count(group) for group in (*ELEMENTS, *TEAMS)) > 50
    plain = Rtfm(50, group=True)
    plain.reset(0)
    for document in written(plain, "document"):
        assert [next(g for g in (*ELEMENTS, *TEAMS) if g in part) for part in document.split(" . ")] == [
            *ELEMENTS,
            *TEAMS,
        ]


@pytest.mark.parametrize("nl", [False, True])
def test_the_goal_names_the_team_in_every_form(nl):
    world = Rtfm(2000, nl=nl)
    world.reset(0)
    goals = written(world, "goal")
    forms = templates.GOALS if nl else (templates.PLAIN_GOAL,)
    assert set(goals) == {form.format(group=team) for form in forms for team in TEAMS}
    assert all(TEAMS[team] in goal for team, goal in zip(world.state["goal_team"], goals, strict=True))


@pytest.mark.parametrize(("group", "plain_tokens", "most"), [(False, 33, 60), (True, 53, 80)])
@pytest.mark.parametrize("names", list(NAME_SETS))
def test_no_document_is_ever_cut(group, plain_tokens, most, names):
    """The length of the table is that of the longest document, which the longest forms of all statements make."""
    known, own = assignments(group), NAME_SETS[names]
    plain, natural = (DocumentWriter(lexicon(), own, known, is_natural) for is_natural in (False, True))
    assert plain.document_length == plain_tokens
    assert natural.document_length == most <= 96
    worst = lambda forms: max(len(form.split()) - 2 for form in forms)  # noqa: E731
    names_in = [2 * known.elements.members.shape[2] - 1, 2 * known.teams.members.shape[2] - 1]
    longest = len(ELEMENTS) * (worst(templates.BEATS) + names_in[0] + 1)
    longest += len(TEAMS) * (worst(templates.MEMBERS) + names_in[1]) + sum(len(team.split()) for team in TEAMS)
    assert longest == most
    draws = np.random.default_rng(0).random((5000, DOCUMENT_DRAWS))
    teams, elements = known.ranks(np.random.default_rng(1).integers(known.count, size=5000))
    lengths = (natural.documents(teams, elements, draws) != 0).sum(1)
    assert lengths.max() <= most and lengths.min() > plain_tokens


def test_texts_stay_as_they_are_for_an_episode_unless_resampled_every_step():
    for resample, nl, changes in (("episode", True, False), ("step", True, True), ("step", False, False)):
        world = Rtfm(40, nl=nl, group=True, resample_text=resample)
        world.reset(0)
        first, meaning = written(world, "document"), world.state["assignment"].copy()
        _, _, ended, _, _ = world.step(np.zeros((40, 1), int))
        assert not ended.any()
        second = written(world, "document")
        assert all((a != b) == changes for a, b in zip(first, second, strict=True))
        for a, b in zip(first, second, strict=True):
            assert understood(a, NAME_SETS["paper"]) == understood(b, NAME_SETS["paper"])
        np.testing.assert_array_equal(world.state["assignment"], meaning)


def test_all_variants_share_their_words_and_the_second_names_are_others():
    worlds = [Rtfm(group=group, nl=nl, names=names) for group, names in VARIANTS for nl in (False, True)]
    assert len({world.vocabulary for world in worlds}) == 1
    assert len({world.text_spec["document"].vocabulary for world in worlds}) == 1
    paper, new = NAME_SETS.values()
    assert not {*paper.monsters, *paper.modifiers, *paper.nouns} & {*new.monsters, *new.modifiers, *new.nouns}
    assert all(len(words) == 9 for words in (paper.monsters, new.monsters))
    assert all(len(words) == 8 for words in (paper.modifiers, new.modifiers))
