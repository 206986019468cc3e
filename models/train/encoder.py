"""Trains the sentence encoder: a table of word vectors, added up.

    python3 encoder.py --settings cpu --data DATA --work WORK --out nano-embed.gguf

The rows begin as what words stand beside (PPMI, then SVD), weighted down for
common words, and are then pulled and pushed by the pairs of `pairs.py`."""

import argparse
import collections
import pathlib

import numpy
import torch
from torch.nn import functional as F

import gguf
import settings as sizes
from pairs import Pairs
from prompts import Frame
from rows import MARK, Rows, words
from tokens import Tokenizer

LIMIT = 512  # rows of a text that count
WINDOW = 5
COMMON = 1e-3  # a word of this share has half of the weight
SHARPNESS = 20.0  # of the loss by similarity
TEMPERATURE = 0.05
BATCH = 384
PASSED = 0.01  # share of near misses that the default threshold lets pass
RATE = 0.002
DROPPED = 0.15  # share of a text's rows left out, so that no single word decides


def texts(pairs, count=30_000):
    """Real text, and as much of the invented kind."""
    c = pairs.corpus
    yield from c.texts()
    for like, unlike in pairs.groups:
        yield from like + unlike
    for group in pairs.synonyms + pairs.opposites:
        yield from group
    for a, b in pairs.sentences:
        yield f"{a} {b}"
    for _ in range(count):
        p = pairs.answered()
        yield f"{p.a} {p.b}"


def vocabulary(counts, size):
    """Whole words by frequency, then the beginnings and pieces of the others."""
    whole = [w for w, n in counts.most_common() if not w.isdigit() or len(w) <= 4][: size * 85 // 100]
    known, pieces = set(whole), collections.Counter()
    for w, n in counts.items():
        if w in known or not w.isascii():
            continue
        for length in (1, 2, 3, 4, 5):
            pieces[MARK + w[:length]] += n * length
            for i in range(1, len(w) - length + 1):
                pieces[w[i : i + length]] += n * length
    letters = [x for c in "abcdefghijklmnopqrstuvwxyz0123456789" for x in (MARK + c, c)]
    tokens = dict.fromkeys([MARK] + [MARK + w for w in whole] + letters)
    for piece, _ in pieces.most_common():
        if len(tokens) >= size:
            break
        tokens.setdefault(piece)
    return list(tokens)[:size]


def beginnings(sequences, count, width, seed):
    """Vectors of rows by their neighbours."""
    seen = numpy.zeros((count, count), numpy.float32)
    flat, block = numpy.concatenate(sequences), numpy.concatenate([numpy.full(len(s), i) for i, s in enumerate(sequences)])
    for gap in range(1, WINDOW + 1):
        inside = block[gap:] == block[:-gap]
        cell, times = numpy.unique(flat[:-gap][inside].astype(numpy.int64) * count + flat[gap:][inside], return_counts=True)
        numpy.add.at(seen.reshape(-1), cell, times.astype(numpy.float32) / gap)
    seen += seen.T.copy()
    total = seen.sum(1)
    smooth = (total + 1) ** 0.75
    smooth /= smooth.sum()
    for i in range(0, count, 1000):
        part = seen[i : i + 1000] / (total[i : i + 1000, None] + 1e-9) / smooth
        numpy.log(part, out=part, where=part > 0)
        seen[i : i + 1000] = numpy.maximum(part, 0)
    m = torch.from_numpy(seen)
    torch.manual_seed(seed)
    q = torch.randn(count, width + 32)
    for _ in range(4):
        q, _ = torch.linalg.qr(m @ q)
    u, s, _ = torch.linalg.svd(q.T @ m, full_matrices=False)
    vectors = (q @ u)[:, :width] * s[:width].sqrt()
    vectors -= vectors.mean(0)
    return vectors / (vectors.norm(dim=1, keepdim=True) + 1e-6)


class Table(torch.nn.Module):
    def __init__(self, start, counts, hashed, seed):
        super().__init__()
        share = counts / counts.sum()
        torch.manual_seed(seed)
        random = F.normalize(torch.randn(len(counts) + hashed, start.shape[1]), dim=1)
        start = torch.where(counts[:, None] > 0, start, random[: len(counts)])
        weight = torch.cat([start * (COMMON / (COMMON + share))[:, None].sqrt(), random[len(counts) :]])
        self.bag = torch.nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode="sum")

    def forward(self, lists):
        flat = torch.tensor([i for x in lists for i in x])
        starts = torch.tensor([0] + [len(x) for x in lists[:-1]]).cumsum(0)
        return F.normalize(self.bag(flat, starts), dim=1)


def train(table, drawn, steps, seed):
    """drawn: (rows of a, rows of b, rows of what is unlike a, same or not)."""
    adam = torch.optim.Adam(table.parameters(), lr=RATE, betas=(0.9, 0.98))
    bias = torch.tensor(0.75)  # similarity at which same and unlike are equally likely
    order = numpy.random.default_rng(seed)
    shown = collections.Counter()
    for step in range(steps):
        picked = [drawn[i] for i in order.integers(0, len(drawn), min(BATCH, len(drawn)))]
        a, b = table([thinned(p[0], order) for p in picked]), table([thinned(p[1], order) for p in picked])
        near = [i for i, p in enumerate(picked) if p[2]]
        u = table([thinned(picked[i][2], order) for i in near])
        others = torch.cat([b, u])
        score = a @ others.T
        # What is nearly equal to b is no negative of a; near misses always are.
        twins = (b @ b.T > 0.98) & ~torch.eye(len(b), dtype=torch.bool)
        score[:, : len(b)] = score[:, : len(b)].masked_fill(twins, -1)
        loss = F.cross_entropy(score / TEMPERATURE, torch.arange(len(a)))
        same = torch.tensor([i for i, p in enumerate(picked) if p[3]])
        like, unlike = (a[same] * b[same]).sum(1), (a[near] * u).sum(1)
        fit = F.softplus(-SHARPNESS * (like - bias)).mean() + F.softplus(SHARPNESS * (unlike - bias)).mean()
        for g in adam.param_groups:
            g["lr"] = RATE * min(1, (step + 1) / 100) * (1 - step / steps)
        adam.zero_grad()
        (loss + 0.3 * fit).backward()
        adam.step()
        shown.update({"pairs": loss.item(), "fit": fit.item()})
        if (step + 1) % 200 == 0 or step + 1 == steps:
            print(f"step {step + 1}/{steps} " + " ".join(f"{k} {v / min(200, step + 1):.3f}" for k, v in shown.items()), flush=True)
            shown.clear()


def thinned(rows, random):
    """Some of the rows, and never none."""
    kept = [r for r, x in zip(rows, random.random(len(rows))) if x >= DROPPED]
    return kept or rows


def save(path, tokens, weight, hashed, threshold):
    gguf.write(path, {
        "general.architecture": "static", "general.name": "percached nano-embed", "general.license": "CC-BY-SA-4.0",
        "static.version": 1, "static.embedding_length": weight.shape[1], "static.context_length": LIMIT,
        "static.hash_rows": hashed, "static.threshold": float(threshold),
        "tokenizer.ggml.model": "static", "tokenizer.ggml.tokens": tokens,
    }, [("token_embd.weight", weight, gguf.Q8_0)])


def calibrate(table, rows, pairs, count=3000):
    """The lowest similarity that lets pass at most one in a hundred questions
    that ask for something else in a fact's own phrasings. What is written by
    hand to look alike passes more often, at any threshold that lets
    paraphrases pass too: the gate is for that."""
    unlike = [(p.a, p.unlike) for p in (pairs.invented() for _ in range(count))]
    score = (table([rows(a) for a, _ in unlike]) * table([rows(b) for _, b in unlike])).sum(1).detach()
    return round(float(numpy.ceil(100 * numpy.quantile(score.numpy(), 1 - PASSED)) / 100), 2)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--settings", default="cpu", choices=sizes.ALL)
    p.add_argument("--data")
    p.add_argument("--work", required=True, type=pathlib.Path)
    p.add_argument("--out", required=True)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    s = sizes.ALL[a.settings]
    frame = Frame(Tokenizer.load(a.work / "tokenizer.json"))
    pairs = Pairs(frame, a.data, s.mails and 1_000_000, "train", f"encoder-{a.seed}")
    listed = [words(t) for t in texts(pairs, 10 * s.encoder_steps)]
    tokens = vocabulary(collections.Counter(w for t in listed for w in t), s.encoder_words)
    rows = Rows(tokens, s.encoder_hashed, LIMIT)
    sequences = [numpy.array([r for w in t for r in rows.word(w) if r < len(tokens)], numpy.int32) for t in listed]
    counts = torch.from_numpy(numpy.bincount(numpy.concatenate(sequences), minlength=len(tokens)).astype(numpy.float32))
    print(f"{len(tokens):,} words and pieces in {int(counts.sum()):,} rows of text", flush=True)
    table = Table(beginnings(sequences, len(tokens), s.encoder_width, a.seed), counts, s.encoder_hashed, a.seed)
    made = [pairs.draw() for _ in range(60 * s.encoder_steps)]
    drawn = [(rows(x.a), rows(x.b)[:200], rows(x.unlike), x.same) for x in made]
    drawn = [d for d in drawn if d[0] and d[1]]
    print(f"{len(drawn):,} pairs", flush=True)
    train(table, drawn, s.encoder_steps, a.seed)
    threshold = calibrate(table, rows, Pairs(frame, None, 0, "tune", f"threshold-{a.seed}"))
    save(a.out, tokens, table.bag.weight.detach().numpy(), s.encoder_hashed, threshold)
    print(f"wrote {a.out}, threshold {threshold}")


if __name__ == "__main__":
    main()
