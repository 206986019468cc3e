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

import export
import settings as sizes
from documents import NOWHERE
from muon import Optimiser
from nano import BLOCKED, BRANCH, Nano, visible
from pack import FIELDS, SHARD
from prompts import REFUSAL, Frame
from tokens import Tokenizer

FLAT_UNTIL = 0.45  # of the training; then the rates fall
GUIDE = 0.1  # weight of the guided heads' loss
ALIKE = 2.0  # weight of what parts the answers from the same chunks laid out in two ways
OTHER, OTHER_WEIGHT = 0.08, 0.2  # share of the tokens that are no answer, and their weight
SAVE_EVERY = 100  # steps
MEMORY = {  # without these, half of the time goes to page faults
    "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "20000000000",
    "MALLOC_TOP_PAD_": "268435456", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "OMP_NUM_THREADS": "1",
}


def processor():
    """What this processor says it can do; nothing where it does not say."""
    path = pathlib.Path("/proc/cpuinfo")
    return set(path.read_text().split()) if path.exists() else set()


def environment():
    """Starts this program anew with what libraries read only at their start."""
    wanted = dict(MEMORY)
    if "avx512f" in processor():
        wanted["OPENBLAS_CORETYPE"] = "SkylakeX"  # newer processors get slower kernels otherwise
    if any(k not in os.environ for k in wanted):
        os.environ.update({k: os.environ.get(k, v) for k, v in wanted.items()})
        os.execv(sys.executable, [sys.executable, *sys.argv])


class Rows:
    """The rows of one stage in turn, each process its own. Rows that are not
    packed yet are waited for, so that packing can go on beside the training."""

    def __init__(self, folder, stage, count, worker=0, workers=1, seen=0):
        self.folder, self.stage, self.shards = folder, stage, -(-count // SHARD)
        self.worker, self.workers = worker, workers
        self.at = seen  # rows taken by all processes together
        self.waited = 0.0  # seconds
        self.shard, self.number = None, None

    def load(self, number):
        path = self.folder / f"{self.stage}-{number:04}.npz"
        if not path.exists():
            print(f"waiting for {path}", flush=True)
        since = time.time()
        while not path.exists():
            time.sleep(0.5)
        self.waited += time.time() - since
        with numpy.load(path) as z:
            self.shard = {k: z[k] for k in z.files}
        assert set(self.shard) == set(FIELDS), f"an earlier recipe packed {path}: remove it and pack anew"
        self.number = number

    def take(self, n):
        """The next n rows of this process."""
        picked = []
        for i in range(n):
            at = self.at + i * self.workers + self.worker
            if at // SHARD % self.shards != self.number:
                self.load(at // SHARD % self.shards)
            picked.append({k: v[at % SHARD % len(v)] for k, v in self.shard.items()})
        self.at += n * self.workers
        return {k: torch.from_numpy(numpy.stack([p[k] for p in picked]).astype(numpy.int64)) for k in picked[0]}


def guides(layers):
    """Which heads are shown where to look: (what, layer, head).

    What a value is can be told at its last token, and not before. So that is
    where a context's knowledge is gathered: it looks at the value's own first
    token, and then at the values before it of the same fact. A question's names
    find the same names in the context, before this and after. The question's end
    looks at its names, at the sentence that answers, and at the last token
    of the value that does. The last layers look at the token to copy."""
    half = layers // 2
    return (
        ("before", 0, 0), ("matches", 1, 0), ("own", half - 2, 0),
        ("earlier 1", half - 1, 0), ("earlier 2", half - 1, 1), ("earlier 3", half - 1, 2),
        ("matches", half, 0), ("names", half + 1, 0), ("sentences", half + 1, -1),
        ("values", layers - 2, 2), ("goes on", layers - 2, 0), ("copies", layers - 1, 0),
    )


def guided_loss(kept, mask, rows, model):
    """-log attention of each guided head on the place it should look at."""
    s, total, losses, aims = model.settings, 0.0, {}, {}
    for what, layer, head in guides(s.layers):
        if what not in aims:
            aims[what] = Aim(*targets(what, rows), mask)
        if not aims[what].some:
            continue
        q, k = kept[layer][0]
        loss = aims[what].missed(q[:, :, head], k[:, :, head % s.heads * s.heads_kv // s.heads])
        losses[what] = loss.detach()
        total = total + loss
    return total, losses


class Aim:
    """Tokens that look (row, token), and from where up to where they should."""

    def __init__(self, row, token, low, high, mask):
        self.some, self.row = len(row) > 0, row
        if not self.some:
            return
        # One list of queries a row, filled up to the longest. They come row by row.
        count = torch.bincount(row, minlength=len(mask))
        self.turn = torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]
        shape = len(mask), int(count.max())
        spread = lambda x: torch.zeros(shape, dtype=x.dtype, device=x.device).index_put((row, self.turn), x)
        self.wanted, low, high = spread(token), spread(low)[:, :, None], spread(high)[:, :, None]
        place = torch.arange(mask.shape[2], device=mask.device)
        self.outside = (place < low) | (place >= high)
        self.mask = mask.gather(1, self.wanted[:, :, None].expand(-1, -1, mask.shape[2]))

    def missed(self, q, k):
        near = q.gather(1, self.wanted[:, :, None].expand(-1, -1, q.shape[2]))
        score = (near @ k.transpose(1, 2)).float() * q.shape[2] ** -0.5 + self.mask
        missed = score.logsumexp(2) - score.masked_fill(self.outside, BLOCKED).logsumexp(2)
        return missed[self.row, self.turn].mean()


def targets(what, rows):
    """(row, token that looks, from where, up to where it should look)"""
    if what in ("copies", "goes on"):
        copied = rows["copies"] >= 0
        if what == "goes on":
            copied &= rows["lows"] < 0
        row, token = copied.nonzero(as_tuple=True)
        place = rows["copies"][row, token]
        return row, token - 1, place, place + 1
    if what == "matches":
        row, token = (rows["matches"] >= 0).nonzero(as_tuple=True)
        place = rows["matches"][row, token]
        return row, token, place, place + 1
    if what == "sentences":
        row, token = (rows["lows"] >= 0).nonzero(as_tuple=True)
        return row, token - 1, rows["lows"][row, token], rows["highs"][row, token]
    if what == "names":
        row, token = (rows["lows"] >= 0).nonzero(as_tuple=True)
        place = torch.arange(rows["ids"].shape[1], device=row.device)
        named = (rows["matches"][row] >= 0) & (place < token[:, None])
        for k in ("documents", "segments"):
            named &= rows[k][row] == rows[k][row, token][:, None]
        low = named.int().argmax(1)
        high = len(place) - named.flip(1).int().argmax(1)
        some = named.any(1)
        return row[some], token[some] - 1, low[some], high[some]
    if what == "before":
        row, token = joined(rows).nonzero(as_tuple=True)
        some = torch.randperm(len(row))[: 32 * len(rows["ids"])].sort().values.to(row.device)
        return row[some], token[some] + 1, token[some], token[some] + 1
    if what == "values":
        row, last = (rows["mates"] >= 0).nonzero(as_tuple=True)
        ends = torch.full_like(rows["mates"], NOWHERE).index_put((row, rows["mates"][row, last]), last)
        row, token = ((rows["lows"] >= 0) & (rows["copies"] >= 0)).nonzero(as_tuple=True)
        place = ends[row, rows["copies"][row, token]]
        some = place >= 0
        return row[some], token[some] - 1, place[some], place[some] + 1
    if what == "own":
        row, last = (rows["mates"] >= 0).nonzero(as_tuple=True)
        first = rows["mates"][row, last]
        some = first < last
        return row[some], last[some], first[some], first[some] + 1
    # A value looks at one before it in the same fact, last token at last token.
    row, token = (rows["mates"] >= 0).nonzero(as_tuple=True)
    place = token
    for _ in range(int(what.split()[1])):
        place = rows["earlier"][row, rows["mates"][row, place]]
        row, token, place = (x[place >= 0] for x in (row, token, place))
    return row, token, place, place + 1


def joined(rows):
    """Tokens whose next one belongs to the same text."""
    d, s = rows["documents"], rows["segments"]
    return (d[:, 1:] == d[:, :-1]) & (s[:, 1:] == s[:, :-1]) & (d[:, 1:] > 0)


def batch_loss(model, rows, dtype):
    ids, weights = rows["ids"], rows["weights"]
    mask = visible(rows["documents"], rows["segments"])
    other = joined(rows) & (weights[:, 1:] == 0)
    other &= torch.rand(other.shape, device=other.device) < OTHER
    weight = weights[:, 1:].float() + OTHER_WEIGHT * other
    only = (weight > 0).nonzero(as_tuple=True)
    kept = {layer: [] for _, layer, _ in guides(model.settings.layers)}
    logits = model.logits(model(ids, rows["positions"], mask, kept, only, dtype))
    loss = F.cross_entropy(logits.float(), ids[:, 1:][only], reduction="none")
    w = weight[only]
    guided, seen = guided_loss(kept, mask, rows, model)
    apart = divergence(logits, only, rows).sum() / w.sum()
    seen |= {"answer": loss[w >= 1].mean().detach(), "other": loss[w < 1].mean().detach(), "apart": apart.detach()}
    return (loss * w).sum() / w.sum() + GUIDE * guided + ALIKE * apart, seen


def divergence(logits, only, rows):
    """How far the answers from the same chunks laid out in two ways are from each
    other, token by token: Jensen and Shannon's divergence, which has a bound, so
    that two tokens sure of different things do not decide where all weights go."""
    twins = rows["twins"]
    row, token = (twins >= 0).nonzero(as_tuple=True)
    number = torch.full_like(twins, NOWHERE).index_put(only, torch.arange(len(only[0]), device=twins.device))
    one, other = (F.log_softmax(logits[number[row, x - 1]].float(), -1) for x in (token, twins[row, token]))
    between = torch.logaddexp(one, other) - math.log(2)
    return (one.exp() * (one - between) + other.exp() * (other - between)).sum(-1) / 2


@torch.no_grad()
def exact(model, rows, refusal):
    """Answers that are right token by token, and how many there are: those that
    the chunks give, and refusals."""
    ids = rows["ids"]
    mask = visible(rows["documents"], rows["segments"])
    only = (rows["weights"][:, 1:] > 0).nonzero(as_tuple=True)
    guess = model.logits(model(ids, rows["positions"], mask, None, only)).argmax(-1)
    wanted = ids[:, 1:][only]
    segment = rows["segments"][:, 1:][only]
    turn = (only[0] * 1000 + rows["documents"][:, 1:][only]) * 1000 + segment
    guess, wanted, segment, turn = (x.cpu() for x in (guess, wanted, segment, turn))
    counts = {"answers": [0, 0], "refusals": [0, 0]}
    for t in turn[segment >= BRANCH].unique():
        here = turn == t
        kind = "refusals" if wanted[here].tolist() == refusal else "answers"
        counts[kind][0] += bool((guess[here] == wanted[here]).all())
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
        fast = self.device.type == "cuda" or "avx512_bf16" in processor()
        self.dtype = torch.bfloat16 if fast else torch.float32
        self.optimiser = Optimiser(model, s.rate_matrix, s.rate_vector, worker, workers, self.dtype)
        begins = [0, *(x.until for x in s.stages)]
        behind = {x.name: round(x.rows * min(1, max(0, (a.begin - b) / (x.until - b)))) for x, b in zip(s.stages, begins)}
        self.state = {"steps": 0, "tokens": 0, "seconds": 0.0, "done": a.begin, **behind}
        self.stages = {}
        self.began = time.time()

    def done(self):
        """How far the training is, from 0 to 1; the same in all processes."""
        if self.worker == 0:
            self.clock.value = self.state["done"] + self.sitting() / (60 * self.a.minutes) if self.a.minutes else self.rows_seen()
        self.wait()
        return self.clock.value

    def sitting(self):
        """Seconds of training in this sitting."""
        return time.time() - self.began - sum(x.waited for x in self.stages.values())

    def rows_seen(self):
        """The same from the rows of each stage."""
        began = 0.0
        for x in self.s.stages:
            if self.state[x.name] < x.rows:
                return began + (x.until - began) * self.state[x.name] / x.rows
            began = x.until
        return 1.0

    def wait(self):
        if self.workers > 1:
            self.barrier.wait(600)  # a process that failed must not hold the others for ever

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
        if (a.work / "nano.pt").exists():
            state.update(torch.load(a.work / "nano.pt", map_location="cpu")["state"])
            mine = self.optimiser_file()
            saved = torch.load(mine, map_location="cpu") if mine.exists() else {}
            if saved.pop("steps", None) == state["steps"]:
                self.optimiser.restore(saved)
            else:
                print(f"{mine.name} is not there, or not of step {state['steps']}: the optimiser begins anew", flush=True)
        self.stages = {x.name: Rows(a.work, x.name, x.rows, self.worker, self.workers, state[x.name]) for x in s.stages}
        seen, shown_at, began_at = {}, 0, state["tokens"]
        while (done := self.done()) < a.until:
            stage = next(x for x in s.stages if done < x.until)
            n = max(1, s.batch_tokens // stage.room // self.workers)
            rows = {k: v.to(self.device) for k, v in self.stages[stage.name].take(n).items()}
            loss, now = batch_loss(self.model, rows, self.dtype)
            loss.backward()
            self.share_gradients()
            self.optimiser.step(min(1, (state["steps"] + 1) / 50) * schedule(done))
            self.wait()
            state["steps"] += 1
            state[stage.name] = self.stages[stage.name].at
            state["tokens"] += n * self.workers * stage.room
            if state["steps"] % SAVE_EVERY == 0:
                self.save()
                self.report()
            if self.worker:
                continue
            for k, v in now.items():
                seen[k] = 0.95 * seen.get(k, v) + 0.05 * v
            if time.time() - shown_at > 20:
                shown_at = time.time()
                rate = (state["tokens"] - began_at) / self.sitting()
                told = " ".join(f"{k} {v:.3f}" for k, v in sorted(seen.items()))
                print(f"{100 * done:5.1f}% step {state['steps']} tokens {state['tokens']:,} {rate:,.0f}/s {told}", flush=True)
        self.save()
        self.report()

    def save(self):
        """The weights once, the optimiser's state process by process."""
        if self.worker == 0:
            state = dict(self.state, seconds=self.state["seconds"] + self.sitting(), done=self.clock.value)
            put(self.a.work / "nano.pt", {"model": self.model.state_dict(), "state": state, "settings": self.s.name})
        put(self.optimiser_file(), self.optimiser.state() | {"steps": self.state["steps"]})
        self.wait()

    def optimiser_file(self):
        return self.a.work / f"nano-optimiser-{self.worker}-of-{self.workers}.pt"

    def report(self):
        if self.worker:
            return
        test = Rows(self.a.work, "test", 1)
        refusal = Frame(Tokenizer.load(self.a.work / "tokenizer.json")).answer(REFUSAL)
        total = {}
        for _ in range(8):
            rows = {k: v.to(self.device) for k, v in test.take(4).items()}
            for k, (good, n) in exact(self.model, rows, refusal).items():
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
    p.add_argument("--start", help="a model to train further, as export.py wrote it")
    p.add_argument("--begin", type=float, default=0, help="share of the training that a model given with --start has behind it")
    p.add_argument("--until", type=float, default=1, help="share of the training after which to stop this time")
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    assert a.start or not a.begin, "--begin is for a model given with --start"
    environment()
    s = sizes.ALL[a.settings]
    assert s.name != "gpu" or torch.cuda.is_available(), "PyTorch finds no GPU: Debian's package knows none, pytorch.org's CUDA builds do"
    torch.manual_seed(a.seed)
    model = Nano(s)
    if (a.work / "nano.pt").exists():
        saved = torch.load(a.work / "nano.pt", map_location="cpu")
        assert saved["settings"] == s.name, f"the model in {a.work} was trained with --settings {saved['settings']}"
        model.load_state_dict(saved["model"])
    elif a.start:
        model.load_state_dict(export.weights(s, a.start))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    if torch.cuda.is_available():
        Trainer(a, s, model.cuda(), 0, 1, None, None, multiprocessing.Value("d")).run()
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = min(cores, s.batch_tokens // max(x.room for x in s.stages))
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
