"""txt2π, its ablations and its baselines equal their equations; parameter counts are the published ones."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.layers.words import Bidirectional
from rl_models.losses.mention_warm_start import MentionWarmStart
from rl_models.networks.mentions import DOCUMENTS, SCORES
from rl_models.networks.network_config import SilgConfig
from rl_models.networks.txt2pi import PAPER, CnnConfig, FilmConfig, Txt2PiConfig
from rl_models.schedule import Progress, Schedule
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from tests.rl_models.networks import small_matching
from tests.rl_models.networks.slow_reading import SlowReading, packed
from tests.rl_models.networks.small import ACTIONS, NETWORKS, WORDS, gradients, narrow, observations, run, sizes, team

FORMS = sorted(NETWORKS)


@pytest.mark.parametrize(("name", "agents"), [("released", 1), *((name, 2) for name in FORMS)])
def test_a_network_is_what_its_equations_say(name, agents):
    policy = team(name, agents, head_hidden_size=6 if name == "paper" else 0)
    obs = observations(agents, batch=2, time=4)
    output, slow = run(policy, obs), SlowReading(policy)
    for b in range(2):
        for t in range(4):
            for n in range(agents):
                logits, value = slow.frame(obs, b, t, n)
                got = output.policy.log_marginals[b, t, n, 0]
                torch.testing.assert_close(got, logits.log_softmax(-1), atol=1e-9, rtol=0)
                torch.testing.assert_close(output.values[b, t, n], value, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("network", "count"),
    [
        (Txt2PiConfig(), 912_872),
        (NETWORKS["no_task_attn"], 912_872),  # the goal's summary is as wide as what it stands in for
        (NETWORKS["no_vis_attn"], 912_872 - 6_600 - 3_400 - 6_600 - 13_000 - 13_000 + 201),
        (NETWORKS["no_text_mod"], 912_872 - 15_984 - 23_904 - 66_240 - 2 * 103_104),
        (FilmConfig(), 342_077),
        (CnnConfig(), 466_517),
        (SilgConfig(), 4_916_915 - 401 - 26_000),  # without a document's summary and the last layer's
    ],
)
def test_sizes_are_those_of_the_released_networks_without_what_they_never_use(network, count):
    vocabulary = 30_522 if isinstance(network, SilgConfig) else 262
    policy = reader_team(ReaderTeamConfig(network), sizes(vocabulary=vocabulary), ACTIONS)
    assert sum(parameter.numel() for parameter in policy.parameters()) == count


def test_the_paper_team_differs_where_the_sheet_says():
    config = ReaderTeamConfig(PAPER, head_hidden_size=400, only_legal_moves=False)
    paper = reader_team(config, sizes(), ACTIONS)
    reader = paper.network.reader
    assert reader.features == 20 + 20 + 20
    assert reader.context_features == 200
    assert type(reader.inventory_reader.onward) is torch.nn.LSTM
    assert run(paper, observations()).policy.log_marginals.min() > -20  # illegal moves are not masked


def shown_whole(obs):
    """The same observations with a text of its own in every frame, as nobody shared any."""
    whole = dict(obs)
    for key in ("document", "goal"):
        rows = obs[key].flatten().long()
        whole[f"texts/{key}"] = obs[f"texts/{key}"][rows]
        whole[key] = torch.arange(len(rows), dtype=torch.int32).view(obs[key].shape)
    return whole


@pytest.mark.parametrize("name", FORMS)
def test_texts_encoded_once_give_the_values_and_gradients_of_texts_encoded_in_every_frame(name):
    policy, obs = team(name, agents=2), observations(agents=2)
    tokens = {key: value for key, value in obs.items() if not key.startswith("texts/")}
    tokens |= {key: obs[f"texts/{key}"][obs[key].long()] for key in ("document", "goal")}
    once, always, told = (run(policy, one) for one in (obs, shown_whole(obs), tokens))
    torch.testing.assert_close(once.values, always.values, atol=1e-12, rtol=0)
    torch.testing.assert_close(once.values, told.values, atol=1e-12, rtol=0)
    torch.testing.assert_close(once.policy.log_marginals, always.policy.log_marginals, atol=1e-12, rtol=0)
    ours, theirs = gradients(policy, obs), gradients(policy, shown_whole(obs))
    torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)


@pytest.mark.parametrize("name", FORMS)
def test_a_text_is_encoded_once_however_many_frames_show_it(name):
    policy, obs = team(name), observations(texts=9)
    encoded = []
    encode = policy.network.reader.encode_text
    policy.network.reader.encode_text = lambda key, tokens: encoded.append((key, len(tokens))) or encode(key, tokens)
    run(policy, obs)
    distinct = {key: len(obs[key].unique()) for key in ("document", "goal", "inventory")}
    assert sorted(encoded) == sorted(distinct.items())
    assert distinct["document"] < obs["document"].numel()


READERS = {
    "txt2pi": (lambda: team("released", agents=2), observations),
    "mention-matching": (lambda: small_matching.team(2), small_matching.observations),
}


@pytest.mark.parametrize("reader", READERS)
def test_attention_maps_are_weights_over_the_words_of_each_frames_document(reader):
    build, show = READERS[reader]
    policy, obs = build(), show(agents=2)
    if reader == "mention-matching":
        obs["document"] = obs["document"].clamp(min=1)  # of the empty document it says nothing
    assert run(policy, obs).extras == {}
    policy.network.shows_attention = True
    maps = run(policy, obs).extras
    lead = (3, 7, 2)
    assert maps["attention/goal"].shape == (*lead, 11)
    assert reader != "txt2pi" or maps["attention/grid"].shape == (*lead, 5, 11)
    length = (obs["texts/document"] != 0).sum(-1).clamp(min=1)[obs["document"].long()]
    behind = torch.arange(11) >= length[..., None]
    for weights in (maps["attention/goal"], *maps["attention/grid"].unbind(-2)):
        torch.testing.assert_close(weights.sum(-1), torch.ones(lead).double())
        assert not weights[behind].any()


@pytest.mark.parametrize(
    ("name", "maps"),
    [
        ("no_task_attn", {"attention/grid"}),
        ("no_vis_attn", {"attention/goal"}),
        ("no_text_mod", {"attention/goal", "attention/grid"}),
        ("film", set()),
        ("cnn", set()),
    ],
)
def test_a_network_without_attention_has_no_attention_map(name, maps):
    policy = team(name)
    policy.network.shows_attention = True
    assert run(policy, observations()).extras.keys() == maps


def test_a_contrasting_reader_scores_each_frame_with_each_document():
    config = dataclasses.replace(narrow(NETWORKS["released"]), contrasts=True)
    policy = reader_team(ReaderTeamConfig(config), sizes(), ACTIONS).double()
    obs = observations(batch=2, time=2)
    extras, network = run(policy, obs).extras, policy.network
    shown = obs["document"].unique().tolist()
    slow = SlowReading(policy)
    for b, t in ((0, 0), (1, 1)):
        things = [network.words.weight[network.names[name]].sum(0) for name in obs["grid"][b, t, 0].flatten().long()]
        queries = [network.stack.summaries[0](torch.cat([thing, torch.zeros(2).double()])) for thing in things]
        for column, row in enumerate(shown):
            states = slow.read(network.reader.document_reader, obs["texts/document"][row])
            wanted = sum((states @ query).logsumexp(0) for query in queries)
            torch.testing.assert_close(extras[SCORES][b, t, 0, column], wanted)
        assert shown[extras[DOCUMENTS][b, t, 0]] == obs["document"][b, t, 0]
    with torch.no_grad():
        assert run(policy, obs).extras == {}


def test_a_warm_start_wants_attention_where_the_things_that_are_asked_for_are_mentioned():
    policy, obs = team("released"), observations(batch=2, time=3)
    policy.network.shows_attention = True
    obs["texts/document"][1:, 0] = 9
    names = torch.tensor([[0], [9], [3]])
    obs["grid"] = obs["grid"] % 2
    batch = {f"obs/{name}": value for name, value in obs.items() if "/" not in name}
    batch |= {"texts/document": obs["texts/document"], "reward": torch.zeros(2, 3, 1)}
    loss = MentionWarmStart(Schedule.linear(0.5, 0.0, 100), names, torch.tensor([False, True, True]), WORDS)
    value, logged = loss(run(policy, obs), batch, Progress())
    attention = run(policy, obs).extras["attention/grid"]
    words = loss.words(torch.device("cpu")).double()
    errors = []
    for frame in np.ndindex(2, 3, 1):
        document = obs["texts/document"][int(obs["document"][frame])].long()
        if (document == 0).all() or not obs["grid"][frame].any():
            continue
        vector = words[9] * int(obs["grid"][frame].sum())
        scores = torch.stack([4 * vector @ words[word] if word else torch.tensor(-1e9).double() for word in document])
        errors += [-(scores.softmax(0) * (look + 1e-6).log()).sum() for look in attention[frame]]
    torch.testing.assert_close(logged["loss/mention_warm_start"].double(), sum(errors) / len(errors), rtol=1e-5, atol=0)
    assert value == 0.5 * logged["loss/mention_warm_start"]
    late, _ = loss(run(policy, obs), batch, Progress(env_steps=100))
    assert late == 0 and not late.requires_grad


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double, requires_grad=True)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("longest", [6, 9])
def test_a_padded_text_is_read_as_a_packed_one(cell, longest):
    """States on the words, and every gradient; 150 texts are read in several parts."""
    torch.manual_seed(0)
    layer = Bidirectional(cell, 3, 4).double()
    lengths = torch.arange(150) % longest + 1
    words, toward = draw(150, 9, 3), draw(150, 9, 8, seed=1).detach()
    is_word = (torch.arange(9) < lengths[:, None])[..., None]
    wanted, read = packed(layer, words, lengths), layer(words, lengths)
    torch.testing.assert_close(read * is_word, wanted * is_word, atol=1e-12, rtol=0)
    inputs = [words, *layer.parameters()]
    expected = torch.autograd.grad((wanted * is_word * toward).sum(), inputs)
    found = torch.autograd.grad((read * is_word * toward).sum(), inputs)
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)
