"""Tries both models together on the invented inbox, as the product does: find
three chunks, read them, answer. Prints tables in Markdown.

    python3 evaluate_inbox.py --percached bin/percached-eval --embed nano-embed.gguf --models nano=nano.gguf [v0=old.gguf]
"""

import argparse
import pathlib

import engine
import prompts
from evaluate_encoder import Encoder
from inbox import demo
from search import BM25, fused
from tables import f1, normal, share, table


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--percached", required=True)
    p.add_argument("--embed", required=True)
    p.add_argument("--models", nargs="+", required=True, help="name=file")
    p.add_argument("--show", action="store_true", help="print every question with its answers")
    a = p.parse_args()
    chunks, questions = demo(pathlib.Path(__file__).parent.parent / "demo")
    texts = [prompts.chunk(c.title, c.source, c.date, c.text) for _, c in chunks]
    encoder = Encoder(a.embed)
    words, vectors = BM25(texts), encoder(texts)
    asked = []  # question, right answers, the document that says so
    for q in questions:
        right = {normal(x) for x in [q["answer"], *q["also"]]}
        asked += [("question", x, right, q["document"]) for x in [q["question"]]]
        asked += [("paraphrase", x, right, q["document"]) for x in q["paraphrases"]]
        miss = q["near_miss"]
        asked.append(("near miss", miss["question"], {normal(miss["answer"] or prompts.REFUSAL)}, None))
    found, given = [], []
    for _, question, _, document in asked:
        best = fused(words.scores(question), vectors @ encoder([question])[0]).argsort()[::-1][:3]
        found.append(document in [chunks[i][0] for i in best])
        given.append([chunks[i][1] for i in best])
    oracle = [[next(c for d, c in chunks if d == q["document"] and q["answer"] in c.text)] for q in questions]
    rows = []
    for name, path in (m.split("=", 1) for m in a.models):
        ask = lambda question, cs: engine.prompt(prompts.INSTRUCTIONS, [engine.render(name, c) for c in cs], question, True)
        lines = engine.answers(a.percached, path, [ask(q, c) for (_, q, _, _), c in zip(asked, given)])
        answers = [line["answer"].strip() for line in lines]
        for kind in ("question", "paraphrase", "near miss"):
            picked = [i for i, x in enumerate(asked) if x[0] == kind]
            exact = sum(normal(answers[i]) in asked[i][2] for i in picked)
            near = sum(max(f1(answers[i], r) for r in asked[i][2]) for i in picked)
            refused = sum(normal(answers[i]) == normal(prompts.REFUSAL) for i in picked)
            seen = share(sum(found[i] for i in picked), len(picked)) if kind != "near miss" else ""
            rows.append([name, kind, seen, share(exact, len(picked)), f"{100 * near / len(picked):.1f} %", share(refused, len(picked))])
        alone = engine.answers(a.percached, path, [ask(q["question"], c) for q, c in zip(questions, oracle)])
        good = sum(normal(x["answer"]) in {normal(r) for r in [q["answer"], *q["also"]]} for x, q in zip(alone, questions))
        rows.append([name, "question, the right chunk alone", "", share(good, len(questions)), "", ""])
        if a.show:
            for (kind, question, right, _), answer in zip(asked, answers):
                print(f"{name} {'+' if normal(answer) in right else '-'} {kind}: {question} => {answer} ({' | '.join(sorted(right))})")
    print(f"\n### The invented inbox: {len(chunks)} chunks, three found for each question, parallel placement\n")
    print(table(["model", "asked", "the right document is found", "exact", "F1", "refused"], rows))


if __name__ == "__main__":
    main()
