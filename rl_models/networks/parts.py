"""Observations of any game: several arrays an agent, some of them vectors and some of them images.

`PartsEncoder` turns them into one vector per agent: each entry is divided by its largest value or, without a useful
one, compressed (`Scaling`); images go through convolutions, and a reader reads texts with all of that as its query. The
networks behind it are those of the papers: a multilayer perceptron or CommNet (Sukhbaatar et al., 2016) with the
agent's own or the whole team's observations for the values (MAPPO: Yu et al., 2022, section 3), and TBONE's rounds of
messages (A Cordial Sync, section 5). All agents share the weights; the agent's index is one of the vectors. The parts
of an observation are an argument.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.layers.dense import dense
from rl_models.layers.grid_convolutions import apply_in_chunks
from rl_models.layers.initialisation import glorot_
from rl_models.networks.network_config import PartsConfig, VectorConfig
from rl_models.networks.tbone import TalkingAgents
from rl_models.networks.text_readers import TextReader, WordTable
from rl_models.networks.vector import VectorNetwork
from rl_models.policy import Features, State, Stateless, legal_actions, present_only
from rl_models.runtime.texts import TEXTS
from rl_models.text.token_states import TokenStates, WordStates

Critic = Literal["own", "team"]
"""Observations from which an agent's value is computed: its own, or those of the whole team."""
_LINEAR = 10.0
"""Largest number without a divisor that is read as it is."""
_NAME_WORDS = 4
"""Largest number of words of a name."""
_SMALL = 8
"""Largest side of an image that a convolution leaves as it is; larger ones are halved by each."""


@dataclass(frozen=True)
class Part:
    """One array of an agent's observation.

    Attributes:
        key: observation key.
        shape: shape of one agent's array; of an image (H, W, C), or (C, H, W) with `planes_first`.
        scale: divisor of its numbers, their largest value: one, or one for each entry ([*shape]; of an image for each
            channel, [C]). 0 where there is none to divide by: such numbers are compressed (`Scaling`).
        is_image: whether it goes through convolutions, also as names in cells.
        vocabulary: V, number of tokens of a text, whose shape is () or (sentences,); 0 for an array of numbers.
        planes_first: whether the channels of an image stand before its rows.
        table: [D, L], the tokens of each of D names or texts, of whose numbers the array consists; None without.
        ids: number of kinds of things, of whose numbers the array consists; 0 where its numbers are quantities.
        words: the V words, the first of them the padding, where tokens are words of the world's own.
    """

    key: str
    shape: tuple[int, ...]
    scale: float | NDArray[np.floating] = field(default=1.0, compare=False)
    is_image: bool = False
    vocabulary: int = 0
    planes_first: bool = False
    table: NDArray[np.integer] | None = field(default=None, compare=False)
    ids: int = 0
    words: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def is_text(self) -> bool:
        """Whether a reader reads it; names of a few words are embedded."""
        return bool(self.vocabulary) and (self.table is None or self.table.shape[1] > _NAME_WORDS)


class PartsEncoder(nn.Module):
    """Arrays of one agent -> one vector of width `features`."""

    def __init__(self, config: PartsConfig, parts: Sequence[Part]) -> None:
        super().__init__()
        texts = [part for part in parts if part.is_text]
        names = [part for part in parts if part.vocabulary and not part.is_text]
        self._images = [part for part in parts if part.is_image and not part.vocabulary]
        ids = [part for part in parts if part.ids]
        self._kind_keys, self._name_keys = [part.key for part in ids], [part.key for part in names]
        self._vectors = [part for part in parts if not (part.is_image or part.vocabulary or part.ids)]
        self.scalings = nn.ModuleList(Scaling(part.scale) for part in self._vectors)
        self._scaling_of = {part.key: place for place, part in enumerate(self._vectors)}
        self.images = nn.ModuleList(_ImageEncoder(config, part) for part in self._images)
        width = config.reader.word_features
        self.kinds = nn.ModuleList(nn.Embedding(part.ids, width) for part in ids)
        self.features = sum(part.size for part in self._vectors) + width * sum(part.size for part in ids)
        self.features += config.image_features * len(self._images)
        self.words = self._words(config, [*texts, *names]) if names else None
        self.names = nn.ModuleList(_NameEncoder(config, part, self.words) for part in names if self.words is not None)
        for encoder in self.names:
            self.features += int(encoder.features)  # type: ignore[arg-type]  # a module's attribute has no type
        self.reader: TextReader | None = None
        self._tables = {part.key: f"_table_of_{part.key}" for part in texts if part.table is not None}
        for part in texts:
            if part.table is not None:
                self.register_buffer(self._tables[part.key], torch.tensor(part.table), persistent=False)
        if texts:
            words = self.words or self._words(config, texts)
            read = {part.key: part.size for part in texts}
            self.reader = TextReader(config.reader, read, words, self.features)
            self.features += self.reader.features

    def forward(self, obs: dict[str, Tensor], weights: Mapping[str, Tensor] | None = None) -> Tensor:
        """Vectors of agents, [B, T, N, F] float32, of observations name -> [B, T, N, ...].

        `weights` are factors of numbers, names and kinds, key -> [B, T, N, ...], of which the array has the shape and
        perhaps further axes; keys that are left out have weight 1.
        """
        weights = weights or {}
        vectors = [self.scaled(obs, part.key, weights) for part in self._vectors]
        images = [encoder(obs[part.key]) for encoder, part in zip(self.images, self._images, strict=True)]
        kinds = [self.entries(obs, key, weights).unsqueeze(3).flatten(3) for key in self._kind_keys]
        named = [
            encoder(self.entries(obs, key, weights)) for encoder, key in zip(self.names, self._name_keys, strict=True)
        ]
        seen = torch.cat([*vectors, *images, *kinds, *named], -1)
        return seen if self.reader is None else torch.cat([seen, self.reader(self.with_texts(obs), seen)], -1)

    def scaled(self, obs: dict[str, Tensor], key: str, weights: Mapping[str, Tensor] | None = None) -> Tensor:
        """Numbers of an array as one vector on the scale of their bounds, [B, T, N, F]; arguments of `forward`."""
        numbers: Tensor = self.scalings[self._scaling_of[key]](self.entries(obs, key, weights).unsqueeze(-1).flatten(3))
        return numbers

    def entries(self, obs: dict[str, Tensor], key: str, weights: Mapping[str, Tensor] | None = None) -> Tensor:
        """Features of an array's entries: numbers [B, T, N, ...], or vectors of kinds and names [B, T, N, ..., F].

        Observations and weights are those of `forward`, name -> [B, T, N, ...].
        """
        if key in self._kind_keys:
            values = self.kinds[self._kind_keys.index(key)](obs[key].long())
        elif key in self._name_keys:
            values = self.names[self._name_keys.index(key)].vectors(self.words)[obs[key].long()]  # type: ignore[operator]
        else:
            values = obs[key].float()
        if not weights or key not in weights:
            return values
        weight = weights[key]
        return values * weight.reshape(*weight.shape, *[1] * (values.ndim - weight.ndim))

    def with_texts(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Observations, name -> [B, T, N, ...], with the texts that the encoder stores, `texts/KEY` -> [D, L]."""
        return obs | {f"{TEXTS}{key}": getattr(self, name) for key, name in self._tables.items()}

    @staticmethod
    def _words(config: PartsConfig, texts: Sequence[Part]) -> nn.Module:
        """Module that turns the tokens of texts into states: a frozen text encoder, or a table of word vectors."""
        if not config.text_encoder:
            return WordTable(max(part.vocabulary for part in texts), config.reader.word_features)
        if texts[0].words:
            return WordStates(config.text_encoder, texts[0].words)
        return TokenStates(config.text_encoder)


class _NameEncoder(nn.Module):
    """Numbers of names -> the means of their words' vectors, in cells as an image, else as one vector."""

    def __init__(self, config: PartsConfig, part: Part, words: nn.Module) -> None:
        super().__init__()
        width = int(words.features)  # type: ignore[arg-type]  # a module's attribute has no type
        self._table = nn.Buffer(torch.tensor(part.table), persistent=False)
        grid = Part(part.key, (*part.shape[:2], part.shape[2] * width), is_image=True) if part.is_image else None
        self.image = None if grid is None else _ImageEncoder(config, grid)
        self.features = part.size * width if grid is None else config.image_features

    def vectors(self, words: nn.Module) -> Tensor:
        """Means of the vectors of each name's words, [names, width] float32."""
        is_word = (self._table != 0)[..., None]
        return (words(self._table) * is_word).sum(1) / is_word.sum(1).clamp(min=1)

    def forward(self, named: Tensor) -> Tensor:
        """Vectors of names [B, T, N, ..., width] -> [B, T, N, F] float32."""
        if self.image is None:
            return named.unsqueeze(3).flatten(3)
        encoded: Tensor = self.image(named.flatten(-2))
        return encoded


class Scaling(nn.Module):
    """Numbers divided by their largest values.

    Numbers without a useful largest value (none, or a huge one) are unchanged up to 10 and logarithmic beyond: 1e6
    becomes 23.8. So one very large entry does not dominate the others.
    """

    def __init__(self, scale: float | NDArray[np.floating]) -> None:
        super().__init__()
        divisor = torch.as_tensor(np.ravel(scale) if np.ndim(scale) else np.float32(scale), dtype=torch.float32)
        is_free = divisor == 0
        self._has_free, self._has_divisors = bool(is_free.any()), not bool(is_free.all())
        self._divisor = nn.Buffer(torch.where(is_free, 1.0, divisor), persistent=False)
        self._is_free = nn.Buffer(is_free, persistent=False)

    def forward(self, numbers: Tensor) -> Tensor:
        """Numbers [..., V] float32 -> [..., V] float32."""
        divided = numbers / self._divisor if self._has_divisors else numbers
        if not self._has_free:
            return divided
        size = divided.abs()
        softened = divided.sign() * (size.clamp(max=_LINEAR) + (size - _LINEAR).clamp(min=0.0).log1p())
        return torch.where(self._is_free, softened, divided)


class _ImageEncoder(nn.Module):
    """Convolutions with ReLU, and a linear layer."""

    def __init__(self, config: PartsConfig, part: Part) -> None:
        super().__init__()
        self.scaling, self._planes_first = Scaling(part.scale), part.planes_first
        height, width, channels = (*part.shape[1:], part.shape[0]) if part.planes_first else part.shape
        self.convolutions = nn.Sequential(*_convolutions((height, width, channels), config.channels))
        with torch.no_grad():
            flat = self.convolutions(torch.zeros(1, channels, height, width)).numel()
        self.output = nn.Linear(flat, config.image_features)
        glorot_(self)

    def forward(self, images: Tensor) -> Tensor:
        """Images [B, T, N, H, W, C], or [B, T, N, C, H, W], -> [B, T, N, image features] float32."""
        images = images.movedim(3, -1) if self._planes_first else images
        return apply_in_chunks(self._encode, images.flatten(0, 2)).unflatten(0, images.shape[:3])

    def _encode(self, images: Tensor) -> Tensor:
        pixels = self.scaling(images.float()).permute(0, 3, 1, 2)
        return torch.relu(self.output(self.convolutions(pixels).flatten(1)))


def _convolutions(shape: Sequence[int], channels: Sequence[int]) -> Iterator[nn.Module]:
    height, width, inputs = shape
    for outputs in channels:
        stride = 2 if max(height, width) > _SMALL else 1
        height, width = -(-height // stride), -(-width // stride)
        yield nn.Conv2d(inputs, outputs, 3, stride, padding=1)
        yield nn.ReLU()
        inputs = outputs
    if max(height, width) > _SMALL:
        yield nn.AdaptiveAvgPool2d(_SMALL)


class TeamState(nn.Module):
    """The encoded observations of all agents, side by side; zeros for an agent that has left the game."""

    def __init__(self, encoder: PartsEncoder, num_agents: int) -> None:
        super().__init__()
        self.encoder, self.features = encoder, num_agents * encoder.features

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """Observations, name -> [B, T, N, ...], to [B, T, features] float32."""
        return present_only(self.encoder(obs), obs).flatten(2)


class TowersOfParts(Stateless):
    """Two networks side by side: the first half of the features is for the policy, the second for the value.

    With `critic` "team" (MAPPO) the second one sees the observations of all agents in the game beside the agent's own.
    """

    def __init__(
        self, config: PartsConfig, parts: Sequence[Part], num_agents: int, critic: Critic, rounds: int = 0
    ) -> None:
        """Build both, with `rounds` of CommNet's messages in the policy's network."""
        super().__init__()
        self.num_agents, self._critic = num_agents, critic
        self.encoders = nn.ModuleList(PartsEncoder(config, parts) for _ in range(2))
        width = int(self.encoders[0].features)  # type: ignore[arg-type]  # a module's attribute has no type
        seen_by_critic = width * (1 + num_agents if critic == "team" else 1)
        self.actor, self.critic = (
            VectorNetwork(VectorConfig(config.hidden_sizes), num_agents, [1.0] * seen, heard)
            for seen, heard in ((width, rounds), (seen_by_critic, 0))
        )
        self.features = self.actor.features + self.critic.features

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 with two halves, of observations name -> [B, T, N, ...]."""
        return self._towers(obs, is_first)

    def _towers(
        self, obs: dict[str, Tensor], is_first: Tensor, weights: Mapping[str, Tensor] | None = None
    ) -> Features:
        """As `forward`, with weights as in `PartsEncoder`."""
        own, valued = (encoder(obs, weights) for encoder in self.encoders)
        if self._critic == "team":
            team = present_only(valued, obs).flatten(2).unsqueeze(2).expand(-1, -1, self.num_agents, -1)
            valued = torch.cat([valued, team], -1)
        halves = [
            network(obs | {"vector": vector}, {}, is_first).features
            for network, vector in ((self.actor, own), (self.critic, valued))
        ]
        return Features(torch.cat(halves, -1), {}, legal=legal_actions(obs))


class TboneOfParts(TalkingAgents):
    """Encoder -> dense layers -> LSTM -> talk -> reply, for the N agents of a team."""

    def __init__(self, config: PartsConfig, parts: Sequence[Part], num_agents: int, masks: Sequence[str] = ()) -> None:
        """Build the network; `masks` are those of `legal` and `alive` that the game's observations have."""
        super().__init__()
        self.encoder = PartsEncoder(config, parts)
        self.observation_keys = (*(part.key for part in parts), *masks)
        self.dense = dense((self.encoder.features, *config.hidden_sizes), nn.Tanh)
        self.add_recurrence(config.talk, num_agents, config.hidden_sizes[-1])

    def _encoded(self, obs: dict[str, Tensor]) -> Tensor:
        """[B, T, N, width of the last dense layer]."""
        encoded: Tensor = self.dense(self.encoder(obs))
        return encoded
