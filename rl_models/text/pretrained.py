"""Encoders from the Hugging Face hub or a local folder: found, told apart by their content, loaded, run.

Weights are read from safetensors alone, so opening a stranger's model runs nothing of theirs. Transformers and the hub
are imported when they are needed. This file must not know what is kept of the encodings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_KINDS = ("*.json", "*.txt", "*.model", "*.safetensors")
"""Files that make up an encoder: settings, tokenizer, weights."""


class PretrainedError(ValueError):
    """An encoder cannot be had or used; one sentence says why and what would help."""


class PretrainedEncoder:
    """An encoder with its tokenizer, loaded when it is first used.

    Attributes:
        name: hub id or folder, as it was asked for.
        folder: where its files are.
    """

    def __init__(self, name: str, padded_to: int = 0) -> None:
        """Find the encoder; from the hub it is downloaded unless it is here already.

        Args:
            name: a folder with a model and its tokenizer, or a hub id.
            padded_to: tokens of every sentence: padding is encoded and kept like words, as EMMA's released code does.
                0: words alone.

        Raises:
            PretrainedError: there is no such encoder, or no way to it.
        """
        self.name, self.padded_to = name, padded_to
        self.folder = folder_of(name)

    @cached_property
    def identity(self) -> str:
        """A folder name that only this encoder has, in this form: from the content of its files, not from its name.

        Raises:
            PretrainedError: a file cannot be read.
        """
        digest = hashlib.sha256()
        for file in _files(self.folder):
            try:
                with file.open("rb") as stream:
                    digest.update(f"{file.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
            except OSError as error:
                raise PretrainedError(f"{file} cannot be read ({error.strerror}): check its permissions") from error
        readable = "".join(sign if sign.isalnum() else "-" for sign in Path(self.name).name)
        return f"{readable}-{digest.hexdigest()[:16]}" + (f"-padded-to-{self.padded_to}" if self.padded_to else "")

    @torch.no_grad()
    def encode(self, sentences: Sequence[str]) -> list[Tensor]:
        """Last hidden states of some sentences at once, [L, F] float32 each, with the tokenizer's marks at both ends.

        Raises:
            PretrainedError: the files hold no encoder, or a sentence is too long.
        """
        tokenizer, model = self._loaded
        inputs = tokenizer(
            list(sentences),
            padding="max_length" if self.padded_to else "longest",
            max_length=self.padded_to or None,
            return_tensors="pt",
        )
        self._check_length(int(inputs["attention_mask"].sum(-1).max()), model)
        states = model(**inputs).last_hidden_state.float()
        if self.padded_to:
            return list(states)
        return [state[mask.bool()] for state, mask in zip(states, inputs["attention_mask"], strict=True)]

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        shown = logging.get_verbosity()
        logging.set_verbosity_error()  # A checkpoint's other heads are left behind on purpose.
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True, trust_remote_code=False)
            model = AutoModel.from_pretrained(
                self.folder, local_files_only=True, use_safetensors=True, trust_remote_code=False
            )
        except Exception as error:  # safetensors, torch and tokenizers have types of their own for a damaged file
            raise PretrainedError(
                f"{self.folder} holds no text encoder that transformers can load ({_first_line(error)}); it needs "
                "config.json, a tokenizer, and weights as model.safetensors"
            ) from error
        finally:
            logging.set_verbosity(shown)
        if tokenizer.pad_token is None or model.config.is_encoder_decoder:
            raise PretrainedError(
                f"{self.name} is no encoder like BERT: sentences are padded and only encoded here; name another"
            )
        return tokenizer, model.eval().float()

    def _check_length(self, length: int, model: Any) -> None:
        most = getattr(model.config, "max_position_embeddings", max(length, self.padded_to))
        if self.padded_to > most:
            raise PretrainedError(f"{self.name} reads at most {most} tokens; pad to fewer than {self.padded_to}")
        if length > (self.padded_to or most):
            raise PretrainedError(
                f"a sentence has {length} tokens for {self.name}, and {self.padded_to or most} are the most; shorten it"
                + (" or pad to more" if self.padded_to else "")
            )


def folder_of(name: str, may_download: bool = True) -> Path:
    """The folder of an encoder.

    Raises:
        PretrainedError: there is none of this name here, nor, if that may be tried, on the hub.
    """
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(
            name, allow_patterns=list(_KINDS), ignore_patterns=["*/*"], local_files_only=not may_download
        )
    except Exception as error:  # a download that breaks off raises what the hub's transports have, not OSError alone
        raise PretrainedError(
            f"no text encoder {name!r}: it is neither a folder nor a model that could be had from the Hugging Face hub "
            f"({_first_line(error)}); check the name and the network, or give a folder that holds the model"
        ) from error
    return Path(found)


def _files(folder: Path) -> list[Path]:
    return sorted({file for kind in _KINDS for file in folder.glob(kind)})


def _first_line(error: Exception) -> str:
    return f"{error}".strip().split("\n")[0].rstrip(".") or type(error).__name__
