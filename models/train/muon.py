"""Muon (momentum made orthogonal) for the layers' matrices, AdamW for the embedding.

Matrices that are several side by side (q, k and v) are split first."""

import torch

MOMENTUM = 0.95
DECAY = 0.05


def orthogonal(x, dtype):
    """Five Newton-Schulz steps towards the nearest matrix with orthonormal
    columns; x is a stack of matrices with no more columns than rows."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    x = x.to(dtype).transpose(1, 2).contiguous()
    for _ in range(5):
        y = torch.bmm(x, x.transpose(1, 2))
        y = torch.baddbmm(y, y, y, beta=b, alpha=c)
        x = torch.baddbmm(x, y, x, beta=a)
    return x.transpose(1, 2).float()


class Optimiser:
    """Updates its share of the model: of `workers` processes, this is `worker`.
    The embedding belongs to the last one. dtype is what products of matrices are computed in."""

    def __init__(self, model, rate_matrix, rate_vector, worker, workers, dtype):
        s = model.settings
        self.parts = {"qkv.weight": [s.heads * s.head_width] + [s.heads_kv * s.head_width] * 2}
        matrices = [(n, p) for n, p in model.named_parameters() if n.startswith("layers.")]
        self.matrices = [(n, p) for n, p in matrices if int(n.split(".")[1]) % workers == worker]
        self.momentum = {n: torch.zeros_like(p) for n, p in self.matrices}
        self.rate, self.dtype = rate_matrix, dtype
        self.everything = list(model.parameters())
        rest = [p for n, p in model.named_parameters() if not n.startswith("layers.")]
        self.adam = torch.optim.AdamW(rest, lr=rate_vector, betas=(0.9, 0.98), weight_decay=0.01)
        self.embeds = worker == workers - 1
        self.rate_vector = rate_vector

    @torch.no_grad()
    def step(self, scale):
        if self.embeds:
            self.adam.param_groups[0]["lr"] = self.rate_vector * scale
            self.adam.step()
        rate, stacks = self.rate * scale, {}
        for name, p in self.matrices:
            m = self.momentum[name]
            m.mul_(MOMENTUM).add_(p.grad)
            move = p.grad + MOMENTUM * m
            p.mul_(1 - rate * DECAY)
            sizes = next((v for k, v in self.parts.items() if name.endswith(k)), [p.shape[0]])
            for weight, part in zip(p.split(sizes), move.split(sizes)):
                wide = part.shape[0] < part.shape[1]
                part = part.T if wide else part
                stacks.setdefault(part.shape, []).append((weight, part, wide))
        for stack in stacks.values():
            moves = orthogonal(torch.stack([part for _, part, _ in stack]), self.dtype)
            for (weight, _, wide), move in zip(stack, moves):
                size = max(1, weight.shape[0] / weight.shape[1]) ** 0.5
                weight.add_(move.T if wide else move, alpha=-rate * size)
        for p in self.everything:
            p.grad = None

    def state(self):
        return {"momentum": self.momentum, "adam": self.adam.state_dict()}

    def restore(self, state):
        for n, m in state["momentum"].items():
            self.momentum[n].copy_(m)
        self.adam.load_state_dict(state["adam"])
