"""Training documents: token ids with, for each token, its position, its segment,
its weight in the loss, and where in the document it is copied from.

One document is one prompt prefix with several questions behind it, each blind
to the others and at the positions it has in the product, or further away. So a
context is computed once for many answers."""

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
    twins: list = field(default_factory=list)  # an answer's token: the same where the same is asked of the chunks laid out otherwise
    documents: list = field(default_factory=list)  # of those that were joined to this one: which

    PLACES = ("copies", "matches", "lows", "highs", "mates", "earlier", "twins")
    OTHERS = ("ids", "positions", "segments", "weights")

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
        self.twins += [NOWHERE] * n
        self.documents += [1] * n

    def join(self, other):
        """Adds a document that this one does not see, nor it this one."""
        base, number = len(self), max(self.documents, default=0)
        for k in self.OTHERS:
            getattr(self, k).extend(getattr(other, k))
        for k in self.PLACES:
            getattr(self, k).extend(x + base if x != NOWHERE else x for x in getattr(other, k))
        self.documents += [x + number for x in other.documents]


def find(needle, hay, low=0, high=None):
    """Where needle stands in hay[low:high], or -1."""
    n, high = len(needle), len(hay) if high is None else high
    if n:
        for i in range(low, high - n + 1):
            if hay[i] == needle[0] and hay[i : i + n] == needle:
                return i
    return -1


def forms(frame, text):
    """A text's tokens in a line's middle and at its start, and where a sentence begins with it."""
    raised = text[0].upper() + text[1:]
    return (frame.encode(x) for x in dict.fromkeys((" " + text, text, " " + raised, raised)))


def find_text(frame, text, hay, low=0, high=None):
    """Where a text stands in hay[low:high]: from and to, or None."""
    for ids in forms(frame, text):
        at = find(ids, hay, low, high)
        if at >= 0:
            return at, at + len(ids)
    return None


def paired(here, there):
    """Pairs the tokens of the same text in two places, which may begin differently."""
    n = min(here[1] - here[0], there[1] - there[0])
    return [(here[0], there[0])] + [(here[1] - k, there[1] - k) for k in range(n - 1, 0, -1)]


class Context:
    """The instructions with chunks, under one placement; `gaps` are positions
    left free behind segments, so that long distances are seen in short rows."""

    def __init__(self, frame, chunks, parallel, gaps=None):
        self.frame, self.document = frame, Document()
        self.places = {}  # of each fact: from where who says it or what it is about is named, and from and to where it is said
        d = self.document
        d.add(frame.system(), 0, 0)
        start = end = len(d)
        for i, chunk in enumerate(chunks):
            ids = frame.encode(prompts.chunk(chunk.title, chunk.source, chunk.date, chunk.text))
            at = start if parallel else end
            first = len(d)
            d.add(ids, at, 1 + i if parallel else 1)
            end = max(end, at + len(ids) + (gaps[i] if gaps else 0))
            for fact in chunk.facts:
                self._mark(fact, first)
        self.end = end
        self.length = len(d)
        self.branches = 0

    def _mark(self, fact, first):
        """Marks a fact's values, of a chunk whose tokens begin at first."""
        d = self.document
        said = find_text(self.frame, fact.text, d.ids, first)
        if not said:
            return
        spans = [s for v in fact.values.values() if (s := find_text(self.frame, v, d.ids, *said))]
        spans.sort(key=lambda s: (s[0], -s[1]))
        spans = [b for i, b in enumerate(spans) if all(b[0] >= a[1] for a in spans[:i])]  # none within another
        named = self._named(fact.speaker or fact.topic, first, said[0])
        if named:
            spans.insert(0, named)
        self.places[id(fact)] = (named[0] if named else said[0], *said)
        for i, (low, high) in enumerate(spans):
            d.mates[high - 1] = low
            if i:
                d.earlier[low] = spans[i - 1][1] - 1

    def _named(self, name, first, before):
        """Where a name stands last from first on, before a fact is said."""
        if not name:
            return None
        names = list(forms(self.frame, name))
        for at in range(before - 1, first - 1, -1):
            for ids in names:
                if at + len(ids) <= before and self.document.ids[at : at + len(ids)] == ids:
                    return at, at + len(ids)
        return None

    def _stated(self, place, text):
        """Where a fact's value stands: in its sentence, else before it."""
        begins, low, high = place
        ids = self.document.ids
        return find_text(self.frame, text, ids, low, high) or find_text(self.frame, text, ids, begins, low)

    def ask(self, turns, room, gap=0):
        """Adds one branch of question and answer turns, if it fits in room
        tokens in all, with gap positions left free before it; tells whether."""
        d, frame = self.document, self.frame
        pieces = []
        for i, item in enumerate(turns):
            asked = frame.question(item.question) if i == 0 else frame.follow_up(item.question)
            pieces.append((item, asked, frame.answer(item.answer)))
        if len(d) + sum(len(q) + len(a) for _, q, a in pieces) > room:
            return False
        segment, at = BRANCH + self.branches, self.end + gap
        self.branches += 1
        for item, asked, answer in pieces:
            place = self.places.get(id(item.fact))
            d.add(asked, at, segment, matches=self._matches(item, asked, place))
            at += len(asked)
            d.add(answer, at, segment, 1.0, copies=self._copies(item, answer, place), place=place and (place[0], place[2]))
            at += len(answer)
        return True

    def join(self, other):
        """Joins a context of the same chunks, laid out otherwise, that was asked the
        same: its answers are to be the same."""
        d, base = self.document, len(self.document)
        d.join(other.document)
        for i in range(self.length, base):
            if d.weights[i]:
                d.twins[base + i] = i

    def _matches(self, item, asked, place):
        out = [NOWHERE] * len(asked)
        for span in item.spans if place else ():
            here, there = find_text(self.frame, span, asked), self._stated(place, span)
            for i, j in paired(here, there) if here and there else ():
                out[i] = j
        return out

    def _copies(self, item, answer, place):
        out, ids = [NOWHERE] * len(answer), self.document.ids
        here = 0, len(answer) - 1  # without the end of the turn
        if place:
            there = self._stated(place, item.answer)
        else:
            at = find(answer[:-1], ids, 0, self.length)
            once = at >= 0 and find(answer[:-1], ids, at + 1, self.length) < 0
            there = (at, at + here[1]) if once else None
        for i, j in paired(here, there) if there else ():
            out[i] = j
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
