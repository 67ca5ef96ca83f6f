"""The equations of RTFM computed slowly: one frame at a time, with PyTorch's packed bidirectional layers.

It takes weights from a team built by `rl_models.teams.reader_team` and shares no other code with it.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def packed(layer, words, lengths):
    """What `torch.nn`'s bidirectional layer makes of packed texts, with the weights of a `Bidirectional`."""
    kind = type(layer.onward)
    both = kind(layer.onward.input_size, layer.onward.hidden_size, batch_first=True, bidirectional=True).to(words)
    flat = dict(layer.onward.named_parameters())
    flat |= {f"{name}_reverse": value for name, value in layer.backward_.named_parameters()}
    sequence = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
    output = torch.func.functional_call(both, flat, (sequence,))[0]
    return pad_packed_sequence(output, batch_first=True, total_length=words.shape[1])[0]


def self_attention(layer, states):
    """Eqs. 10-12 over [L, F]."""
    weights = torch.softmax(layer.score(states)[:, 0], 0)
    return (weights[:, None] * states).sum(0)


def attend(states, query):
    """Eqs. 14-16 over [L, F]."""
    return (torch.softmax(states @ query, 0)[:, None] * states).sum(0)


class SlowReading:
    def __init__(self, policy):
        self.policy, self.net = policy, policy.network
        self.reader, self.stack = self.net.reader, self.net.stack

    def read(self, layer, tokens):
        """States [L, F] of one text without its padding."""
        words = tokens[tokens != 0].long()
        if len(words) == 0:
            words = torch.zeros(1, dtype=torch.long)
        return packed(layer, self.net.words.weight[words][None], torch.tensor([len(words)]))[0]

    def frame(self, obs, b, t, n):
        """Logits [A] and value of one agent at one step."""
        tokens = {key: obs[f"texts/{key}"][obs[key][b, t, n].long()] for key in ("document", "goal")}
        names = [self.net.names[name.long()] for name in obs["inventory"][b, t, n]]
        fixed, document = self.texts(tokens, names)
        grid = obs["grid"][b, t, n].long()
        cells = self.net.words.weight[self.net.names[grid]].sum((2, 3)).permute(2, 0, 1)  # [F, H, W]
        row, column = obs["position"][b, t, n, 0].tolist()
        height, width = grid.shape[:2]
        offsets = torch.zeros(2, height, width).to(cells)
        for y in range(height):
            for x in range(width):
                offsets[0, y, x], offsets[1, y, x] = (x - column) / width, (y - row) / height
        pooled = self.grid(cells, offsets, fixed, document)
        activate = torch.relu if self.net.activation is torch.relu else torch.tanh
        features = activate(self.net.output(pooled))
        logits = self.policy.policy_head.policy(features).masked_fill(~obs["legal"][b, t, n], -1e9)
        return logits, self.policy.value_head.value(features)[0]

    def texts(self, tokens, names):
        """Fixed text features, and the document's states if the grid looks at them."""
        if hasattr(self.reader, "readers"):
            parts = [self.summary(key, tokens[key]) for key in ("document", "goal")]
            return torch.cat([*parts, *[self.summary("inventory", name) for name in names]]), None
        if hasattr(self.reader, "mixed_fields"):
            return self.texts_of_silg(tokens, names)
        reader, config = self.reader, self.reader.config
        inventories = [
            self_attention(reader.inventory_summary, self.read(reader.inventory_reader, name)) for name in names
        ]
        goal = self_attention(reader.goal_summary, self.read(reader.goal_reader, tokens["goal"]))
        document = self.read(reader.document_reader, tokens["document"])
        if config.shares_words:
            words = tokens["document"][tokens["document"] != 0].long()
            document = torch.cat([document, self.net.words.weight[words if len(words) else [0]]], 1)
        parts = inventories
        if config.has_goal or not config.attends_to_goal:
            parts = [*parts, goal]
        if config.attends_to_goal:
            parts = [*parts, attend(self.read(reader.goal_reader, tokens["document"]), goal)]
        if config.attends_to_grid:
            return torch.cat(parts), document
        return torch.cat([*parts, self_attention(reader.document_summary, document)]), None

    def texts_of_silg(self, tokens, names):
        """One reader for all; goal and inventories are fields, and each asks the document."""
        layer, summaries = self.reader.reader, self.reader.summaries
        document = self.read(layer, tokens["document"])
        fields = [self_attention(summaries["goal"], self.read(layer, tokens["goal"]))]
        fields += [self_attention(summaries["inventory"], self.read(layer, name)) for name in names]
        answers = torch.stack([attend(document, field) for field in fields])
        mixed = self_attention(self.reader.mixed_fields, torch.stack(fields))
        return torch.cat([mixed, self_attention(self.reader.mixed_answers, answers)]), document

    def summary(self, key, tokens):
        return self_attention(self.reader.summaries[key], self.read(self.reader.readers[key], tokens))

    def picked(self, layer, cells, offsets):
        """The mixture of the cells that is compared with words."""
        seen = torch.cat([cells, offsets]).flatten(1).T
        return layer(seen)[:, 0].softmax(0) @ cells.flatten(1).T

    def grid(self, cells, offsets, fixed, document):
        """Maximum over the grid of the last layer."""
        if not hasattr(self.stack, "summaries"):
            cells = torch.cat([cells, fixed[:, None, None].expand(-1, *cells.shape[1:])])
        below, summary = [cells], None
        picks = [self.picked(layer, cells, offsets) for layer in getattr(self.stack, "picks", [])]
        if document is not None:
            first = torch.cat([cells, offsets]).flatten(1)  # [F + 2, H W]
            linear = self.stack.summaries[0]
            if self.stack.first_summary == "linear_of_max":
                summary = linear(first.max(1).values)
            else:
                summary = linear(first.T).max(0).values
        for index, layer in enumerate(self.stack.layers):
            seen = below[-1] + below[-2] if index == len(self.stack.layers) - 1 else below[-1]
            seen = torch.cat([seen, offsets])[None]
            if isinstance(layer, nn.Conv2d):
                below.append(torch.relu(layer(seen))[0])
                continue
            if picks:
                summary = torch.cat([summary, picks[index]])
            text = fixed if document is None else torch.cat([attend(document, summary), fixed])
            below.append(film2(layer, seen, text))
            if document is not None and index + 1 < len(self.stack.layers):
                summary = self.stack.summaries[index + 1](below[-1].flatten(1).max(1).values)
        return below[-1].flatten(1).max(1).values


def film2(layer, seen, text):
    """Eqs. 1-7 with three convolutions and three projections, [1, C, H, W] and [F] -> [C, H, W]."""
    width = layer.channels
    kernels, biases = layer.convolutions.weight.split(width), layer.convolutions.bias.split(width)
    images = [torch.conv2d(seen, kernel, bias, padding=1)[0] for kernel, bias in zip(kernels, biases, strict=True)]
    rows, constants = layer.projections.weight.split(width), layer.projections.bias.split(width)
    vectors = [(row @ text + constant)[:, None, None] for row, constant in zip(rows, constants, strict=True)]
    # The order in which a layer keeps its parts: gain, shift, words; image, gain, shift.
    output = torch.relu((1 + vectors[0]) * images[0] + vectors[1])
    if len(images) == 3:
        output = output + torch.relu((1 + images[1]) * vectors[2] + images[2])
    return output
