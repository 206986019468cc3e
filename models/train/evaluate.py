"""Measures language models on what nano was not trained on, through the product's
engine, and prints tables in Markdown. The first model is the one that counts,
the others run on the same items beside it.

    python3 evaluate.py --data DATA --percached bin/percached-eval \
        --models nano=nano-q8_0.gguf f32=nano-f32.gguf v0=old.gguf
"""

import argparse
import concurrent.futures
import email
import json
import pathlib
import re
from dataclasses import dataclass

import engine
import prompts
from corpus import SENTENCE, plain, unquoted
from inbox import HeldOut, cut
from search import BM25
from tables import f1, normal, share, table
from tasks import Tasks, summary
from values import Values
from worlds import Chunk

CONTEXTS = {1: 120, 2: 120, 3: 200, 4: 120}


@dataclass
class Item:
    group: str
    chunks: list
    question: str
    answers: tuple  # what is right; (REFUSAL,) if nothing is
    parallel: bool = False
    twin: int = -1  # the item whose chunks these are, in another order
    place: int = -1  # of the chunk that states the answer
    new: bool = False  # the answer is of a kind whose values were kept apart

    def prompt(self, model):
        if not self.chunks:
            return {"question": self.question, "max_tokens": 160}
        texts = [engine.render(model, c) for c in self.chunks]
        return engine.prompt(prompts.INSTRUCTIONS, texts, self.question, self.parallel)

    def stated(self):
        return prompts.REFUSAL not in self.answers

    def right(self, text):
        return normal(text) in {normal(a) for a in self.answers}


def invented(tasks, items, group, count, contexts, orders=1):
    """Adds items over invented facts: three questions that are answered and one
    that is not, under both placements, and in other orders."""
    for _ in range(contexts):
        chunks, facts = tasks.contexts(count, tasks.random.randint(60, 100))
        slots = [(f, s) for f in facts for s in sorted(f.kind.asks)]
        asked = []
        tasks.random.shuffle(slots)
        for fact, slot in slots:
            if len(asked) == 3:
                break
            x = tasks.world.ask(fact, slot, among=facts)
            if x:
                place = next(i for i, c in enumerate(chunks) if fact in c.facts)
                asked.append((x.question, (x.answer,), place, fact.kind.slots[slot] not in Values.SHARED))
        asked.append((tasks.world.unanswerable(facts).question, (prompts.REFUSAL,), -1, False))
        for question, right, place, new in asked:
            first = len(items)
            items.append(Item(group, chunks, question, right, True, place=place, new=new))
            if count == 1:
                continue  # both placements are the same
            items.append(Item(group, chunks, question, right, place=place, new=new))
            for turn in range(1, orders if right[0] != prompts.REFUSAL else 1):
                items.append(Item(group, chunks[turn:] + chunks[:turn], question, right, False, first + 1))


def commanded(tasks, items, group, contexts):
    """The same with an instruction to the reader in each of three chunks."""
    first = len(items)
    invented(tasks, items, group, 3, contexts)
    for c in {id(c): c for x in items[first:] for c in x.chunks}.values():
        c.text += "\n" + tasks.random.choice(tasks.world.injections)


def enron(path):
    """Real questions over real mails: the three best pieces of all mails by BM25."""
    items, rows, pieces = [], [json.loads(line) for line in open(path)], []
    for row in rows:
        m = email.message_from_string(row["email"])
        text = unquoted(m.get_payload())
        pieces += [Chunk(plain(m["Subject"] or "No subject"), f"mail from {m['From']}", m["Date"] or "", x, []) for x in cut(SENTENCE.split(text), " ")]
    search = BM25([f"{c.title} {c.source} {c.text}" for c in pieces])
    for row in rows:
        others = row.get("alternate_answers") or [[]] * len(row["questions"])
        for question, gold, other in zip(row["questions"], row["gold_answers"], others):
            best = search.scores(question).argsort()[::-1][:3]
            right = (gold, *(other if isinstance(other, list) else [other]))
            items.append(Item("Real questions over Enron mails (563, of which many want more than a span)", [pieces[i] for i in best], question, right, True))
    return items


class Report:
    def __init__(self, names, items, given):
        self.names, self.items, self.given = names, items, given

    def pick(self, **want):
        return [i for i, x in enumerate(self.items) if all(getattr(x, k) == v for k, v in want.items()) and x.twin < 0]

    def exact(self, name, picked):
        picked = [i for i in picked if self.items[i].stated()]
        return share(sum(self.items[i].right(self.given[name][i]) for i in picked), len(picked))

    def overlap(self, name, picked):
        picked = [i for i in picked if self.items[i].stated()]
        best = [max(f1(self.given[name][i], a) for a in self.items[i].answers) for i in picked]
        return f"{100 * sum(best) / max(1, len(best)):.1f} %"

    def refused(self, name, picked, stated):
        picked = [i for i in picked if self.items[i].stated() == stated]
        return share(sum(normal(self.given[name][i]) == normal(prompts.REFUSAL) for i in picked), len(picked))

    def changed(self, name, right_only):
        """Answers that change with the order of the chunks."""
        pairs = [(i, x.twin) for i, x in enumerate(self.items) if x.twin >= 0]
        g = self.given[name]
        if right_only:
            pairs = [(i, j) for i, j in pairs if self.items[j].right(g[j])]
        return share(sum(normal(g[i]) != normal(g[j]) for i, j in pairs), len(pairs))

    def print(self):
        for group in dict.fromkeys(x.group for x in self.items):
            rows = []
            for parallel in (False, True):
                picked = self.pick(group=group, parallel=parallel)
                if not picked:
                    continue
                for n in self.names:
                    refusals = any(not self.items[i].stated() for i in picked)
                    new = [i for i in picked if self.items[i].new]
                    rows.append([
                        n, "parallel" if parallel else "sequential", self.exact(n, picked), self.exact(n, new) if new else "", self.overlap(n, picked),
                        self.refused(n, picked, False) if refusals else "", self.refused(n, picked, True),
                    ])
            print(f"\n### {group}\n")
            print(table(["model", "placement", "exact", "of these, values kept apart", "F1", "refuses what is not said", "refuses what is said"], rows))
        group = next(x.group for x in self.items if x.twin >= 0)
        print("\n### Exact answers by the place of the chunk that states them, three chunks\n")
        rows = [[n, *(self.exact(n, self.pick(group=group, parallel=False, place=k)) for k in range(3))] for n in self.names]
        print(table(["model", "first", "second", "third"], rows))
        print("\n### Answers that change with the order of three chunks\n")
        rows = [[n, self.changed(n, False), self.changed(n, True), "0, by construction"] for n in self.names]
        print(table(["model", "sequential, all", "sequential, those right at first", "parallel"], rows))


def generative(tasks, models, percached, count=150):
    """Abstracts, and predicted questions."""
    asked, facts_of = [], []
    for i in range(count):
        facts = [tasks.world.fact()]
        facts.append(tasks.world.fact(facts))
        if i % 2:
            facts = facts[:1]
        c = tasks.world.chunk(facts, 70)
        asked.append(Item("abstract", [], prompts.ABSTRACT.format(text=f"{c.title}: {c.text}".rstrip(".")), ()))
        asked.append(Item("predict", [], prompts.FROM_KNOWLEDGE.format(
            kind="personal emails", abstract=summary(facts).rstrip("."), count=3), ()))
        facts_of += [facts, facts]
    rows = []
    for name, path in models.items():
        lines = engine.answers(percached, path, [x.prompt(name) for x in asked])
        covered = values = predicted = distinct = naming = supported = formed = 0
        again = []
        for item, facts, line in zip(asked, facts_of, lines):
            text = line["answer"]
            named = [v for f in facts for s, v in f.values.items() if v in f.text]
            if item.group == "abstract":
                covered += sum(v.lower() in text.lower() for v in named)
                values += len(named)
                continue
            questions = [q.strip() for q in re.split(r";?\s*\d+\.\s", text) if q.strip()]
            predicted += 3
            formed += sum(re.search(r"[\w%]\?$", q) is not None and len(q.split()) > 2 for q in questions[:3])
            distinct += len({normal(q) for q in questions[:3]})
            for q in questions[:3]:
                names = re.findall(r"(?<![.!?:] )\b(?:[A-Z][a-z]+|\S*\d\S*)\b", q[1:])
                naming += bool(names)
                supported += bool(names) and all(re.search(rf"(?<!\w){re.escape(x)}(?!\w)", summary(facts), re.I) for x in names)
                again.append(engine.prompt(prompts.INSTRUCTIONS, [prompts.chunk("Notes", "", "", summary(facts))], q, True))
        told = engine.answers(percached, path, again)
        answerable = sum(normal(x["answer"]) != normal(prompts.REFUSAL) for x in told)
        rows.append([name, share(covered, values), share(formed, predicted), share(distinct, predicted), share(supported, naming), share(answerable, predicted)])
    print("\n### Abstracts, and three questions predicted from one\n")
    print(table(["model", "values of the facts that the abstract names", "well formed", "distinct", "of those with names or numbers, all from the abstract", "the model itself finds an answer"], rows))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data")
    p.add_argument("--percached", required=True)
    p.add_argument("--models", nargs="+", required=True, help="name=file")
    p.add_argument("--scale", type=float, default=1, help="share of the items")
    p.add_argument("--keep", help="writes every item with its answers there")
    a = p.parse_args()
    models = dict(m.split("=", 1) for m in a.models)
    corpus = HeldOut(a.data)
    some = lambda n: max(2, int(a.scale * n))
    tasks = Tasks(None, corpus, "test", "evaluate")
    items = []
    for count, contexts in CONTEXTS.items():
        name = f"Invented mail and meetings, new values and phrasings, {count} chunk" + "s" * (count > 1)
        invented(tasks, items, name, count, some(contexts), 3 if count == 3 else 1)
    known = Tasks(None, corpus, "test", "evaluate-known", "train")
    invented(known, items, "The same with phrasings that were trained on, 3 chunks", 3, some(80))
    commanded(tasks, items, "New values and phrasings, an instruction in each of 3 chunks", some(60))
    if a.data:
        items += enron(pathlib.Path(a.data) / "enronqa_layout_dev.jsonl")
    asked = {n: [x.prompt(n) for x in items] for n in models}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {n: pool.submit(engine.answers, a.percached, path, asked[n]) for n, path in models.items()}
        given = {n: [line["answer"].strip() for line in r.result()] for n, r in runs.items()}
    print(f"{len(items)} prompts. In brackets: how many of how many, and the 95 % interval in percent.")
    Report(list(models), items, given).print()
    generative(tasks, models, a.percached, some(150))
    rows = []
    for n, path in models.items():
        x = engine.answers(a.percached, path, asked[n][:: max(1, len(items) // 200)])  # alone on the machine
        prefill, decode = sum(y["prefill_ns"] for y in x), sum(y["decode_ns"] for y in x)
        rows.append([n, f"{sum(y['prompt_tokens'] for y in x) / max(1, prefill) * 1e9:,.0f}",
                     f"{sum(y['generated_tokens'] - 1 for y in x) / max(1, decode) * 1e9:,.0f}"])
    print("\n### Tokens a second, one thread\n")
    print(table(["model", "prompt", "answer"], rows))
    if a.keep:
        with open(a.keep, "w") as f:
            for i, x in enumerate(items):
                f.write(json.dumps({"group": x.group, "parallel": x.parallel, "twin": x.twin, "question": x.question, "right": x.answers,
                                    "chunks": [c.text for c in x.chunks], **{n: given[n][i] for n in models}}) + "\n")


if __name__ == "__main__":
    main()
