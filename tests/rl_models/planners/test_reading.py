"""From papers and code to a manual: what is relevant is kept, what is said twice is said once, nothing is run."""

import functools
import json
from types import SimpleNamespace

import pytest

from rl_models.chat.exchange import ChatFailure, ChatReply
from rl_models.errors import InputError
from rl_models.planners.code_index import CodeIndex, Document, split_source
from rl_models.planners.manual import (
    GAME_QUESTIONS,
    RELEVANCE_QUESTIONS,
    paragraphs,
    read_paragraphs,
    relevant_paragraphs,
    write_manual,
)
from rl_models.planners.offline import OfflineBackend
from rl_models.planners.offline_reading import groups, normalised
from rl_models.planners.planner import Planner
from rl_models.planners.preparation import (
    deduplicate_subgoals,
    extract_objects,
    generate_states,
    translate_states,
)
from rl_models.planners.transcript import Transcript
from tests.rl_models.planners.callers import Model, caller
from tests.rl_models.planners.office import PostOffice

DOMAIN = PostOffice()
PAPER = r"""
\documentclass{article} % a comment
\title{Not part of the text, this is the preamble}
\begin{document}
\section{Introduction}
Reinforcement learning \citep{someone2019} has been applied to many \textbf{hard} problems over the last years.

\section{The game}
% a sack of letters that nobody should read about in a comment
Two clerks \emph{sort mail}. A clerk must put three letters on a counter, and each letter then waits for 20 steps.
The parcel is taken from a sack and carried to the box.

\begin{figure}\includegraphics{box.png}\caption{The box, the letter and the sack.}\end{figure}

A letter can be taken from the sack. The team gets a reward of 20\% more \footnote{no} when a parcel reaches the box.

Short one.

Our method minimises the loss $\mathcal{L} = \sum_i l_i$ with gradient descent on eight machines for two days.
\end{document}
A box and a letter after the end of the document are not read by anybody.
"""


def test_paragraphs_are_the_papers_prose():
    found = paragraphs(PAPER)
    assert len(found) == 4
    assert found[0].startswith("Reinforcement learning has been applied to many hard problems")
    assert found[1].endswith("The parcel is taken from a sack and carried to the box.")
    assert found[2].endswith("The team gets a reward of 20% more when a parcel reaches the box.")
    assert all(sign not in "".join(found) for sign in ("\\", "comment", "preamble", "box.png", "after the end"))


def test_a_manual_holds_what_the_relevant_paragraphs_tell():
    asked = caller()
    found = paragraphs(PAPER)
    assert relevant_paragraphs(asked, "the office", found, DOMAIN) == found[1:3]
    manual = write_manual(asked, "the office", found, DOMAIN)
    assert "three letters on a counter" in manual
    assert "taken from the sack" in manual
    assert "gradient descent" not in manual
    assert len(manual.splitlines()) == len(set(manual.splitlines()))
    assert asked.counts["asked"] == 2 * 4 * len(RELEVANCE_QUESTIONS) + 2 * len(GAME_QUESTIONS) + 1


def test_facts_that_a_manual_leaves_out_are_counted_in_a_warning():
    replies = [{"lines": [f"Fact {number}." for number in range(first, first + 60)]} for first in range(0, 480, 60)]
    model = Model(relevance=[{"relevant": True}], facts=replies)
    with pytest.warns(UserWarning, match="300 of 480"):
        write_manual(caller(model), "the office", ["One paragraph.", "Another one."], DOMAIN)


def test_papers_about_something_else_are_an_error():
    with pytest.raises(ValueError, match="the office"):
        write_manual(caller(), "the office", ["This paragraph is about the weather and nothing else at all."], DOMAIN)


def test_one_yes_keeps_a_paragraph_and_each_question_is_asked():
    def complete(request):
        is_second = RELEVANCE_QUESTIONS[1] in request.messages[-1].content
        return ChatReply(json.dumps({"relevant": is_second and "soup" in request.messages[-1].content}))

    asked = caller(SimpleNamespace(complete=complete))
    assert relevant_paragraphs(asked, "x", ["soup soup", "rain"], DOMAIN) == ["soup soup"]


def test_rules_read_what_no_model_reads():
    silent = SimpleNamespace(complete=lambda request: ChatFailure("no answer"))
    manual = write_manual(caller(silent), "the office", paragraphs(PAPER), DOMAIN)
    assert manual == write_manual(caller(), "the office", paragraphs(PAPER), DOMAIN)
    assert "three letters" in manual


def test_a_file_that_cannot_be_read_or_is_too_large_is_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"none\.tex"):
        read_paragraphs(tmp_path / "none.tex")
    monkeypatch.setattr("rl_models.planners.manual.MAX_FILE_BYTES", 10)
    (tmp_path / "long.tex").write_text(PAPER)
    with pytest.raises(InputError, match="10 bytes"):
        read_paragraphs(tmp_path / "long.tex")


SOURCE = '''
import os
os.remove("nothing")

def take_letter(counter, sack):
    """A letter from the counter into a sack."""
    return counter

class Office:
    """Cells and people."""
    def walkTo(self, cell):
        return cell
'''


def test_code_is_split_by_function_and_class_and_found_by_words():
    documents = split_source("a/b.py", SOURCE)
    assert [one.name for one in documents] == ["a/b.py: take_letter", "a/b.py: Office", "a/b.py: Office.walkTo"]
    index = CodeIndex(documents)
    assert index.search("letter on a counter", 1)[0].name == "a/b.py: take_letter"
    assert index.search("walk somewhere", 1)[0].name == "a/b.py: Office.walkTo"
    assert index.search("weather") == []
    assert split_source("c.py", "def broken(:") == []
    assert CodeIndex(()).search("letter") == []


def test_rare_words_count_more_than_common_ones():
    documents = [Document(str(n), f"pot pot pot {'hatch' if n == 3 else 'floor'}") for n in range(6)]
    assert CodeIndex(documents).search("pot hatch", 1)[0].name == "3"


def test_a_folder_is_indexed(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.py").write_text(SOURCE)
    assert CodeIndex.from_folder(tmp_path).search("sack", 1)[0].name == "sub/x.py: take_letter"


def test_objects_come_from_the_manual_and_from_nowhere_else():
    assert set(extract_objects(caller(), DOMAIN, DOMAIN.manual)) == set(DOMAIN.objects)
    assert extract_objects(caller(), DOMAIN, "A sack holds a letter.") == ("sack", "letter")
    model = Model(objects=[{"lines": ["box", "flying saucer"]}])
    assert extract_objects(caller(model), DOMAIN, DOMAIN.manual) == DOMAIN.objects
    assert len(model.asked) == 3


def test_a_state_is_translated_with_code_at_hand():
    (state,) = DOMAIN.diverse_states(1, seed=0)
    assert translate_states(caller(), DOMAIN, DOMAIN.manual, CodeIndex(()), [state]) == [DOMAIN.situation(state)]
    model = Model(translation=[{"sentence": "All is\nwell."}])
    index = CodeIndex(split_source("k.py", SOURCE))
    translate = functools.partial(translate_states, caller(model), DOMAIN, DOMAIN.manual, index)
    assert translate([state]) == ["All is well."]
    assert "def take_letter" in model.asked[0].messages[-1].content
    planner = Planner(caller(), DOMAIN, translate=translate)
    planner.plan([state])
    assert "Situation: All is well." in planner.caller.transcript.text


def test_states_that_are_not_legal_are_left_out_or_asked_again():
    good = DOMAIN.diverse_states(3, seed=9)
    model = Model(states=[{"states": [good[0], good[1], "nonsense"]}])
    with pytest.warns(UserWarning, match="2 new states of 3"):
        assert generate_states(caller(model), DOMAIN, "m", [good[2]], count=3) == [good[2], good[0], good[1]]
    model = Model(states=[{"states": ["nonsense", good[0], "more of it"]}])
    found = generate_states(caller(model), DOMAIN, "m", [], count=5, seed=0)
    assert found == DOMAIN.diverse_states(5, seed=0)
    assert "most states are not legal" in model.asked[1].messages[-1].content


def test_seeds_share_no_states():
    """Those of seeds that are as far apart as portions are long did."""
    offline = caller(OfflineBackend())
    some = [set(generate_states(offline, DOMAIN, "m", [], count=48, seed=seed)) for seed in (0, 8, 16)]
    assert [len(found) for found in some] == [48] * 3
    assert not (some[0] & some[1] or some[1] & some[2] or some[0] & some[2])


def test_sub_goals_that_differ_are_no_doubles():
    planner = Planner(caller(), DOMAIN)
    commands = [text for plan in planner.plan(DOMAIN.diverse_states(60, seed=1)) for text in plan.commands]
    assert set(deduplicate_subgoals(caller(), DOMAIN, commands)) == set(commands) <= set(DOMAIN.subgoals)


def test_the_same_in_other_words_is_the_same():
    texts = ["bring a letter to box 0", "Bring the letter to box 0.", "bring a letter to box 1"]
    assert groups(texts, DOMAIN.agents) == [[1, 2], [3]]
    assert normalised("One clerk: bring THE letter to box 0.", DOMAIN.agents) == "bring letter box 0"
    assert deduplicate_subgoals(caller(), DOMAIN, texts) == [texts[0], texts[2]]
    model = Model(groups=[{"groups": [[1], [2, 3]]}])
    assert deduplicate_subgoals(caller(model), DOMAIN, texts) == texts[:2]
    wrong = Model(groups=[{"groups": [[1], [2]]}])
    assert deduplicate_subgoals(caller(wrong), DOMAIN, texts) == [texts[0], texts[2]]


def test_a_transcript_shows_what_a_model_wrote_and_lets_none_of_it_become_markup():
    transcript = Transcript()
    transcript.add_note("A *title*\n# no heading", ["<script>alert(1)</script>", "a\n- no item"])
    model = Model(objects=[{"lines": ["```\n# Hostile"]}])
    extract_objects(caller(model, transcript), DOMAIN, DOMAIN.manual)
    lines = transcript.text.splitlines()
    assert "## A \\*title\\* \\# no heading" in lines
    assert "- \\<script\\>alert(1)\\</script\\>" in lines
    assert "- a - no item" in lines
    assert not any(line.startswith(("```", "# Hostile")) for line in lines)
    assert sum(line.startswith("Not used, because:") for line in lines) == 3
    assert "Answered by rule instead:" in lines


def test_a_transcript_gives_each_entry_once_to_who_asks_again_and_again(tmp_path):
    for transcript in (Transcript(), Transcript(tmp_path / "transcript.md")):
        transcript.add_note("first", ["one", "two"])
        entries, place = transcript.entries_since(0)
        assert entries == [("first", "- one\n- two")]
        assert transcript.entries_since(place) == ([], place)
        transcript.add_note("second", ["three"])
        assert transcript.entries_since(place)[0] == [("second", "- three")]


def test_a_transcript_lets_nothing_steer_the_terminal_that_shows_it():
    steering = "\x1b\x07\x00\x9b\u202e"
    model = Model(objects=[f"a reply{steering}"])
    transcript = Transcript()
    transcript.add_note(f"a title{steering}", [f"a line{steering}"])
    extract_objects(caller(model, transcript), DOMAIN, DOMAIN.manual)
    for line in ("a title", "a line", "a reply"):
        assert f"{line}\N{REPLACEMENT CHARACTER}" in transcript.text
    assert not set(steering) & set(transcript.text)


def test_a_transcript_ends_where_it_is_told_to():
    transcript = Transcript(max_entries=2)
    for number in range(5):
        transcript.add_note(f"note {number}", [])
    assert "note 1" in transcript.text
    assert "note 2" not in transcript.text
    assert transcript.text.count("The transcript ends here") == 1
