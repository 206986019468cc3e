"""Retrieval for evaluation: BM25, vectors, and both fused."""

import collections
import math

import numpy

from rows import words

K1, B = 1.2, 0.75


class BM25:
    def __init__(self, texts):
        self.lists = collections.defaultdict(list)
        lengths = []
        for i, t in enumerate(texts):
            counts = collections.Counter(words(t))
            lengths.append(sum(counts.values()))
            for w, n in counts.items():
                self.lists[w].append((i, n))
        mean = sum(lengths) / len(lengths)
        self.norm = [K1 * (1 - B + B * n / mean) for n in lengths]
        self.count = len(texts)

    def scores(self, question):
        out = numpy.zeros(self.count)
        for w in words(question):
            found = self.lists.get(w, ())
            idf = math.log(1 + (self.count - len(found) + 0.5) / (len(found) + 0.5))
            for i, n in found:
                out[i] += idf * n * (K1 + 1) / (n + self.norm[i])
        return out


def fused(bm25, cosine):
    """BM25 by its best, plus the cosine."""
    return bm25 / max(bm25.max(), 1e-9) + cosine


def rank(scores, right):
    """Place of the right one, from 1."""
    return 1 + int((scores > scores[right]).sum())
