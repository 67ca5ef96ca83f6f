"""A frozen causal language model with two low-rank adapters, `message` and `action`, at most one of which is trained.

The base is kept out of this module's parameters and state: those are the adapters' alone, which optimisers see,
processes exchange and checkpoints hold. The weights of the base are shared by all models of the process on the same
base (`shared_base.py`); `to` moves base and adapters together.
"""

import functools
import hashlib
import json
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor, nn

from rl_models.errors import first_line
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.frozen_layers import FrozenLayers, can_be_split
from rl_models.llm.llm_config import Adapter, LoraSettings, MessageSettings
from rl_models.llm.scoring import UNSUPPORTED, Scorer, Scores, encodes_alike, inner_model, score_alone, score_trie
from rl_models.llm.shared_base import SharedBase, move_buffers
from rl_models.llm.tokens import Candidates, Ids, Tokens, context_length
from rl_models.text.weights_identity import are_other_weights, model_identity

logger = logging.getLogger(__name__)
BASE_FILE = "base_model.json"
"""File beside a saved adapter with the identity of the model that it was trained on."""
ADAPTERS: tuple[Adapter, ...] = get_args(Adapter)
_MEANING = ("peft_type", "lora_alpha", "use_rslora", "use_dora", "alpha_pattern")
"""Settings that must match when an adapter is loaded; shapes check the others."""
_HALF_TOLERANCE = 0.2
"""Share of the logits' standard deviation. Rounding to 8 bits moves scores by a tenth of it, a wrong mask far more."""
_NORM_TOLERANCE = 0.02
"""Largest difference of a norm's outputs, which are of the order of 1: half precision rounds to a hundredth."""


class AdaptedModel(nn.Module):
    """One base, two adapters.

    Attributes:
        tokens: the tokenizer.
        message, action: the adapters' weights, which peft's layers compute with.
        trains: the adapter that is trained.
        scorer: function that scores candidates.
    """

    def __init__(
        self, base: SharedBase, lora: LoraSettings, seed: int = 0, cache_bytes: int = 2**30, chat_template: bool = False
    ) -> None:
        """Add two new adapters, at first without effect, with weights drawn from `seed`.

        `cache_bytes` bounds the memory for states below the adapters. Raises LanguageModelError where the base has no
        layers of the names that are to be adapted, cannot be adapted in its last layers alone, or has no chat template.
        """
        super().__init__()
        config, self._shared = base.model.config, base
        self.tokens = Tokens(base.tokenizer, context_length(config), chat_template)
        # In a list, where torch does not look for parts of this module.
        tree = base.tree()
        fuse_norms(tree)
        self._peft = [_with_adapters(tree, lora, seed)]
        self.message, self.action = (nn.ParameterDict(self._named_weights(name)) for name in ADAPTERS)
        self.trains: Adapter = "action"
        self._recomputed: list[nn.Module] = []
        self.train_adapter("action")
        if base.supports_masks is None:
            base.supports_masks = supports_masks(self.base)
        self.scorer: Scorer = score_trie if base.supports_masks else score_alone
        self._lora, self._last_layers, self._cache_bytes = lora, lora.last_layers, cache_bytes
        if lora.last_layers and base.supports_masks and not encodes_alike(self.base, self.frozen_layers):
            raise LanguageModelError(
                f"--lora.last-layers runs layers in two parts, and {type(self.base).__name__} computes something else "
                "then: set it to 0"
            )
        self._window = int(getattr(config, "sliding_window", None) or 2**20)

    @property
    def base(self) -> Any:
        """The causal language model, adapters within."""
        return self._peft[0].get_base_model()

    @property
    def width(self) -> int:
        """F, features of a token's state."""
        return int(self.base.config.hidden_size)

    def train_adapter(self, name: Adapter) -> None:
        """Train one adapter and freeze the other."""
        self.trains = name
        self._peft[0].set_adapter(name)

    @contextmanager
    def using(self, name: Adapter | None) -> Iterator[None]:
        """Compute with one adapter (None: the bare base). Only the trained adapter gets a gradient."""
        with adapters_in_half_precision(self._peft[0], self.base):
            if name is None:
                with self._peft[0].disable_adapter(), torch.no_grad():
                    yield
                return
            if name == self.trains:
                yield
                return
            self._peft[0].set_adapter(name, inference_mode=True)
            try:
                with torch.no_grad():
                    yield
            finally:
                self._peft[0].set_adapter(self.trains)

    def score(self, adapter: Adapter | None, prompts: Sequence[Ids], candidates: Sequence[Candidates]) -> Scores:
        """Log-probabilities of candidates after prompts, with an adapter or (None) the base model.

        Raises LanguageModelError where a prompt is too long.
        """
        following = [max(map(len, some), default=0) for some in candidates]
        for prompt, most in zip(prompts, following, strict=True):
            self.tokens.check_length(prompt, most)
        # A custom mask replaces the model's, which is another one where attention reaches back some tokens only.
        longest = max(len(prompt) + most for prompt, most in zip(prompts, following, strict=True))
        scorer = self.scorer if longest <= self._window else score_alone
        if scorer is score_trie and self._last_layers:
            scorer = functools.partial(score_trie, encode=self.frozen_layers)
        with self.using(adapter), self._recomputing():
            return scorer(self.base, prompts, candidates)

    @property
    def frozen_layers(self) -> FrozenLayers:
        """The layers below the adapters, with the states kept of them."""
        return self._shared.frozen_layers(self._last_layers, self._cache_bytes)

    def messages(self, settings: MessageSettings) -> dict[Ids, Ids]:
        """Cache of greedy messages by prompt, for the present message adapter."""
        weights = [weight.detach().cpu().float() for weight in self.message.values()]
        digest = hashlib.sha256(b"".join(weight.numpy().tobytes() for weight in weights)).digest()
        return self._shared.messages((digest, self._lora, settings))

    def weights(self, name: Adapter | None) -> Iterable[Tensor]:
        """Tensors that change whenever values computed with an adapter (None: the bare base) become invalid.

        The base is frozen, and moved and cast as a whole: an empty tensor of its type represents it.
        """
        base = torch.empty(0, device=self.base.device, dtype=self.base.dtype)
        return (base,) if name is None else (base, *getattr(self, name).values())

    def checkpoint_layers(self) -> None:
        """Recompute layers in the backward pass; raises LanguageModelError where the base does not support it."""
        if not self.base.supports_gradient_checkpointing:
            raise LanguageModelError("this language model has no gradient checkpointing; switch it off")
        self.base.activation_checkpointing_enable({"use_reentrant": False})
        self._recomputed = [layer for layer in self.base.modules() if hasattr(layer, "gradient_checkpointing")]
        for layer in self._recomputed:  # some models apply dropout in training mode
            for name in [name for name, value in vars(layer).items() if "drop" in name and isinstance(value, float)]:
                setattr(layer, name, 0.0)

    @contextmanager
    def _recomputing(self) -> Iterator[None]:
        """Put the layers, but not the modules in them, in training mode, in which they recompute; dropout stays off."""
        layers = self._recomputed if torch.is_grad_enabled() else []
        for layer in layers:
            layer.training = True
        try:
            yield
        finally:
            for layer in layers:
                layer.training = False

    def save_adapters(self, folder: Path) -> None:
        """Write both in peft's own format, one folder each."""
        self._peft[0].save_pretrained(str(folder), selected_adapters=list(ADAPTERS), safe_serialization=True)
        for name in ADAPTERS:
            (folder / name / BASE_FILE).write_text(json.dumps(self._base_identity()))

    def load_adapters(self, folder: Path) -> None:
        """Load the adapters that the folder holds, one or both.

        Raises LanguageModelError where none is there, or one does not fit this base.
        """
        from peft import set_peft_model_state_dict

        found = [name for name in ADAPTERS if (folder / name / "adapter_model.safetensors").is_file()]
        if not found:
            raise LanguageModelError(f"{folder} holds no adapter; give a folder with {' or '.join(ADAPTERS)} in it")
        read = {name: self._read_adapter(folder / name, name) for name in found}
        for name, weights in read.items():
            set_peft_model_state_dict(self._peft[0], weights, adapter_name=name)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move or cast everything; an adapter's weight stays the same object, for peft's layers hold it too."""
        moved = self._shared.moved(fn)
        if moved is not self._shared:
            self._shared.replace_weights(self.base, moved)
            self._shared = moved
            move_buffers(self.base, fn)
        return super()._apply(fn, recurse)

    def _read_adapter(self, folder: Path, name: Adapter) -> dict[str, Tensor]:
        """Weights in a folder that are to be those of an adapter."""
        from peft import get_peft_model_state_dict, load_peft_weights

        try:
            weights = load_peft_weights(str(folder), device="cpu")
            settings_read = json.loads((folder / "adapter_config.json").read_text())
            base = dict(json.loads((folder / BASE_FILE).read_text())) if (folder / BASE_FILE).exists() else {}
        except Exception as error:  # safetensors has a type of its own for a damaged file
            raise LanguageModelError(
                f"the adapter in {folder} cannot be read ({first_line(error)}); it needs adapter_config.json and "
                "adapter_model.safetensors as peft writes them"
            ) from error
        if are_other_weights(base, self._base_identity()):
            raise LanguageModelError(
                f"the adapter in {folder} was trained on other weights than those of this model: name its own"
            )
        own = get_peft_model_state_dict(self._peft[0], adapter_name=name)
        settings = self._peft[0].peft_config[name].to_dict()
        is_fit = {key: value.shape for key, value in weights.items()} == {key: own[key].shape for key in own}
        if not is_fit or any(settings_read.get(key, settings[key]) != settings[key] for key in _MEANING):
            raise LanguageModelError(
                f"the adapter in {folder} does not fit this language model; give one that was made for it with the "
                "same rank, alpha and targets"
            )
        return weights

    def _base_identity(self) -> dict[str, str | None]:
        """See `model_identity`, without a name, which may be a path; empty for a model that was made in memory."""
        return model_identity(self._shared.name[0]) | {"name": None} if self._shared.name else {}

    def _named_weights(self, name: Adapter) -> dict[str, nn.Parameter]:
        """An adapter's parameters by short names without dots, which torch keeps for modules."""
        marked = f".{name}.weight"
        return {
            key.removesuffix(marked).removeprefix("base_model.model.").replace(".", "/"): weight
            for key, weight in self._peft[0].named_parameters()
            if key.endswith(marked)
        }


def _with_adapters(base: Any, lora: LoraSettings, seed: int) -> Any:
    from peft import LoraConfig, get_peft_model

    form = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=list(lora.targets),
        layers_to_transform=_adapted_layers(base, lora),
        bias="none",
        task_type="CAUSAL_LM",
    )
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about names between two of peft's dependencies
            torch.manual_seed(seed)
            model = get_peft_model(base, form, adapter_name="message")
            model.add_adapter("action", form)
    except ValueError as error:
        raise LanguageModelError(
            f"this language model has no layers called {', '.join(lora.targets)}; name its own as the LoRA targets"
        ) from error
    return model.eval()


def _adapted_layers(base: Any, lora: LoraSettings) -> list[int] | None:
    """Numbers of the layers that get adapters; None for all."""
    if not lora.last_layers:
        return None
    if not can_be_split(base):
        raise LanguageModelError(
            f"--lora.last-layers needs a model with its layers in one list, and {type(base).__name__} has none: set it "
            "to 0"
        )
    layers = len(inner_model(base).layers)
    if lora.last_layers > layers:
        raise LanguageModelError(
            f"--lora.last-layers is {lora.last_layers}, and this model has {layers} layers: give at most {layers}"
        )
    return list(range(layers - lora.last_layers, layers))


@torch.no_grad()
def supports_masks(base: Any) -> bool:
    """Whether the model obeys 4-D masks and positions: a trie's scores equal those of its candidates one by one."""
    most = min(64, int(base.config.vocab_size))
    prompt: Ids = tuple((7 * place + 3) % most for place in range(9))
    # Enough candidates that a wrong mask or position changes the scores of the last ones.
    candidates: Candidates = tuple(tuple((11 * k + (5 + k * i) * i) % most for i in range(8)) for k in range(6))
    try:
        one, other = (score(base, [prompt], [candidates]).log_probs for score in (score_trie, score_alone))
        tolerance = 1e-3 if base.dtype == torch.float32 else _HALF_TOLERANCE * _spread(base, prompt)
        if bool(((one - other).abs() < tolerance).all()):
            return True
    except UNSUPPORTED as error:
        logger.debug("a trie cannot be scored: %s", error)
    logger.warning(
        "%s ignores 4-D attention masks or position ids, so every candidate is scored by itself, which is slower",
        type(base).__name__,
    )
    return False


def _spread(base: Any, prompt: Ids) -> float:
    """Standard deviation of the logits at the tokens of a prompt."""
    logits = base(input_ids=torch.tensor([prompt], device=base.device), use_cache=False).logits
    return float(logits.float().std())


# ------------------------------------------------------------------------------------- in half precision on a GPU
#
# A model of a billion parameters spends more than half of an update outside matrix products: norms in seven passes over
# all states, and adapters in float32 whose inputs and outputs are cast (measured on an H200). On the CPU, and in
# float32, nothing changes.


@contextmanager
def adapters_in_half_precision(peft_model: Any, base: Any) -> Iterator[None]:
    """Within it adapters of a base in half precision on a GPU compute in the base's type; weights stay float32."""
    if base.device.type != "cuda" or base.dtype not in (torch.bfloat16, torch.float16):
        yield
        return
    from peft.helpers import disable_input_dtype_casting

    with torch.autocast(base.device.type, base.dtype), disable_input_dtype_casting(peft_model):
        yield


def fuse_norms(tree: nn.Module) -> int:
    """Use torch's fused kernel for each RMS norm on a GPU, if its result is equal; returns the number of norms."""
    fused = 0
    for module in tree.modules():
        if type(module).__name__.endswith("RMSNorm") and not isinstance(module, nn.RMSNorm):
            epsilon = getattr(module, "variance_epsilon", getattr(module, "eps", None))
            if isinstance(epsilon, float) and _computes_rms_norm(module, epsilon):
                module.forward = functools.partial(_rms_norm, module, module.forward, epsilon)  # type: ignore[method-assign]
                fused += 1
    return fused


def _rms_norm(module: Any, own: Callable[[Tensor], Tensor], epsilon: float, states: Tensor) -> Tensor:
    if states.device.type != "cuda" or states.dtype == torch.float32:
        return own(states)
    return nn.functional.rms_norm(states, module.weight.shape, module.weight, epsilon)


@torch.no_grad()
def _computes_rms_norm(module: Any, epsilon: float) -> bool:
    """Whether a norm equals torch's RMS norm: some add 1 to their weights."""
    weight = getattr(module, "weight", None)
    if weight is None or weight.ndim != 1:
        return False
    states = torch.linspace(-2, 2, len(weight), device=weight.device, dtype=weight.dtype)[None]
    expected = nn.functional.rms_norm(states, weight.shape, weight, epsilon)
    return bool(((module(states) - expected).abs() < _NORM_TOLERANCE).all())
