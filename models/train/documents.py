"""Training documents: token ids with, for each token, its position, its segment,
its weight in the loss, and where in the document it is copied from.

One document is one prompt prefix with several questions behind it, each blind
to the others and at the positions it has in the product. So a context is
computed once for many answers."""

from dataclasses import dataclass, field

import prompts
from nano import BRANCH

NOWHERE = -1


@dataclass
class Document:
    ids: list = field(default_factory=list)
    positions: list = field(default_factory=list)
    segments: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    copies: list = field(default_factory=list)  # an answer's token: the place of the same token in the context
    matches: list = field(default_factory=list)  # a question's token: likewise
    lows: list = field(default_factory=list)  # an answer's first token: where the sentence that states it begins
    highs: list = field(default_factory=list)  # and ends
    mates: list = field(default_factory=list)  # a fact's value's last token: its first
    earlier: list = field(default_factory=list)  # a value's first token: the last of the same fact's value before it

    def __len__(self):
        return len(self.ids)

    def add(self, ids, start, segment, weight=0.0, copies=None, matches=None, place=None):
        n = len(ids)
        self.ids += ids
        self.positions += range(start, start + n)
        self.segments += [segment] * n
        self.weights += [weight] * n
        self.copies += copies or [NOWHERE] * n
        self.matches += matches or [NOWHERE] * n
        low, high = place or (NOWHERE, NOWHERE)
        self.lows += [low] + [NOWHERE] * (n - 1)
        self.highs += [high] + [NOWHERE] * (n - 1)
        self.mates += [NOWHERE] * n
        self.earlier += [NOWHERE] * n


def find(needle, hay, low=0, high=None):
    """Where needle stands in hay[low:high], or -1."""
    n, high = len(needle), len(hay) if high is None else high
    if n:
        for i in range(low, high - n + 1):
            if hay[i] == needle[0] and hay[i : i + n] == needle:
                return i
    return -1


def find_text(ids, hay, low=0, high=None):
    """The same for a text's tokens, of which the first is another where the text begins a line."""
    at = find(ids, hay, low, high)
    if at < 0 and len(ids) > 1:
        at = find(ids[1:], hay, low + 1, high) - 1
    return max(at, NOWHERE)


class Context:
    """The instructions with chunks, under one placement; `gaps` are positions
    left free behind segments, so that long distances are seen in short rows."""

    def __init__(self, frame, chunks, parallel, gaps=None, instructions=prompts.INSTRUCTIONS):
        self.frame, self.document, self.places = frame, Document(), {}
        d = self.document
        d.add(frame.system(instructions), 0, 0)
        start = end = len(d)
        for i, chunk in enumerate(chunks):
            text = prompts.chunk(chunk.title, chunk.source, chunk.date, chunk.text)
            ids = frame.encode(text)
            at = start if parallel else end
            first = len(d)
            d.add(ids, at, 1 + i if parallel else 1)
            end = max(end, at + len(ids) + (gaps[i] if gaps else 0))
            for fact in chunk.facts:
                s = frame.encode(" " + fact.text)
                low = find_text(s, d.ids, first)
                if low >= 0:
                    high = low + len(s)
                    spans = self._spans(fact, low, high)
                    if fact.speaker:
                        name = frame.encode(" " + fact.speaker)
                        for j in range(low - len(name), first - 1, -1):
                            if d.ids[j + 1 : j + len(name)] == name[1:]:
                                low = j
                                spans.insert(0, (j, j + len(name) - 1))
                                break
                    self.places[id(fact)] = (low, high)
                    for i, (first_token, last_token) in enumerate(spans):
                        d.mates[last_token] = first_token
                        if i:
                            d.earlier[first_token] = spans[i - 1][1]
        self.end = end
        self.length = len(d)
        self.branches = 0

    def _spans(self, fact, low, high):
        """Where a fact's values stand in its sentence, in this order: first and last tokens."""
        spans = []
        for value in fact.values.values():
            ids = self.frame.encode(" " + value)
            at = find_text(ids, self.document.ids, low, high)
            if at >= 0:
                spans.append((at, at + len(ids) - 1))
        spans.sort()
        return [b for i, b in enumerate(spans) if not i or b[0] > spans[i - 1][1]]

    def ask(self, turns, room):
        """Adds one branch of question and answer turns, if it fits in room
        tokens in all; tells whether."""
        d, frame = self.document, self.frame
        pieces = []
        for i, item in enumerate(turns):
            asked = frame.question(item.question) if i == 0 else frame.follow_up(item.question)
            pieces.append((item, asked, frame.answer(item.answer)))
        if len(d) + sum(len(q) + len(a) for _, q, a in pieces) > room:
            return False
        segment, at = BRANCH + self.branches, self.end
        self.branches += 1
        for item, asked, answer in pieces:
            place = self.places.get(id(item.fact))
            d.add(asked, at, segment, matches=self._matches(item, asked, place))
            at += len(asked)
            d.add(answer, at, segment, 1.0, copies=self._copies(item, answer, place), place=place)
            at += len(answer)
        return True

    def _matches(self, item, asked, place):
        out = [NOWHERE] * len(asked)
        for span in item.spans if place else ():
            ids = self.frame.encode(" " + span)
            here, there = find_text(ids, asked), find_text(ids, self.document.ids, *place)
            if here >= 0 and there >= 0:
                out[here : here + len(ids)] = range(there, there + len(ids))
        return out

    def _copies(self, item, answer, place):
        out, span = [NOWHERE] * len(answer), answer[:-1]
        low, high = place or (0, self.length)
        there = find_text(span, self.document.ids, low, high) if place else find(span, self.document.ids, low, high)
        if there >= 0 and (place or find(span, self.document.ids, there + 1, high) < 0):
            out[: len(span)] = range(there, there + len(span))
        return out


def lone(frame, question, answer):
    """A document of one turn. Spans of three tokens and more that the answer
    shares with the question are marked as copies."""
    d = Document()
    asked, answer = frame.lone(question), frame.answer(answer)
    d.add(asked, 0, 0)
    where = {}
    for i in range(len(asked) - 2):
        where.setdefault(tuple(asked[i : i + 3]), []).append(i)
    copies, i = [NOWHERE] * len(answer), 0
    while i < len(answer):
        best, length = 0, 0
        for j in where.get(tuple(answer[i : i + 3]), ()):
            n = 0
            while i + n < len(answer) and j + n < len(asked) and asked[j + n] == answer[i + n]:
                n += 1
            if n > length:
                best, length = j, n
        copies[i : i + length] = range(best, best + length)
        i += max(1, length)
    d.add(answer, len(asked), 0, 1.0, copies=copies)
    return d
