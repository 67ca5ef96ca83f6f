"""Pretrained encoders from the Hugging Face hub or a local folder.

Weights are read from safetensors only, so loading a model from an unknown author runs none of its code. Transformers
and the hub's library are imported when they are needed.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.errors import InputError, first_line
from rl_models.hub.catalog import CATALOG
from rl_models.hub.quiet import quiet_transformers
from rl_models.hub.weights import model_file_sha256

_KINDS = ("*.json", "*.txt", "*.model", "*.safetensors")
"""Files of an encoder: settings, tokenizer, weights."""


class PretrainedError(InputError):
    """An encoder cannot be found or used; the message says why and how to fix it."""


class PretrainedEncoder:
    """An encoder and its tokenizer, which are loaded when they are first used."""

    def __init__(self, name: str, padded_to: int = 0) -> None:
        """Find the encoder, a folder or hub id, and download it if it is not on this machine.

        With `padded_to` every sentence is padded to so many tokens, which are encoded like words, as in EMMA's released
        code. Raises PretrainedError where the encoder does not exist or cannot be downloaded.
        """
        self.name, self.padded_to = name, padded_to
        self.folder = encoder_folder(name)

    @cached_property
    def identity(self) -> str:
        """Folder name of this encoder with this padding, from the content of its files; raises PretrainedError."""
        digest = hashlib.sha256()
        for file in sorted({file for kind in _KINDS for file in self.folder.glob(kind)}):
            try:
                digest.update(f"{file.name} {model_file_sha256(file)}\n".encode())
            except OSError as error:
                raise PretrainedError(f"{file} cannot be read ({error.strerror}): check its permissions") from error
        readable = "".join(sign if sign.isalnum() else "-" for sign in Path(self.name).name)
        return f"{readable}-{digest.hexdigest()[:16]}" + (f"-padded-to-{self.padded_to}" if self.padded_to else "")

    @torch.no_grad()
    def encode(self, sentences: Sequence[str]) -> list[Tensor]:
        """Last hidden states of sentences, [L, F] each, special tokens at both ends; raises PretrainedError."""
        inputs = self.tokenizer(
            list(sentences),
            padding="max_length" if self.padded_to else "longest",
            max_length=self.padded_to or None,
            return_tensors="pt",
        )
        states = self._states(inputs)
        if self.padded_to:
            return list(states)
        return [state[mask.bool()] for state, mask in zip(states, inputs["attention_mask"], strict=True)]

    @torch.no_grad()
    def encode_tokens(self, texts: Sequence[Sequence[int]]) -> list[Tensor]:
        """Last hidden states of texts that are ids of tokens, [L, F] float32 each; raises as `encode`."""
        ids = [torch.tensor(text) for text in texts]
        mask = nn.utils.rnn.pad_sequence([torch.ones_like(text) for text in ids], True)
        padded = nn.utils.rnn.pad_sequence(ids, True, padding_value=self.tokenizer.pad_token_id)
        states = self._states({"input_ids": padded, "attention_mask": mask})
        return [state[: len(text)] for state, text in zip(states, ids, strict=True)]

    @torch.no_grad()
    def encode_words(self, texts: Sequence[Sequence[str]]) -> list[Tensor]:
        """One state for each word of texts, [words, F] float32: the mean over its tokens; raises as `encode`."""
        inputs = self.tokenizer(
            [list(text) for text in texts], is_split_into_words=True, padding="longest", return_tensors="pt"
        )
        states, found = self._states(inputs), []
        for number, text in enumerate(texts):
            places = [(place, word) for place, word in enumerate(inputs.word_ids(number)) if word is not None]
            tokens, words = torch.tensor(places, dtype=torch.int64).reshape(-1, 2).unbind(1)
            total = torch.zeros(len(text), states.shape[-1]).index_add(0, words, states[number, tokens])
            found.append(total / words.bincount(minlength=len(text)).clamp(min=1)[:, None])
        return found

    @cached_property
    def features(self) -> int:
        """F, width of a state; raises PretrainedError."""
        from transformers import AutoConfig

        return int(self._load(AutoConfig).hidden_size)

    @cached_property
    def tokenizer(self) -> Any:
        """Its tokenizer; raises PretrainedError."""
        from transformers import AutoTokenizer

        tokenizer = self._load(AutoTokenizer)
        if tokenizer.pad_token is None:
            raise self._no_encoder()
        return tokenizer

    @cached_property
    def model(self) -> Any:
        """Its model, in evaluation mode; raises PretrainedError."""
        from transformers import AutoModel

        model = self._load(AutoModel, use_safetensors=True)
        if model.config.is_encoder_decoder:
            raise self._no_encoder()
        return model.eval().float()

    def _load(self, cls: Any, **options: Any) -> Any:
        try:
            with quiet_transformers():  # unused heads of a checkpoint are expected
                return cls.from_pretrained(self.folder, local_files_only=True, trust_remote_code=False, **options)
        except Exception as error:  # safetensors, torch and tokenizers raise errors of their own for damaged files
            raise PretrainedError(
                f"{self.folder} holds no text encoder that transformers can load ({first_line(error)}); it needs "
                "config.json, a tokenizer, and weights as model.safetensors"
            ) from error

    def _no_encoder(self) -> PretrainedError:
        return PretrainedError(
            f"{self.name} is not an encoder like BERT: it needs a padding token and no decoder; name another"
        )

    def _states(self, inputs: Any) -> Tensor:
        """Last hidden states of padded texts, [D, L, F] float32."""
        model = self.model
        self._check_length(int(inputs["attention_mask"].sum(-1).max()), model)
        states: Tensor = model(**inputs).last_hidden_state.float()
        return states

    def _check_length(self, length: int, model: Any) -> None:
        limit = getattr(model.config, "max_position_embeddings", max(length, self.padded_to))
        if self.padded_to > limit:
            raise PretrainedError(f"{self.name} reads at most {limit} tokens; pad to fewer than {self.padded_to}")
        if length > (self.padded_to or limit):
            raise PretrainedError(
                f"a sentence has {length} tokens for {self.name}, more than {self.padded_to or limit}; shorten it"
                + (" or pad to more" if self.padded_to else "")
            )


def encoder_folder(name: str, may_download: bool = True) -> Path:
    """The folder of a model of the catalog (`concord models`), a folder, or a hub id, which may be downloaded.

    Raises PretrainedError where there is no such encoder here, nor on the hub if it may be downloaded.
    """
    if name in CATALOG:
        if not CATALOG[name].is_present:
            raise PretrainedError(f"{name} is not on this machine: run `concord models fetch {name}`")
        return CATALOG[name].folder
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(
            name, allow_patterns=list(_KINDS), ignore_patterns=["*/*"], local_files_only=not may_download
        )
    except Exception as error:  # an interrupted download raises errors of the hub's HTTP library, not only OSError
        raise PretrainedError(
            f"no text encoder {name!r}: it is neither a folder nor a model that the Hugging Face hub could deliver "
            f"({first_line(error)}); check the name and the network, take one of `concord models`, or give a "
            "folder with the model"
        ) from error
    return Path(found)
