"""Trains the language model on packed rows; stops and resumes at will.

    python3 train.py --settings cpu --work WORK [--minutes 90]

With --minutes the schedule follows the clock, else the rows there are. On a CPU
there is one process a core, each with its own rows, and one copy of the
weights in shared memory, of which each process updates its part."""

import argparse
import math
import os
import pathlib
import sys
import time

import numpy
import torch
from torch import multiprocessing
from torch.nn import functional as F

import settings as sizes
from muon import Optimiser
from nano import BRANCH, Nano, visible

SHORT_UNTIL = 0.6  # of the training; then rows are long
FLAT_UNTIL = 0.4  # then the rates fall
GUIDE = 0.1  # weight of the guided heads' loss
OTHER, OTHER_WEIGHT = 0.08, 0.2  # share of the tokens that are no answer, and their weight
SAVE_EVERY = 100  # steps
MEMORY = {  # without these, half of the time goes to page faults
    "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "20000000000",
    "MALLOC_TOP_PAD_": "268435456", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "OMP_NUM_THREADS": "1",
}


def environment():
    """Starts this program anew with what libraries read only at their start."""
    wanted = dict(MEMORY)
    if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
        wanted["OPENBLAS_CORETYPE"] = "SkylakeX"  # newer processors get slower kernels otherwise
    if any(k not in os.environ for k in wanted):
        os.environ.update({k: os.environ.get(k, v) for k, v in wanted.items()})
        os.execv(sys.executable, [sys.executable, *sys.argv])


class Rows:
    """The rows of one stage in turn, each process its own."""

    def __init__(self, folder, stage, worker, workers, seen=0):
        self.paths = sorted(folder.glob(f"{stage}-*.npz"))
        self.worker, self.workers = worker, workers
        self.count = None
        self.at = seen  # rows taken by all processes together
        self.shard, self.number = None, None

    def take(self, n):
        """The next n rows of this process."""
        size = 1000
        picked = []
        for i in range(n):
            at = self.at + i * self.workers + self.worker
            number = at // size % len(self.paths)
            if number != self.number:
                with numpy.load(self.paths[number]) as z:
                    self.shard = {k: z[k] for k in z.files}
                self.number = number
            here = len(self.shard["ids"])
            picked.append({k: v[at % size % here] for k, v in self.shard.items()})
        self.at += n * self.workers
        return {k: torch.from_numpy(numpy.stack([p[k] for p in picked]).astype(numpy.int64)) for k in picked[0]}


def guides(layers):
    """Which head of which layer is shown where to look: one at the token
    before, one at the same name in the context, two at the token to copy."""
    return {"before": [0], "matches": [max(1, layers - 4)], "copies": [layers - 3, layers - 2]}


def guided_loss(kept, mask, rows, model):
    """-log attention of each guided head on the place it should look at."""
    s, total = model.settings, 0.0
    losses = {}
    for kind, layers in guides(s.layers).items():
        if kind == "copies":
            row, token = (rows["copies"] >= 0).nonzero(as_tuple=True)
            query, target = token - 1, rows["copies"][row, token]
        elif kind == "matches":
            row, query = (rows["matches"] >= 0).nonzero(as_tuple=True)
            target = rows["matches"][row, query]
        else:
            same = (rows["segments"][:, 1:] == rows["segments"][:, :-1]) & (rows["documents"][:, 1:] > 0)
            row, query = (same & (rows["documents"][:, 1:] == rows["documents"][:, :-1])).nonzero(as_tuple=True)
            some = torch.randperm(len(row))[: 32 * mask.shape[0]].to(row.device)
            row, query = row[some], query[some] + 1
            target = query - 1
        for layer in layers:
            q, k = kept[layer][0]
            if not len(row):
                continue
            parts = []
            for r in row.unique().tolist():
                here = row == r
                score = q[r, query[here], 0] @ k[r, :, 0].T * s.head_width**-0.5 + mask[r, query[here]]
                parts.append(F.cross_entropy(score.float(), target[here], reduction="sum"))
            loss = sum(parts) / len(row)
            losses[kind] = loss.item()
            total = total + loss
    return total, losses


def batch_loss(model, rows):
    ids, weights = rows["ids"], rows["weights"]
    mask = visible(rows["documents"], rows["segments"])
    inner = (rows["documents"][:, 1:] == rows["documents"][:, :-1]) & (rows["segments"][:, 1:] == rows["segments"][:, :-1])
    other = inner & (rows["documents"][:, 1:] > 0) & (weights[:, 1:] == 0)
    other &= torch.rand(other.shape, device=other.device) < OTHER
    weight = weights[:, 1:].float() + OTHER_WEIGHT * other
    only = (weight > 0).nonzero(as_tuple=True)
    kept = {l: [] for ls in guides(model.settings.layers).values() for l in ls}
    hidden = model(ids, rows["positions"], mask, kept, only)
    loss = F.cross_entropy(model.logits(hidden).float(), ids[:, 1:][only], reduction="none")
    w = weight[only]
    guided, seen = guided_loss(kept, mask, rows, model)
    seen["answer"] = loss[w >= 1].mean().item()
    seen["other"] = loss[w < 1].mean().item()
    return (loss * w).sum() / w.sum() + GUIDE * guided, seen


@torch.no_grad()
def exact(model, rows):
    """Shares of answers that are right token by token, and how many: what is
    stated, and what is not."""
    ids = rows["ids"]
    mask = visible(rows["documents"], rows["segments"])
    only = (rows["weights"][:, 1:] > 0).nonzero(as_tuple=True)
    guess = model.logits(model(ids, rows["positions"], mask, None, only)).argmax(-1)
    good = guess == ids[:, 1:][only]
    copied = rows["copies"][:, 1:][only] >= 0
    turn = (only[0] * 1000 + rows["documents"][:, 1:][only]) * 1000 + rows["segments"][:, 1:][only]
    asked = rows["segments"][:, 1:][only] >= BRANCH
    counts = {"stated": [0, 0], "unstated": [0, 0]}
    for t in turn[asked].unique():
        here = turn == t
        kind = "stated" if copied[here].any() else "unstated"
        counts[kind][0] += bool(good[here].all())
        counts[kind][1] += 1
    return counts


def schedule(done):
    """The rates' factor: flat, then down along a cosine."""
    if done < FLAT_UNTIL:
        return 1.0
    return 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * (done - FLAT_UNTIL) / (1 - FLAT_UNTIL)))


class Trainer:
    """One process of the training."""

    def __init__(self, a, s, model, worker, workers, grads, barrier, clock):
        self.a, self.s, self.model, self.worker, self.workers = a, s, model, worker, workers
        self.grads, self.barrier, self.clock = grads, barrier, clock
        self.device = next(model.parameters()).device
        self.optimiser = Optimiser(model, s.rate_matrix, s.rate_vector, worker, workers)
        self.state = {"steps": 0, "tokens": 0, "seconds": 0.0, "short": 0, "long": 0}
        self.began = time.time()

    def done(self):
        """How far the training is, from 0 to 1; the same in all processes."""
        if self.worker == 0:
            seconds = self.state["seconds"] + time.time() - self.began
            rows = self.state["short"] / self.s.short_rows * SHORT_UNTIL + self.state["long"] / self.s.long_rows * (1 - SHORT_UNTIL)
            self.clock.value = seconds / (60 * self.a.minutes) if self.a.minutes else rows
        self.wait()
        return self.clock.value

    def wait(self):
        if self.workers > 1:
            self.barrier.wait()

    def share_gradients(self):
        """Puts the mean of all processes' gradients into the parameters."""
        if self.workers == 1:
            return
        at = 0
        for p in self.model.parameters():
            self.grads[self.worker, at : at + p.numel()] = p.grad.view(-1)
            at += p.numel()
        self.wait()
        at = 0
        for p in self.model.parameters():
            p.grad.copy_(self.grads[:, at : at + p.numel()].mean(0).view_as(p))
            at += p.numel()

    def run(self):
        state, a, s = self.state, self.a, self.s
        torch.manual_seed(a.seed * 1000 + self.worker)
        stages = {k: Rows(a.work, k, self.worker, self.workers) for k in ("short", "long")}
        if (a.work / "nano.pt").exists():
            state.update(torch.load(a.work / "nano.pt", map_location="cpu")["state"])
            mine = a.work / f"nano-optimiser-{self.worker}-of-{self.workers}.pt"
            if mine.exists():
                self.optimiser.restore(torch.load(mine, map_location=self.device))
        for k in stages:
            stages[k].at = state[k]
        seen, shown_at, began_at = {}, 0, state["tokens"]
        while (done := self.done()) < 1:
            stage = "short" if done < SHORT_UNTIL else "long"
            length = s.short if stage == "short" else s.long
            n = max(1, s.batch_tokens // length // self.workers)
            rows = {k: v.to(self.device) for k, v in stages[stage].take(n).items()}
            loss, now = batch_loss(self.model, rows)
            loss.backward()
            self.share_gradients()
            self.optimiser.step(min(1, (state["steps"] + 1) / 50) * schedule(done))
            self.wait()
            state["steps"] += 1
            state[stage] = stages[stage].at
            state["tokens"] += n * self.workers * length
            if state["steps"] % SAVE_EVERY == 0:
                self.save()
                self.report()
            if self.worker:
                continue
            for k, v in now.items():
                seen[k] = 0.95 * seen.get(k, v) + 0.05 * v
            if time.time() - shown_at > 20:
                shown_at = time.time()
                rate = (state["tokens"] - began_at) / (time.time() - self.began)
                told = " ".join(f"{k} {v:.3f}" for k, v in sorted(seen.items()))
                print(f"{100 * done:5.1f}% step {state['steps']} tokens {state['tokens']:,} {rate:,.0f}/s {told}", flush=True)
        self.save()
        self.report()

    def save(self):
        """The weights once, the optimiser's state process by process."""
        if self.worker == 0:
            state = dict(self.state, seconds=self.state["seconds"] + time.time() - self.began)
            put(self.a.work / "nano.pt", {"model": self.model.state_dict(), "state": state, "settings": self.s.name})
        put(self.a.work / f"nano-optimiser-{self.worker}-of-{self.workers}.pt", self.optimiser.state())
        self.wait()

    def report(self):
        if self.worker:
            return
        test = Rows(self.a.work, "test", 0, 1)
        total = {}
        for _ in range(8):
            rows = {k: v.to(self.device) for k, v in test.take(4).items()}
            for k, (good, n) in exact(self.model, rows).items():
                g, m = total.get(k, (0, 0))
                total[k] = (g + good, m + n)
        print("held out: " + ", ".join(f"{k} {g}/{n} = {100 * g / max(1, n):.1f}%" for k, (g, n) in total.items()), flush=True)


def put(path, data):
    torch.save(data, path.with_suffix(".part"))
    os.replace(path.with_suffix(".part"), path)


def worker(number, a, s, model, workers, grads, barrier, clock):
    torch.set_num_threads(1)
    if hasattr(os, "sched_setaffinity") and workers > 1:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[number]})
    Trainer(a, s, model, number, workers, grads, barrier, clock).run()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--settings", default="cpu", choices=sizes.ALL)
    p.add_argument("--work", required=True, type=pathlib.Path, help="folder of the packed rows; the model goes there")
    p.add_argument("--minutes", type=float, default=0, help="length of the training; without it, one pass over the rows")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    environment()
    s = sizes.ALL[a.settings]
    torch.manual_seed(a.seed)
    model = Nano(s)
    if (a.work / "nano.pt").exists():
        model.load_state_dict(torch.load(a.work / "nano.pt", map_location="cpu")["model"])
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    if torch.cuda.is_available():
        Trainer(a, s, model.cuda(), 0, 1, None, None, multiprocessing.Value("d")).run()
        return
    workers = len(os.sched_getaffinity(0))
    model.share_memory()
    context = multiprocessing.get_context("fork")
    grads = torch.zeros(workers, sum(p.numel() for p in model.parameters())).share_memory_()
    barrier, clock = context.Barrier(workers), context.Value("d")
    others = [context.Process(target=worker, args=(i, a, s, model, workers, grads, barrier, clock), daemon=True) for i in range(1, workers)]
    for o in others:
        o.start()
    worker(0, a, s, model, workers, grads, barrier, clock)
    for o in others:
        o.join()


if __name__ == "__main__":
    main()
