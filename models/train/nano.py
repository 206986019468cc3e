"""The language model: what llama.cpp calls architecture "llama", in PyTorch.

Norms have no weights of their own (the next matrix can hold them), so the file
gets ones there. RoPE turns halves of a head against each other here and
neighbours in llama.cpp; `export.py` reorders the rows to match."""

import math

import torch
from torch import nn
from torch.nn import functional as F

EPSILON = 1e-5
ROPE_BASE = 10_000.0
BLOCKED = -1e9


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True).add_(EPSILON))
        y = x * scale
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, scale = ctx.saved_tensors
        return (grad - y * (grad * y).mean(-1, keepdim=True)).mul_(scale)


class _Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return _turn(x, cos, sin)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        return _turn(grad, cos, -sin), None, None


def _turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    out = torch.empty_like(x)
    half = a.shape[-1]
    torch.mul(a, cos, out=out[..., :half]).sub_(b * sin)
    torch.mul(b, cos, out=out[..., half:]).add_(a * sin)
    return out


class _Attend(torch.autograd.Function):
    """Attention in causal blocks of queries, so that no block computes scores
    for keys that all its queries are blind to. q is [batch * heads_kv, group,
    length, width] and scaled, k and v are [batch * heads_kv, length, width],
    mask is [batch, length, length]."""

    BLOCKS = 4

    @staticmethod
    def forward(ctx, q, k, v, mask):
        n, group, length, width = q.shape
        per = n // mask.shape[0]
        step = -(-length // _Attend.BLOCKS)
        out, weights = torch.empty_like(q), []
        for a in range(0, length, step):
            e = min(length, a + step)
            score = torch.bmm(q[:, :, a:e].reshape(n, -1, width), k[:, :e].transpose(1, 2))
            score.view(-1, per * group, e - a, e).add_(mask[:, None, a:e, :e])
            weight = torch.softmax(score, -1)
            weights.append(weight)
            out[:, :, a:e] = torch.bmm(weight, v[:, :e]).view(n, group, e - a, width)
        ctx.save_for_backward(q, k, v, *weights)
        ctx.step = step
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, *weights = ctx.saved_tensors
        n, group, length, width = q.shape
        dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for i, a in enumerate(range(0, length, ctx.step)):
            e = min(length, a + ctx.step)
            weight, g = weights[i], grad[:, :, a:e].reshape(n, -1, width)
            dv[:, :e] += torch.bmm(weight.transpose(1, 2), g)
            dscore = torch.bmm(g, v[:, :e].transpose(1, 2))
            dscore = torch._softmax_backward_data(dscore, weight, -1, weight.dtype)
            dq[:, :, a:e] = torch.bmm(dscore, k[:, :e]).view(n, group, e - a, width)
            dk[:, :e] += torch.bmm(dscore.transpose(1, 2), q[:, :, a:e].reshape(n, -1, width))
        return dq, dk, dv, None


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.heads, self.heads_kv, self.width = s.heads, s.heads_kv, s.head_width
        self.qkv = nn.Linear(s.width, (s.heads + 2 * s.heads_kv) * self.width, bias=False)
        self.out = nn.Linear(s.heads * self.width, s.width, bias=False)
        self.gate = nn.Linear(s.width, s.feed_forward, bias=False)
        self.up = nn.Linear(s.width, s.feed_forward, bias=False)
        self.down = nn.Linear(s.feed_forward, s.width, bias=False)

    def forward(self, x, cos, sin, mask, keep=None, only=None):
        """keep gets q and k; only = (row, position) pairs whose output is wanted."""
        b, t, _ = x.shape
        y = self.qkv(_Norm.apply(x)).view(b, t, -1, self.width)
        qk = _Rope.apply(y[:, :, : self.heads + self.heads_kv], cos, sin)
        q, k, v = qk[:, :, : self.heads], qk[:, :, self.heads :], y[:, :, self.heads + self.heads_kv :]
        if keep is not None:
            keep.append((q, k))
        if x.is_cuda:
            a = self._fused(q, k, v, mask)
        else:
            a = self._blocked(q, k, v, mask)
        if only is not None:
            a, x = a[only], x[only]
        x = x + self.out(a)
        y = _Norm.apply(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def _fused(self, q, k, v, mask):
        b, t, _, _ = q.shape
        q, k, v = (z.transpose(1, 2).to(v.dtype) for z in (q, k, v))
        k, v = (z.repeat_interleave(self.heads // self.heads_kv, 1) for z in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, mask[:, None].to(v.dtype))
        return a.transpose(1, 2).reshape(b, t, -1)

    def _blocked(self, q, k, v, mask):
        b, t, _, _ = q.shape
        group = self.heads // self.heads_kv
        flat = lambda z: z.transpose(1, 2).reshape(b * self.heads_kv, t, self.width)
        q = (q * self.width**-0.5).transpose(1, 2).reshape(b * self.heads_kv, group, t, self.width)
        a = _Attend.apply(q, flat(k), flat(v), mask)
        return a.view(b, self.heads, t, self.width).transpose(1, 2).reshape(b, t, -1)


class Nano(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.embed = nn.Embedding(settings.vocabulary, settings.width)
        self.layers = nn.ModuleList(Layer(settings) for _ in range(settings.layers))
        for name, p in self.named_parameters():
            deep = name.endswith(("out.weight", "down.weight"))
            nn.init.normal_(p, 0, 0.02 / math.sqrt(2 * settings.layers) if deep else 0.02)
        half = settings.head_width // 2
        turns = ROPE_BASE ** (-torch.arange(half).float() / half)
        angles = torch.arange(settings.context).float()[:, None] * turns
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids, positions, mask, keep=None, only=None):
        """keep maps a layer's number to the list that gets its q and k."""
        cos, sin = self.cos[positions][:, :, None], self.sin[positions][:, :, None]
        x = self.embed(ids)
        for i, layer in enumerate(self.layers):
            last = i == len(self.layers) - 1
            x = layer(x, cos, sin, mask, keep and keep.get(i), only if last else None)
        return _Norm.apply(x)

    def logits(self, hidden):
        return F.linear(hidden, self.embed.weight)


def visible(document, segment):
    """Who sees whom, as a mask to add. Segment 0 is a document's root, 1 to
    BRANCH - 1 are chunks (under sequential placement all are one), the rest
    are questions: each sees root, chunks and itself, and no other question."""
    same = document[:, :, None] == document[:, None, :]
    mine, other = segment[:, :, None], segment[:, None, :]
    seen = (other == 0) | (mine == other) | ((mine >= BRANCH) & (other < BRANCH))
    t = document.shape[1]
    causal = torch.ones(t, t, dtype=torch.bool, device=document.device).tril()
    return torch.where(same & seen & causal, 0.0, BLOCKED)


BRANCH = 64
