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
    """From the residual stream's float32 to the type that is computed in."""

    @staticmethod
    def forward(ctx, x, dtype):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True).add_(EPSILON))
        y = x * scale
        ctx.save_for_backward(y, scale)
        return y.to(dtype)

    @staticmethod
    def backward(ctx, grad):
        y, scale = ctx.saved_tensors
        grad = grad.float()
        return (grad - y * (grad * y).mean(-1, keepdim=True)).mul_(scale), None


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


class Plan:
    """Who sees whom, in blocks of queries: of each block only those keys are
    computed that some query of it sees. Most of a row are questions, and each
    sees the context and itself, but none of its many neighbours."""

    BLOCK = 96

    def __init__(self, mask, dtype):
        self.blocks = []  # (row, from, to, keys, mask)
        for row, m in enumerate(mask):
            for a in range(0, m.shape[0], self.BLOCK):
                e = min(m.shape[0], a + self.BLOCK)
                keys = (m[a:e] == 0).any(0).nonzero().squeeze(1)
                self.blocks.append((row, a, e, keys, m[a:e].index_select(1, keys).to(dtype)))


class _Attend(torch.autograd.Function):
    """Attention along a plan. q is [batch * heads_kv, group, length, width] and
    scaled, k and v are [batch * heads_kv, length, width]."""

    @staticmethod
    def forward(ctx, q, k, v, plan, heads):
        _, group, _, width = q.shape
        out, weights = torch.zeros_like(q), []
        for row, a, e, keys, mask in plan.blocks:
            r = slice(row * heads, row * heads + heads)
            near, far = k[r].index_select(1, keys), v[r].index_select(1, keys)
            score = torch.bmm(q[r, :, a:e].reshape(heads, -1, width), near.transpose(1, 2))
            score.view(heads * group, e - a, len(keys)).add_(mask)
            weight = torch.softmax(score, -1)
            weights.append(weight)
            out[r, :, a:e] = torch.bmm(weight, far).view(heads, group, e - a, width)
        ctx.save_for_backward(q, k, v, *weights)
        ctx.plan, ctx.heads = plan, heads
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, *weights = ctx.saved_tensors
        heads, group, width = ctx.heads, q.shape[1], q.shape[3]
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for (row, a, e, keys, _), weight in zip(ctx.plan.blocks, weights):
            r = slice(row * heads, row * heads + heads)
            near, far = k[r].index_select(1, keys), v[r].index_select(1, keys)
            g = grad[r, :, a:e].reshape(heads, -1, width)
            dv[r].index_add_(1, keys, torch.bmm(weight.transpose(1, 2), g))
            dscore = torch.bmm(g, far.transpose(1, 2))
            dscore = torch._softmax_backward_data(dscore, weight, -1, weight.dtype)
            dq[r, :, a:e] = torch.bmm(dscore, near).view(heads, group, e - a, width)
            dk[r].index_add_(1, keys, torch.bmm(dscore.transpose(1, 2), q[r, :, a:e].reshape(heads, -1, width)))
        return dq, dk, dv, None, None


class _Gated(torch.autograd.Function):
    """silu(gate) * up, in fewer passes over memory than PyTorch's own pieces."""

    @staticmethod
    def forward(ctx, gate, up):
        open_ = torch.sigmoid(gate.float())
        ctx.save_for_backward(gate, up, open_)
        return (open_ * gate).mul_(up).to(gate.dtype)

    @staticmethod
    def backward(ctx, grad):
        gate, up, open_ = ctx.saved_tensors
        silu = open_ * gate
        slope = torch.addcmul(open_, silu, 1 - open_).mul_(up).mul_(grad)
        return slope.to(gate.dtype), silu.mul_(grad).to(gate.dtype)


def _linear(x, matrix):
    return F.linear(x, matrix.weight.to(x.dtype))


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.heads, self.heads_kv, self.width = s.heads, s.heads_kv, s.head_width
        self.qkv = nn.Linear(s.width, (s.heads + 2 * s.heads_kv) * self.width, bias=False)
        self.out = nn.Linear(s.heads * self.width, s.width, bias=False)
        self.gate = nn.Linear(s.width, s.feed_forward, bias=False)
        self.up = nn.Linear(s.width, s.feed_forward, bias=False)
        self.down = nn.Linear(s.feed_forward, s.width, bias=False)

    def forward(self, x, cos, sin, sight, keep=None, only=None):
        """keep gets q and k; only = (row, position) pairs whose output is wanted."""
        b, t, _ = x.shape
        y = _linear(_Norm.apply(x, cos.dtype), self.qkv).view(b, t, -1, self.width)
        qk = _Rope.apply(y[:, :, : self.heads + self.heads_kv], cos, sin)
        q, k, v = qk[:, :, : self.heads], qk[:, :, self.heads :], y[:, :, self.heads + self.heads_kv :]
        if keep is not None:
            keep.append((q, k))
        a = self._planned(q, k, v, sight) if isinstance(sight, Plan) else self._fused(q, k, v, sight)
        if only is not None:
            a, x = a[only], x[only]
        x = x + _linear(a, self.out).float()
        y = _Norm.apply(x, cos.dtype)
        return x + _linear(_Gated.apply(_linear(y, self.gate), _linear(y, self.up)), self.down).float()

    def _fused(self, q, k, v, mask):
        b, t, _, _ = q.shape
        q, k, v = (z.transpose(1, 2) for z in (q, k, v))
        k, v = (z.repeat_interleave(self.heads // self.heads_kv, 1) for z in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, mask)
        return a.transpose(1, 2).reshape(b, t, -1)

    def _planned(self, q, k, v, plan):
        b, t, _, _ = q.shape
        group = self.heads // self.heads_kv
        flat = lambda z: z.transpose(1, 2).reshape(b * self.heads_kv, t, self.width)
        q = (q * self.width**-0.5).transpose(1, 2).reshape(b * self.heads_kv, group, t, self.width)
        a = _Attend.apply(q, flat(k), flat(v), plan, self.heads_kv)
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

    def forward(self, ids, positions, mask, keep=None, only=None, dtype=torch.float32):
        """keep maps a layer's number to the list that gets its q and k; dtype is
        what is computed in."""
        cos, sin = (z[positions][:, :, None].to(dtype) for z in (self.cos, self.sin))
        sight = mask[:, None].to(dtype) if mask.is_cuda else Plan(mask, dtype)
        x = self.embed(ids)
        for i, layer in enumerate(self.layers):
            last = i == len(self.layers) - 1
            x = layer(x, cos, sin, sight, keep and keep.get(i), only if last else None)
        return _Norm.apply(x, dtype)

    def logits(self, hidden):
        return _linear(hidden, self.embed)


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
