"""Holds the functions of nano.py that have a backward pass of their own against
what PyTorch derives by itself.

    python3 gradients.py
"""

import types

import torch
from torch.nn import functional as F

import nano


def attend(q, k, v, mask, heads):
    """Attention as the textbook has it: all scores, then the mask."""
    n, group, length, width = q.shape
    score = q.reshape(n, -1, width) @ k.transpose(1, 2)
    score = score.view(len(mask), heads * group, length, length) + mask[:, None]
    weight = torch.softmax(score, -1).view(n, group * length, length)
    return (weight @ v).view(q.shape)


def turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def cases():
    """(name, ours, PyTorch's, inputs)"""
    make = lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    yield "norm", lambda x: nano._Norm.apply(x, x.dtype), lambda x: x / (x.square().mean(-1, keepdim=True) + nano.EPSILON).sqrt(), [make(3, 5, 16)]
    angle = torch.randn(3, 5, 1, 4, dtype=torch.float64)
    yield "turn", lambda x: nano._Rope.apply(x, angle.cos(), angle.sin()), lambda x: turn(x, angle.cos(), angle.sin()), [make(3, 5, 2, 8)]
    yield "gate", nano._Gated.apply, lambda gate, up: F.silu(gate) * up, [make(3, 5, 16), make(3, 5, 16)]
    # Two rows: a context and three questions behind it; two documents, one with chunks that are blind to each other.
    length = 2 * nano.Plan.BLOCK + 20
    document, segment = torch.ones(2, length, dtype=torch.long), torch.zeros(2, length, dtype=torch.long)
    for i in range(3):
        segment[0, 100 + 30 * i : 130 + 30 * i] = nano.BRANCH + i
    document[1, 120:] = 2
    segment[1, 10:60], segment[1, 60:90], segment[1, 90:120] = 1, 2, nano.BRANCH
    mask = nano.visible(document, segment).double()
    plan, heads = nano.Plan(mask, torch.float64), 2
    inputs = [make(2 * heads, 2, length, 8), make(2 * heads, length, 8), make(2 * heads, length, 8)]
    yield "attention", lambda q, k, v: nano._Attend.apply(q, k, v, plan, heads), lambda q, k, v: attend(q, k, v, mask, heads), inputs
    if hasattr(F, "scaled_dot_product_attention"):  # the way that a GPU takes, from PyTorch 2 on
        layer = types.SimpleNamespace(heads=4, heads_kv=2, width=8)
        fused = lambda q, k, v: nano.Layer._fused(layer, q, k, v, mask[:, None])
        yield "fused attention", fused, lambda q, k, v: nano.Layer._planned(layer, q, k, v, plan), [make(2, length, h, 8) for h in (4, 2, 2)]


def main():
    torch.manual_seed(1)
    for name, ours, theirs, inputs in cases():
        a, b = ours(*inputs), theirs(*inputs)
        weight = torch.randn_like(a)
        grads = [torch.autograd.grad((x * weight).sum(), inputs) for x in (a, b)]
        for what, x, y in [("result", a, b)] + [(f"gradient {i}", x, y) for i, (x, y) in enumerate(zip(*grads))]:
            off = (x - y).abs().max().item() / y.abs().max().item()
            assert off < 1e-5, f"{name}: {what} is off by {off:.1e} of its largest value"
        print(f"{name}: as PyTorch has it")


if __name__ == "__main__":
    main()
