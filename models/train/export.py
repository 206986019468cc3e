"""Writes the language model as a GGUF file that llama.cpp runs as it is.

    python3 export.py --work WORK --type q8_0 --out nano.gguf
"""

import argparse
import pathlib

import numpy
import torch

import gguf
import settings as sizes
from nano import EPSILON, ROPE_BASE
from tokens import CONTROL, Tokenizer

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TYPES = {"f32": (gguf.F32, 0), "f16": (gguf.F16, 1), "q8_0": (gguf.Q8_0, 7)}  # of tensors, of the file
NORMAL, CONTROLS = 1, 3  # types of tokens
NAMES = (("attn_output", "out"), ("ffn_gate", "gate"), ("ffn_up", "up"), ("ffn_down", "down"))


def neighbours(rows, width):
    """Rows of q or k from halves that turn against each other to neighbours."""
    heads = rows.shape[0] // width
    return rows.reshape(heads, 2, width // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def halves(rows, width):
    """The other way round."""
    heads = rows.shape[0] // width
    return rows.reshape(heads, width // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def weights(s, path):
    """The weights of an exported model, to train it further."""
    _, t = gguf.read(path)
    out = {"embed.weight": t["token_embd.weight"]}
    for i in range(s.layers):
        here, there = f"layers.{i}.", f"blk.{i}."
        q, k = (halves(t[f"{there}attn_{x}.weight"], s.head_width) for x in "qk")
        out[here + "qkv.weight"] = numpy.concatenate([q, k, t[there + "attn_v.weight"]])
        out |= {f"{here}{part}.weight": t[f"{there}{name}.weight"] for name, part in NAMES}
    return {k: torch.from_numpy(v.copy()) for k, v in out.items()}


def tokenizer(path):
    m, _ = gguf.read(path)
    return Tokenizer(m["tokenizer.ggml.tokens"], [x.split(" ") for x in m["tokenizer.ggml.merges"]])


def metadata(s, tokenizer, kind):
    n = s.vocabulary
    return {
        "general.architecture": "llama",
        "general.name": "percached nano",
        "general.license": "CC-BY-SA-4.0",
        "general.file_type": kind,
        "llama.block_count": s.layers,
        "llama.context_length": s.context,
        "llama.embedding_length": s.width,
        "llama.feed_forward_length": s.feed_forward,
        "llama.vocab_size": n,
        "llama.attention.head_count": s.heads,
        "llama.attention.head_count_kv": s.heads_kv,
        "llama.attention.layer_norm_rms_epsilon": EPSILON,
        "llama.rope.dimension_count": s.head_width,
        "llama.rope.freq_base": ROPE_BASE,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokenizer.tokens,
        "tokenizer.ggml.token_type": numpy.array([NORMAL] * (n - len(CONTROL)) + [CONTROLS] * len(CONTROL)),
        "tokenizer.ggml.merges": [f"{a} {b}" for a, b in tokenizer.merges],
        "tokenizer.ggml.bos_token_id": tokenizer.end_of_text,
        "tokenizer.ggml.eos_token_id": tokenizer.turn_end,
        "tokenizer.ggml.eot_token_id": tokenizer.turn_end,
        "tokenizer.ggml.padding_token_id": tokenizer.end_of_text,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.chat_template": CHATML,
        "percached.placement": "parallel",
    }


def tensors(s, weights, kind):
    w = {k: v.float().numpy() for k, v in weights.items()}
    ones = numpy.ones(s.width, numpy.float32)
    yield "token_embd.weight", w["embed.weight"], kind
    yield "output_norm.weight", ones, gguf.F32
    q, k = s.heads * s.head_width, s.heads_kv * s.head_width
    for i in range(s.layers):
        here, there = f"layers.{i}.", f"blk.{i}."
        wq, wk, wv = numpy.split(w[here + "qkv.weight"], [q, q + k])
        yield there + "attn_norm.weight", ones, gguf.F32
        yield there + "ffn_norm.weight", ones, gguf.F32
        yield there + "attn_q.weight", neighbours(wq, s.head_width), kind
        yield there + "attn_k.weight", neighbours(wk, s.head_width), kind
        yield there + "attn_v.weight", wv, kind
        for name, part in NAMES:
            yield f"{there}{name}.weight", w[f"{here}{part}.weight"], kind


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--work", required=True, type=pathlib.Path)
    p.add_argument("--type", default="q8_0", choices=TYPES)
    p.add_argument("--out", required=True)
    a = p.parse_args()
    saved = torch.load(a.work / "nano.pt", map_location="cpu")
    s = sizes.ALL[saved["settings"]]
    kind, number = TYPES[a.type]
    made = list(tensors(s, saved["model"], kind))
    gguf.write(a.out, metadata(s, Tokenizer.load(a.work / "tokenizer.json"), number), made)
    print(f"wrote {a.out}: {sum(t.size for _, t, _ in made):,} parameters, {saved['state']['tokens']:,} tokens seen")


if __name__ == "__main__":
    main()
