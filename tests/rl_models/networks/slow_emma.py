"""EMMA and Game-ID computed slowly: over all cells of the grid, one frame at a time, with tokens projected one by one.

It takes weights from a team built by `rl_models.teams.emma_team` and shares no other code with it, but for what tells
how sprites move, which has tests of its own.
"""

import math

import torch
from torch.nn.functional import conv2d, leaky_relu

from rl_models.layers.tracks import movements

SIDE = 10


def sentence(network, number):
    """Key and value [d] of one sentence: every token is projected, then they are averaged."""
    states, lengths = network.encoder(torch.tensor([number]))
    tokens = states[0, : lengths[0]]
    return [
        (torch.softmax(score(tokens)[:, 0], 0)[:, None] * projection(tokens)).sum(0)
        for score, projection in (
            (network.reader.key_score, network.reader.key_projection),
            (network.reader.value_score, network.reader.value_projection),
        )
    ]


def planes(symbols, cells):
    """One layer a sprite, [SIDE, SIDE, S]."""
    layers = torch.zeros(SIDE, SIDE, len(symbols), dtype=torch.long)
    for layer, (symbol, cell) in enumerate(zip(symbols.tolist(), cells.tolist(), strict=True)):
        if symbol:
            layers[cell // SIDE, cell % SIDE, layer] = symbol
    return layers


def symbols_of_cells(table, layers):
    """Mean of the vectors of the layers that are not empty, [SIDE, SIDE, d]."""
    return table[layers].sum(2) / (layers != 0).sum(2).clamp(min=1)[..., None]


def attended(network, queries, manual, averages):
    """What every cell reads in the manual, [SIDE, SIDE, d]; empty ones nothing."""
    keys, values = (torch.stack(part) for part in zip(*[sentence(network, int(i)) for i in manual], strict=True))
    scores = queries @ keys.T
    attention = torch.softmax(scores / math.sqrt(keys.shape[1]), -1) * (scores != 0)
    return attention @ values / (len(manual) if averages else 1)


def queries(network, obs, index, step):
    """Vectors of all queries, and the layers with their numbers."""
    table, symbols, cells = network.body.symbols.weight, obs["symbols"][index], obs["cells"][index]
    if getattr(network, "movements", None) is None:
        return table, planes(symbols[step], cells[step])
    agent = obs["agent_cells"][index][:, 0]
    moved = movements(symbols[None], cells[None], agent[None], SIDE)[0][step]
    both = torch.cat([table + movement for movement in network.movements.weight])
    return both, planes(symbols[step] + len(table) * moved, cells[step])


def moment(network, config, obs, index, step):
    """Cells of one moment, [SIDE, SIDE, d]."""
    table = network.body.symbols.weight
    entities = symbols_of_cells(*queries(network, obs, index, step))
    if hasattr(network, "reader"):
        entities = attended(network, entities, obs["manual"][index], config.averages_sentences)
    symbols = obs["agent_symbols"][index][step].long()
    rows = torch.where((torch.arange(len(symbols)) > 0) & (symbols > 0), symbols + 2, symbols)
    avatars = table[planes(rows, obs["agent_cells"][index][step])].sum(2)
    return (entities + avatars) / (1 + len(symbols))


def frame(policy, network, config, obs, b, t, n, member=0):
    """Log-probabilities [A] and value of one agent at one step."""
    index, body = (b, t, n), network.body
    cells = [moment(network, config, obs, index, step) for step in range(obs["symbols"].shape[3])]
    convolution = body.convolution.convolution
    channels = torch.cat([one.permute(2, 0, 1) for one in cells])[None]
    seen = leaky_relu(conv2d(channels, convolution.weight, convolution.bias))[0]
    inputs = seen.permute(1, 2, 0).flatten()
    if not hasattr(network, "reader"):
        inputs = torch.cat([inputs, body.symbols.weight[obs["roles"][index].long()].flatten()])
    width, outputs = config.hidden_size, []
    last = policy.policy_head.policy.members[member], policy.value_head.value.members[member]
    for tower in (0, 1):
        rows = slice(tower * width, (tower + 1) * width)
        first = leaky_relu(body.first.weight[rows] @ inputs + body.first.bias[rows])
        second = body.second[0 if config.shares_hidden else tower]
        outputs.append(last[tower](leaky_relu(second(first))))
    return outputs[0].log_softmax(-1), outputs[1][0]
