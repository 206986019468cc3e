"""Packs documents into rows of one length and writes them as arrays: everything
that takes a processor and not a GPU is done here, ahead of training.

    python3 pack.py --settings cpu --data DATA --out WORK
"""

import argparse
import functools
import hashlib
import json
import multiprocessing
import os
import pathlib

import numpy

import export
import settings as sizes
from corpus import Corpus
from documents import NOWHERE, Document
from inbox import HeldOut
from prompts import Frame
from tasks import Tasks
from tokens import Tokenizer, learn
from worlds import World

FIELDS = {"ids": numpy.uint16, "positions": numpy.int16, "segments": numpy.uint8, "weights": numpy.uint8,
          **{k: numpy.int16 for k in Document.PLACES}, "documents": numpy.uint8}
SHARD = 1000  # rows


def fill(room, draw):
    """A row of `room` tokens. draw gives a document of so many tokens at most, or None."""
    whole, tries = Document(), 0
    while tries < 20 and len(whole) < room - 64:
        d = draw(room - len(whole))
        if d is None:
            tries += 1
        else:
            whole.join(d)
    pad = room - len(whole)
    return {k: getattr(whole, k) + [NOWHERE if k in Document.PLACES else 0] * pad for k in FIELDS}


# Read once a process, and not for every shard.
corpus = functools.cache(Corpus)


@functools.cache
def frame(folder):
    return Frame(Tokenizer.load(folder / "tokenizer.json"))


def shard(job):
    """Writes one shard of rows."""
    path, rows, stage, seed, folder, data, mails, split = job
    if path.exists():
        return path
    texts = corpus(data, mails)
    if split == "test":
        texts = HeldOut(data, texts.readings)
    tasks = Tasks(frame(folder), texts, split, seed, stage=stage)
    made = [fill(stage.room, tasks.document) for _ in range(rows)]
    arrays = {k: numpy.array([r[k] for r in made], t) for k, t in FIELDS.items()}
    part = path.with_suffix(".part.npz")
    numpy.savez_compressed(part, **arrays)
    os.replace(part, path)
    return path


def tokenizer(s, corpus, folder, start):
    path = folder / "tokenizer.json"
    if start:
        given = export.tokenizer(start)
        assert not path.exists() or Tokenizer.load(path).tokens == given.tokens, f"{path} is not the tokenizer of {start}"
        given.save(path)
    elif not path.exists():
        world = World("train", 0)
        texts = list(corpus.texts())
        for _ in range(4000):
            f = world.fact()
            texts += [world.chunk([f], 60).text, world.ask(f).question, world.ask(f).question]
        learn(texts, s.vocabulary).save(path)
    return Tokenizer.load(path)


def stamp(folder, **made):
    """All rows of a folder are of one making: which one is written beside them."""
    made["tokenizer"] = hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest()
    path = folder / "packed.json"
    if path.exists() or any(folder.glob("*.npz")):
        before = json.loads(path.read_text()) if path.exists() else "an unknown one"
        assert before == made, f"{folder} holds rows of another making: {before}"
    path.write_text(json.dumps(made))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--settings", default="cpu", choices=sizes.ALL)
    p.add_argument("--stages", nargs="+", help="only these stages of the training")
    p.add_argument("--data", help="folder of data sets; without it, only what is invented here")
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--start", help="a model to train further: its tokenizer is taken")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, default=os.cpu_count())
    a = p.parse_args()
    s = sizes.ALL[a.settings]
    assert set(a.stages or []) <= {x.name for x in s.stages}, f"the stages are {', '.join(x.name for x in s.stages)}"
    a.out.mkdir(parents=True, exist_ok=True)
    t = tokenizer(s, corpus(a.data, s.mails), a.out, a.start)
    assert len(t.tokens) == s.vocabulary, f"{len(t.tokens)} tokens, the settings say {s.vocabulary}"
    stamp(a.out, settings=a.settings, seed=a.seed, data=bool(a.data))
    last = s.stages[-1]
    jobs = [(a.out / "test-0000.npz", 128, last, f"{a.seed}-test", a.out, a.data, s.mails, "test")]
    for stage in [x for x in s.stages if not a.stages or x.name in a.stages]:
        for i in range(0, stage.rows, SHARD):
            path = a.out / f"{stage.name}-{i // SHARD:04}.npz"
            jobs.append((path, min(SHARD, stage.rows - i), stage, f"{a.seed}-{stage.name}-{i}", a.out, a.data, s.mails, "train"))
    with multiprocessing.Pool(a.workers) as pool:
        for n, path in enumerate(pool.imap(shard, jobs), 1):
            print(f"{n}/{len(jobs)} {path.name}", flush=True)


if __name__ == "__main__":
    main()
