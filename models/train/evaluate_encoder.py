"""Measures encoders on what nano-embed was not trained on, and prints tables in
Markdown.

    python3 evaluate_encoder.py --work WORK --data DATA --models nano-embed=nano-embed.gguf [v0=old.bin,old-vocab.json]
"""

import argparse
import csv
import io
import json
import pathlib
import random
import struct
import tarfile

import numpy

import gguf
from inbox import HeldOut, demo
from pairs import Pairs
from prompts import Frame
from rows import Rows
from search import BM25, fused, rank
from tables import share, table
from tasks import Tasks
from tokens import Tokenizer

THRESHOLDS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
SAMPLES = (
    "When is my dentist appointment?", "Order #A-9921 came to $4,250.00 (paid 12/03).", "Caf\u00e9 Z\u00fcrich, na\u00efve \u00e6ther \u2014 \u4f1a\u8b70\u306f\u6708\u66dc",
    "qzxvkwj 4471 x4471-b", "It's o'clock; two-factor e-mail: ana.ruiz@example.com", "",
)


class Encoder:
    """A table of word vectors, read from the product's file or from the first version's."""

    def __init__(self, path):
        if path.endswith(".gguf"):
            m, t = gguf.read(path)
            self.weight, hashed = t["token_embd.weight"], m["static.hash_rows"]
            self.rows = Rows(m["tokenizer.ggml.tokens"], hashed, m["static.context_length"])
            return
        path, words = path.split(",")
        data = pathlib.Path(path).read_bytes()
        _, count, hashed, width = struct.unpack_from("<4I", data, 8)
        scale = numpy.frombuffer(data, "<f4", count + hashed, 24)
        whole = numpy.frombuffer(data, numpy.int8, offset=24 + scale.nbytes).reshape(-1, width)
        self.weight = whole * scale[:, None]
        self.rows = Rows(json.loads(pathlib.Path(words).read_text())["tokens"], hashed, 160)

    def __call__(self, texts):
        out = numpy.array([self.weight[self.rows(t)].sum(0) for t in texts])
        out[~out.any(1), 0] = 1  # as the product has it
        return out / numpy.linalg.norm(out, axis=1, keepdims=True)


def spearman(a, b):
    place = lambda x: numpy.array([(x < v).sum() + ((x == v).sum() - 1) / 2 for v in x])
    return float(numpy.corrcoef(place(a), place(b))[0, 1])


def member(data, archive, end):
    with tarfile.open(pathlib.Path(data) / archive) as tar:
        return tar.extractfile(next(m for m in tar.getmembers() if m.name.endswith(end))).read().decode()


def similarity(encoders, data):
    """STS-B, and finding a paraphrase among 1,000 questions."""
    scored = [r for r in csv.reader(io.StringIO(member(data, "pairs.tar.gz", "stsb-en-test.csv")))]
    gold = numpy.array([float(r[2]) for r in scored])
    a = member(data, "pairs.tar.gz", "quora-para/data/test.txt").splitlines()
    b = member(data, "pairs.tar.gz", "super/test_2.txt").splitlines()
    pick = random.Random(5).sample(range(min(len(a), len(b))), 1000)
    rows = []
    for name, e in encoders.items():
        s = spearman((e([r[0] for r in scored]) * e([r[1] for r in scored])).sum(1), gold)
        found = (e([a[i] for i in pick]) @ e([b[i] for i in pick]).T).argmax(1) == numpy.arange(1000)
        rows.append([name, f"{s:.3f} (n = {len(gold)})", share(int(found.sum()), 1000)])
    print("\n### Sentences: similarity, and a Quora paraphrase found first among 1,000\n")
    print(table(["encoder", "STS-B test, Spearman", "recall@1"], rows))


def matching(encoders, pairs, count=3000):
    """Paraphrases and near misses that nothing was trained on, over thresholds."""
    kinds = {"written by hand": [], "invented facts": []}
    for like, unlike in pairs.groups:
        for a, b in zip(like, like[1:]):
            kinds["written by hand"] += [(a, b, u) for u in unlike]
    for _ in range(count):
        p = pairs.invented()
        kinds["invented facts"].append((p.a, p.b, p.unlike))
    for kind, triples in kinds.items():
        print(f"\n### Matching of questions, {kind} ({len(triples)} of each)\n")
        rows = []
        for name, e in encoders.items():
            a, b, u = (e([t[i] for t in triples]) for i in range(3))
            good, bad = (a * b).sum(1), (a * u).sum(1)
            rows.append([name, "recall"] + [f"{100 * (good >= t).mean():.1f}" for t in THRESHOLDS] + [share(int((good > bad).sum()), len(good))])
            precision = [(good >= t).sum() / max(1, (good >= t).sum() + (bad >= t).sum()) for t in THRESHOLDS]
            rows.append([name, "near misses matched"] + [f"{100 * (bad >= t).mean():.1f}" for t in THRESHOLDS] + [""])
            rows.append([name, "precision"] + [f"{100 * x:.1f}" for x in precision] + [""])
        print(table(["encoder", "%", *map(str, THRESHOLDS), "paraphrase nearer"], rows))


def places(encoders, asked, texts):
    """Mean reciprocal rank at 10 of BM25, each encoder, and both."""
    bm25 = BM25(texts)
    words = [bm25.scores(q) for q, _ in asked]
    mrr = lambda ranks: f"{sum(1 / r for r in ranks if r <= 10) / len(ranks):.3f}"
    first = mrr([rank(s, right) for s, (_, right) in zip(words, asked)])
    out = []
    for name, e in encoders.items():
        chunks, questions = e(texts), e([q for q, _ in asked])
        near = [chunks @ q for q in questions]
        alone = mrr([rank(c, right) for c, (_, right) in zip(near, asked)])
        both = mrr([rank(fused(w, c), right) for w, c, (_, right) in zip(words, near, asked)])
        out.append([name, first, alone, both])
    return out


def retrieval(encoders, tasks, folder):
    sets = {}
    texts, asked = [], []
    for _ in range(1000):
        facts = [tasks.world.fact()]
        c = tasks.world.chunk(facts, tasks.random.randint(60, 100))
        asked.append((tasks.world.ask(facts[0]).question, len(texts)))
        texts.append(f"{c.title}\n{c.text}")
    sets["invented mail and meetings"] = asked, texts
    chunks, questions = demo(folder)
    texts, asked = [f"{c.title} {c.source}\n{c.text}" for _, c in chunks], []
    for q in questions:
        right = [i for i, (d, c) in enumerate(chunks) if d == q["document"] and q["answer"] in c.text]
        if right:
            asked += [(x, right[0]) for x in [q["question"], *q["paraphrases"]]]
    sets["the invented inbox"] = asked, texts
    rows = []
    for name, (asked, texts) in sets.items():
        for row in places(encoders, asked, texts):
            rows.append([f"{name}: {len(asked)} questions, {len(texts)} chunks", *row])
    print("\n### Finding the chunk: MRR@10\n")
    print(table(["set", "encoder", "BM25", "encoder", "both"], rows))


def inbox(encoders, folder):
    """The invented inbox: paraphrases that match, near misses that do not."""
    _, questions = demo(folder)
    rows = []
    for name, e in encoders.items():
        like = [(q["question"], p) for q in questions for p in q["paraphrases"]]
        unlike = [(q["question"], q["near_miss"]["question"]) for q in questions]
        score = lambda ps: (e([a for a, _ in ps]) * e([b for _, b in ps])).sum(1)
        good, bad = score(like), score(unlike)
        rows.append([name, f"paraphrases ({len(like)})"] + [int((good >= t).sum()) for t in THRESHOLDS])
        rows.append([name, f"near misses ({len(unlike)})"] + [int((bad >= t).sum()) for t in THRESHOLDS])
    print("\n### The invented inbox: how many match at each threshold\n")
    print(table(["encoder", "of", *map(str, THRESHOLDS)], rows))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--work", required=True, type=pathlib.Path)
    p.add_argument("--data")
    p.add_argument("--models", nargs="+", required=True)
    p.add_argument("--count", type=int, default=3000)
    p.add_argument("--vectors", help="writes vectors of the first encoder there, to compare the product's with")
    a = p.parse_args()
    encoders = {n: Encoder(path) for n, path in (m.split("=", 1) for m in a.models)}
    if a.vectors:
        made = [{"Text": t, "Vector": [round(float(x), 6) for x in next(iter(encoders.values()))([t])[0]]} for t in SAMPLES]
        pathlib.Path(a.vectors).write_text("[\n" + ",\n".join(map(json.dumps, made)) + "\n]\n")
    frame = Frame(Tokenizer.load(a.work / "tokenizer.json"))
    folder = pathlib.Path(__file__).parent.parent / "demo"
    if a.data:
        similarity(encoders, a.data)
    matching(encoders, Pairs(frame, None, 0, "test", "measure"), a.count)
    retrieval(encoders, Tasks(frame, HeldOut(a.data), "test", "measure"), folder)
    inbox(encoders, folder)


if __name__ == "__main__":
    main()
