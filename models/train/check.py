"""Compares llama.cpp, through the product, with PyTorch: the same prompts must
give the same text, chosen greedily. The engine keeps keys and values in half
precision, so where the two best tokens are nearly equal either may come.

    python3 check.py --work WORK --model nano-f32.gguf --percached bin/percached-eval
"""

import argparse
import pathlib
import re

import torch

import engine
import prompts
import settings as sizes
from corpus import Corpus
from documents import Context
from nano import BRANCH, Nano, visible
from tasks import Tasks
from tokens import Tokenizer
TIE = 0.05  # of logits


@torch.no_grad()
def greedy(model, tokenizer, ids, positions, segments, limit):
    """Goes on behind a document of one question: token by token the text so far,
    by how much that token led the second best, and the text with that one."""
    ids, positions, segments, start = list(ids), list(positions), list(segments), len(ids)
    told = []
    while len(ids) - start < limit:
        s = torch.tensor([segments])
        mask = visible(torch.ones_like(s), s)
        h = model(torch.tensor([ids]), torch.tensor([positions]), mask, None, (torch.tensor([0]), torch.tensor([len(ids) - 1])))
        best = model.logits(h)[0].topk(2)
        token, second = (int(i) for i in best.indices)
        lead, rival = float(best.values[0] - best.values[1]), plain(tokenizer.decode([*ids[start:], second]))
        over = token in (tokenizer.turn_end, tokenizer.end_of_text)
        told.append((plain(tokenizer.decode(ids[start:] if over else [*ids[start:], token])), lead, rival))
        if over:
            break
        ids.append(token)
        positions.append(positions[-1] + 1)
        segments.append(segments[-1])
    return told


def plain(text):
    """What is no UTF-8 counts once, however many bytes it has: a model that knows
    nothing says such."""
    return re.sub("\ufffd+", "\ufffd", text)


def parted(told, given):
    """By how much the token led at which the engine's text leaves PyTorch's."""
    for text, lead, rival in told:
        if not given.startswith(text.rstrip("\ufffd")) or len(rival) > len(text) and given.startswith(rival):
            break
    return lead


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--work", required=True, type=pathlib.Path)
    p.add_argument("--model", required=True)
    p.add_argument("--percached", required=True)
    p.add_argument("--count", type=int, default=200)
    a = p.parse_args()
    torch.set_num_threads(1)
    saved = torch.load(a.work / "nano.pt", map_location="cpu")
    model = Nano(sizes.ALL[saved["settings"]])
    model.load_state_dict(saved["model"])
    tokenizer = Tokenizer.load(a.work / "tokenizer.json")
    frame = prompts.Frame(tokenizer)
    tasks = Tasks(frame, Corpus(None, 0), "test", "check")
    asked, expected, limit = [], [], 24
    for i in range(a.count):
        chunks, facts = tasks.contexts(1 + i // 2 % 4, 40)
        parallel = i % 2 == 0
        # The engine puts branches side by side in the order of their hashes,
        # which changes no more than the last bits of sums.
        c = Context(frame, chunks, parallel)
        question = tasks.turns(facts, chunks)[0].question
        d = c.document
        d.add(frame.question(question), c.end, BRANCH)
        expected.append(greedy(model, tokenizer, d.ids, d.positions, d.segments, limit))
        texts = [prompts.chunk(x.title, x.source, x.date, x.text) for x in chunks]
        asked.append(engine.prompt(prompts.INSTRUCTIONS, texts, question, parallel, limit))
    given = [plain(line["answer"]) for line in engine.answers(a.percached, a.model, asked)]
    differ = [(told[-1][0], g, parted(told, g)) for told, g in zip(expected, given) if told[-1][0] != g]
    for e, g, lead in differ[:10]:
        print(f"PyTorch {e!r}\nengine  {g!r} (the token at which they part leads by {lead:.4f})")
    print(f"{a.count - len(differ)} of {a.count} answers are the same")
    raise SystemExit(any(lead > TIE for _, _, lead in differ))


if __name__ == "__main__":
    main()
