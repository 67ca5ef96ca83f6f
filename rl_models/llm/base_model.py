"""Causal language models from the Hugging Face hub or a folder: found, checked, loaded.

Weights are read from safetensors alone and no code that comes with a model is run, so opening a stranger's model is
safe. Transformers is imported when it is needed.
"""

from pathlib import Path
from typing import Any

import torch

from rl_models.errors import InputError, first_line
from rl_models.hub.catalog import CATALOG, CAUSAL_MODEL
from rl_models.hub.quiet import quiet_transformers
from rl_models.text.pretrained import PretrainedError, encoder_folder


class LanguageModelError(InputError):
    """A language model cannot be loaded or used; one sentence says why and how to fix it."""


def load_base_model(name: str, dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    """A frozen causal language model of a hub id or folder, in evaluation mode, and its tokenizer.

    Raises LanguageModelError where there is no such model, or it cannot be used here.
    """
    folder = model_folder(name)
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=dtype,
                output_loading_info=True,
            )
        model, report = loaded
    except Exception as error:  # safetensors, torch and tokenizers have types of their own for a damaged file
        raise LanguageModelError(
            f"{name} is not a causal language model that transformers can load from safetensors without its own code "
            f"({first_line(error)}); it needs config.json, a tokenizer and model.safetensors"
        ) from error
    if report["missing_keys"]:  # missing weights would be random
        raise LanguageModelError(
            f"{name} lacks weights of a causal language model ({sorted(report['missing_keys'])[0]} and perhaps more); "
            "give a folder that was saved whole, with the layer that predicts tokens"
        )
    if tokenizer.eos_token_id is None:
        raise LanguageModelError(f"{name} has no end-of-text token, which ends a message; name a model that has one")
    return model.eval().requires_grad_(False), tokenizer


def model_folder(name: str) -> Path:
    """Folder of a language model, fetched from the hub if it is not there and may be; raises LanguageModelError."""
    if name in CATALOG and CATALOG[name].kind != CAUSAL_MODEL:
        others = ", ".join(one.name for one in CATALOG.values() if one.kind == CAUSAL_MODEL)
        raise LanguageModelError(
            f"{name} is a {CATALOG[name].kind} and predicts no tokens: name a language model, such as {others}"
        )
    try:
        return encoder_folder(name)
    except PretrainedError as error:
        if name in CATALOG:
            raise LanguageModelError(str(error)) from error
        raise LanguageModelError(
            f"no language model {name!r}: it is neither a folder nor available from the Hugging Face "
            "hub; check the name and the network, take one of `concord models`, or give a folder with the model"
        ) from error
