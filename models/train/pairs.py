"""What the encoder learns from: texts that mean the same, with texts that look
alike and do not; questions with the chunks that answer them.

Every fifth group is held out, and another fifth sets the threshold. Of the public sets, only those whose licence lets
weights be shipped are read."""

import json
import pathlib
import random as random_module
import tarfile
from dataclasses import dataclass

from corpus import Corpus, plain
from tasks import Tasks
from values import held_out
from worlds import SLOT, part

TUNED, TESTED = 3, 4  # of every five
FOLDER = pathlib.Path(__file__).parent / "paraphrases"


@dataclass
class Pair:
    a: str
    b: str
    unlike: str = ""  # close to a, and not the same
    same: bool = True  # a and b say the same; else b answers a


def groups(name, split):
    """[(texts that say the same, texts that look alike and do not)]"""
    blocks = (FOLDER / f"{name}.txt").read_text().split("\n\n")
    out = []
    for block in blocks:
        lines = [x for x in block.splitlines() if x.strip() and not x.startswith("#")]
        like = [x.strip() for x in lines if not x.startswith("- ")]
        unlike = [x[2:].strip() for x in lines if x.startswith("- ")]
        if len(like) > 1:
            out.append((like, unlike))
    return third(out, split)


def third(rows, split):
    """The rows of one of three splits: train, tune (the threshold), test."""
    return [x for i, x in enumerate(rows) if {TUNED: "tune", TESTED: "test"}.get(i % 5, "train") == split]


def lists(name, split):
    rows = (FOLDER / f"{name}.txt").read_text().splitlines()
    return third([[w.strip() for w in r.split("|")] for r in rows if "|" in r and not r.startswith("#")], split)


class Pairs:
    """Draws pairs of one split."""

    def __init__(self, frame, data, mails, split, seed):
        self.random = random_module.Random(seed)
        self.groups = groups("groups", split) + groups("statements", split)
        self.synonyms, self.opposites = lists("synonyms", split), lists("opposites", split)
        self.corpus = Corpus(data, mails)
        self.tasks = Tasks(frame, self.corpus, "test" if split == "test" else "train", seed)
        self.world = self.tasks.world
        self.rephrased = [x for x in _rephrased(self.corpus.find("pairs.tar.gz")) if held_out(x[0]) == (split == "test")]
        self.sentences = [x for x in _sentences(self.corpus.find("qa.tar.gz")) if held_out(x[1]) == (split == "test")]

    def draw(self):
        r, n = self.random.random(), self.random
        if r < 0.30:
            return self.invented()
        if r < 0.52:
            like, unlike = n.choice(self.groups)
            a, b = n.sample(like, 2)
            return Pair(a, b, n.choice(unlike) if unlike else "")
        if r < 0.62:
            return self.words()
        if r < 0.66 and self.rephrased:
            return Pair(*n.choice(self.rephrased))
        if r < 0.74 and self.sentences:
            return Pair(*n.choice(self.sentences), same=False)
        if r < 0.82 and self.corpus.mails:
            subject, _, text = n.choice(self.corpus.mails)
            return Pair(subject, " ".join(text.split()[:120]), same=False)
        if r < 0.86 and self.tasks.readings:
            title, _, text, asked = n.choice(self.tasks.readings)
            return Pair(n.choice(asked)[0], " ".join(text.split()[:120]), same=False)
        return self.answered()

    def invented(self):
        """The same question in two phrasings, and one of another slot, thing or both."""
        n = self.random
        alike = []
        while not alike:  # two lines that name the same slots
            fact = self.world.fact()
            slot, by_slots = n.choice(sorted(fact.kind.asks)), {}
            for line in part(fact.kind.asks[slot], self.world.phrasing):
                by_slots.setdefault(frozenset(SLOT.findall(line)), []).append(line)
            alike = [lines for lines in by_slots.values() if len(lines) > 1]
        a, b = (self.world.ask(fact, slot, line=x) for x in n.sample(n.choice(alike), 2))
        others = [s for s in fact.kind.asks if s != slot]
        if others and n.random() < 0.5:
            unlike = self.world.ask(fact, n.choice(others))
        else:
            unlike = self.world.ask(self.world.fact([fact], fact.kind), slot)
        return Pair(a.question, b.question, unlike.question)

    def words(self):
        n = self.random
        a, b = n.sample(n.choice(self.synonyms), 2)
        if n.random() < 0.4:
            a, unlike = n.sample(n.choice(self.opposites)[:2], 2)
            return Pair(a, a, unlike)
        if n.random() < 0.7:  # in a question
            frame = n.choice(("What about {}?", "{} for the team", "Tell me the {} of it", "How do I {} this?", "the {}"))
            a, b = frame.format(a), frame.format(b)
        return Pair(a, b, "")

    def answered(self):
        """A question with the chunk that states its answer."""
        facts = [self.world.fact()]
        if self.random.random() < 0.5:
            facts.append(self.world.fact(facts))
        chunk = self.world.chunk(facts, self.random.randint(25, 100))
        return Pair(self.world.ask(facts[0]).question, f"{chunk.title}\n{chunk.text}", same=False)


def _rephrased(path):
    """SQuAD questions with their paraphrases."""
    out = []
    if path:
        with tarfile.open(path) as tar:
            read = lambda x: json.load(tar.extractfile(next(m for m in tar.getmembers() if m.name.endswith(x))))
            texts = [_questions(read(f"paraphrasing-squad/datasets/dev_{x}.json")) for x in ("orig", "para")]
            out = [(texts[0][k], texts[1][k]) for k in texts[0].keys() & texts[1].keys() if texts[0][k] != texts[1][k]]
    return sorted(out)


def _questions(data):
    return {q["id"]: plain(q["question"]) for d in data["data"] for p in d["paragraphs"] for q in p["qas"]}


def _sentences(path):
    """NQG's questions with the sentences they are about."""
    out = []
    if path:
        with tarfile.open(path) as tar:
            read = lambda x: tar.extractfile(next(m for m in tar.getmembers() if m.name.endswith(x))).read().decode().splitlines()
            for k in ("dev", "test"):
                for a, b in zip(read(f"tgt-{k}.txt"), read(f"src-{k}.txt")):
                    out.append((plain(a), plain(b.replace("-lrb-", "(").replace("-rrb-", ")"))))
    return out
