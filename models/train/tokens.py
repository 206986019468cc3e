"""Byte-level BPE, as llama.cpp's pre-tokenizer "gpt-2" reads it.

The vocabulary: 256 bytes, then merges, then the three control tokens. Control
tokens have no text form here: `encode` never gives them, whatever a document
says."""

import collections
import heapq
import json
import re

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# GPT-2's pattern, with [^\W\d_] for a letter.
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def _byte_letters():
    """GPT-2's printable stand-in for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    table = {b: chr(b) for b in plain}
    table.update({b: chr(256 + i) for i, b in enumerate(rest)})
    return table


LETTER = _byte_letters()
BYTE = {c: b for b, c in LETTER.items()}


class Tokenizer:
    def __init__(self, tokens, merges):
        self.tokens = tokens
        self.merges = [tuple(m) for m in merges]
        self.ids = {t: i for i, t in enumerate(tokens)}
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.end_of_text, self.turn_start, self.turn_end = (self.ids[c] for c in CONTROL)
        self._words = {}

    @classmethod
    def load(cls, path):
        with open(path) as f:
            d = json.load(f)
        return cls(d["tokens"], d["merges"])

    def save(self, path):
        with open(path, "w") as f:
            json.dump({"tokens": self.tokens, "merges": self.merges}, f)

    def encode(self, text):
        ids = []
        for word in WORDS.findall(text):
            known = self._words.get(word)
            if known is None:
                known = self._word(word)
                if len(self._words) < 1_000_000:
                    self._words[word] = known
            ids += known
        return ids

    def _word(self, word):
        parts = [LETTER[b] for b in word.encode()]
        while len(parts) > 1:
            rank, at = min((self.rank.get(p, 1 << 30), i) for i, p in enumerate(zip(parts, parts[1:])))
            if rank == 1 << 30:
                break
            parts = _merge(parts, self.merges[rank])
        return [self.ids[p] for p in parts]

    def decode(self, ids):
        text = "".join(self.tokens[i] for i in ids if self.tokens[i] not in CONTROL)
        return bytes(BYTE[c] for c in text).decode("utf-8", "replace")


def _merge(parts, pair):
    out, i = [], 0
    while i < len(parts):
        if i + 1 < len(parts) and (parts[i], parts[i + 1]) == pair:
            out.append(parts[i] + parts[i + 1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


def learn(texts, size):
    """The merges that shorten the texts most, one at a time."""
    counts = collections.Counter()
    for text in texts:
        counts.update(WORDS.findall(text))
    words = [(w, n) for w, n in sorted(counts.items()) if n >= 3]
    split = [[LETTER[b] for b in w.encode()] for w, _ in words]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, parts in enumerate(split):
        for p in zip(parts, parts[1:]):
            pairs[p] += words[i][1]
            where[p].add(i)
    heap = [(-n, p) for p, n in pairs.items()]
    heapq.heapify(heap)
    tokens, merges = [LETTER[b] for b in range(256)], []
    known = set(tokens)
    while heap and len(tokens) < size - len(CONTROL):
        n, pair = heapq.heappop(heap)
        if pairs[pair] != -n:  # an old count
            if pairs[pair] > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        merges.append(pair)
        if pair[0] + pair[1] not in known:
            known.add(pair[0] + pair[1])
            tokens.append(pair[0] + pair[1])
        touched = set()
        for i in where.pop(pair):
            for p in zip(split[i], split[i][1:]):
                pairs[p] -= words[i][1]
                touched.add(p)
            split[i] = _merge(split[i], pair)
            for p in zip(split[i], split[i][1:]):
                pairs[p] += words[i][1]
                where[p].add(i)
                touched.add(p)
        pairs[pair] = 0
        for p in touched:
            if pairs[p] > 0:
                heapq.heappush(heap, (-pairs[p], p))
    return Tokenizer(tokens + CONTROL, merges)
