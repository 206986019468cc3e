"""Facts of invented lives, from the templates in `worlds/`, and the chunks of
mails, meetings and notes that state them."""

import collections
import itertools
import pathlib
import random as random_module
import re
from dataclasses import dataclass, field, replace

from prompts import REFUSAL
from values import MONTHS, TESTED, TITLES, WEEKDAYS, Values, words

FOLDER = pathlib.Path(__file__).parent / "worlds"
SLOT = re.compile(r"{(\w+)}")
CHOICE = re.compile(r"\[([^\]]*)\]")
SORTS = {  # kinds of values that the same question may ask for
    "who": "person firstname kin company shop team department role relation",
    "when": "day time moment month year span",
    "where": "place address city country room restaurant hotel school where",
    "much": "amount measure weight length count percent size age duration temperature speed",
    "number": "code number phone password version flight url email file",
    "why": "reason",
}
SORT = {kind: sort for sort, kinds in SORTS.items() for kind in kinds.split()}  # all others are a "what"
# What is spoken of in more than one sentence.
NAMES = set("person firstname project product company shop event item place pet vehicle document device team department city hotel restaurant school".split())
MENTIONED = 0.4  # share of the chunks in which some sentences only mention something
IN_TITLE = 0.9  # share of the chunks with one fact about a thing that name it in the title alone
ASKING = set("who whom whose what which where when why how many much long".split())
USUAL = 5  # lines of questions in which a word stands that may slip into others
CALLED_IT = set("project product event item vehicle document device book film".split())
# What may follow "it" where the name of one stood: at the start of a sentence, and inside it.
AT_START = re.compile(r" (is|was|will|has|had|must|can|should|may|costs|needs|goes|comes|stays)\b")
INSIDE = re.compile(AT_START.pattern + r"|[.,;:?!)]|$| (in|on|at|by|for|from|to|with|before|after|until|as|now|again|when|because|since|and)\b")
CALLED_OTHERWISE = 0.3  # share of a question's names that are not as the statement has them


@dataclass
class Kind:
    """A kind of fact, as its file gives it."""

    name: str
    slots: dict = field(default_factory=dict)  # name -> kind of value
    says: list = field(default_factory=list)
    says_as: dict = field(default_factory=dict)  # slot -> lines in the first person
    asks: dict = field(default_factory=dict)  # slot -> questions


def load():
    kinds = []
    for path in sorted(FOLDER.glob("*.txt")):
        here = None
        for line in path.read_text().splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith(" "):
                here.append(line.strip())
                continue
            word, *rest = line.split()
            if word == "fact":
                kinds.append(Kind(rest[0]))
            elif word == "slots":
                kinds[-1].slots = dict(s.split(":") for s in rest)
            elif word == "ask":
                here = kinds[-1].asks.setdefault(rest[0], [])
            else:
                here = kinds[-1].says_as.setdefault(rest[1], []) if rest else kinds[-1].says
    return kinds


def part(lines, split):
    """The lines of one split: of every five, the last is for tests."""
    return [x for i, x in enumerate(lines) if (i % TESTED == TESTED - 1) == (split == "test")]


@dataclass
class Fact:
    kind: Kind
    values: dict
    text: str  # the sentence that states it
    speaker: str = ""  # who says it of himself
    topic: str = ""  # what it is about, where the sentence says "it" for that

    def spoken_of(self):
        """Its values that others may speak of, too."""
        return [v for s, v in self.values.items() if self.kind.slots[s] in NAMES]

    def shorten(self):
        """Says "it" for the thing it is about, if it names one and that can be done; tells whether."""
        if self.speaker or re.search(r"\bits?\b", self.text, re.IGNORECASE):
            return False
        for value in (v for s, v in self.values.items() if self.kind.slots[s] in CALLED_IT):
            at = re.search(rf"(^|[.!?] |\b(?:of|for|in|on|about|with|to|from|by) ){re.escape(value)}", self.text, re.IGNORECASE)
            plural = value.startswith("the ") and re.search(r"[^sui]s$", value)
            if plural or not at or self.text.lower().count(value.lower()) > 1:
                continue
            before, after = self.text[: at.start()] + at[1], self.text[at.end() :]
            first = before[-2:] in ("", ". ", "! ", "? ")
            it = "It" if first else "it"
            if after.startswith("'s "):
                it, after = it + "s", after[2:]
            elif not (AT_START if first else INSIDE).match(after):
                continue
            self.text, self.topic = before + it + after, value
            return True
        return False

    def names(self):
        return {v.lower() for v in self.values.values()}

    def tells(self, named, kind):
        """Whether it has these values, and another of a sort with a kind of value."""
        rest = [s for s, v in self.values.items() if v not in named]
        return set(named) <= set(self.values.values()) and any(_sort(self.kind.slots[s]) == _sort(kind) for s in rest)


@dataclass
class Item:
    """A question with its answer. spans are the values that the question names, or the words of them."""

    question: str
    answer: str
    fact: Fact = None
    spans: tuple = ()


@dataclass
class Chunk:
    title: str
    source: str
    date: str
    text: str
    facts: list


def _within(a, b):
    """Whether all words of a are words of b."""
    return set(re.findall(r"\w+", a.lower())) <= set(re.findall(r"\w+", b.lower()))


def _sort(kind):
    return SORT.get(kind, "what")


def draw(lines, random):
    """One of the lines, with one of each of its alternatives. The more
    alternatives it has, the oftener it comes."""
    line = random.choices(lines, [1 + x.count("[") for x in lines])[0]
    return CHOICE.sub(lambda m: random.choice(m[1].split("|")), line)


def fill(line, values):
    text = SLOT.sub(lambda m: values[m[1]], line)
    text = text[0].upper() + text[1:]
    if line[0] == "{" or re.search(r"[.!?] {", line):
        text = re.sub(r"([.!?] )([a-z])", lambda m: m[1] + m[2].upper(), text)
    return re.sub(r"\b(the|version) (?=\1\b)", "", text, flags=re.IGNORECASE)  # which some values begin with


class World:
    """Draws facts, chunks and questions. `phrasing` is the split of the
    templates, `split` that of the values."""

    def __init__(self, split, seed, phrasing=None, subjects=(), passages=()):
        self.random = random_module.Random(seed)
        self.phrasing = phrasing or split
        self.values = Values(split, self.random, subjects)
        self.kinds = load()
        self.passages = list(passages)  # real text that facts are put into
        self.filler = {k: part(words(f"filler_{k}"), self.phrasing) for k in ("mail", "talk", "note")}
        self.titles = part(words("subject_line"), self.phrasing)
        self.mentions = part(words("mention"), self.phrasing)
        self.greetings, self.closings = words("greeting"), words("closing")
        self.injections = part(words("injection"), self.phrasing)
        self.by_value = {}  # kind of value -> (kind of fact, slot asked for, question, slot named) of questions that name it alone
        usual = collections.Counter()  # in how many questions a word stands
        for k in self.kinds:
            for asked, lines in k.asks.items():
                for line in part(lines, self.phrasing):
                    usual.update(set(re.findall(r"(?<![\w'])[a-z]{2,}(?![\w'])", SLOT.sub("", line))))
                    named = SLOT.findall(line)
                    if len(set(named)) == 1:
                        self.by_value.setdefault(k.slots[named[0]], []).append((k, asked, line, named[0]))
        self.usual = sorted(w for w, n in usual.items() if n >= USUAL)

    def fact(self, others=(), kind=None, shared=0.0):
        """A fact that shares no value with the others, or with the chance `shared` one name."""
        taken = set().union(*[f.names() for f in others]) if others else set()
        for _ in range(50):
            k = kind or self.random.choice(self.kinds)
            values = {s: self.values(v) for s, v in k.slots.items()}
            again = ""
            if others and self.random.random() < shared:
                f = self.random.choice(others)
                same = [(s, f.values[x]) for s, v in k.slots.items() for x, y in f.kind.slots.items() if v == y and v in NAMES]
                if same:
                    slot, again = self.random.choice(same)
                    values[slot] = again
            names = [v.lower() for v in values.values()]
            if not any(_within(a, b) for a, b in itertools.permutations(names, 2)) and not any(self._clash(n, t) for n in names if n != again.lower() for t in taken):
                break
        own = [(s, x) for s in k.says_as for x in part(k.says_as[s], self.phrasing)]
        if own and self.random.random() < 0.3:
            slot, line = self.random.choice(own)
            return Fact(k, values, fill(draw([line], self.random), values), values[slot])
        return Fact(k, values, fill(draw(part(k.says, self.phrasing), self.random), values))

    @staticmethod
    def _clash(a, b):
        return a == b or (len(a) > 3 and a in b) or (len(b) > 3 and b in a)

    def ask(self, fact, slot=None, style=True, line=None, among=()):
        """A question about a fact; None if another fact of those it stands among may be meant."""
        slot = slot or self.random.choice(sorted(fact.kind.asks))
        line = draw([line] if line else part(fact.kind.asks[slot], self.phrasing), self.random)
        named = {s: fact.values[s] for s in SLOT.findall(line)}
        if any(f is not fact and f.tells(named.values(), fact.kind.slots[slot]) for f in among):
            return None
        called = {s: self.called(fact.kind.slots[s], v, among) for s, v in named.items()}
        question = fill(line, {s: name for s, (name, _) in called.items()})
        spans = tuple(core for _, core in called.values())
        return Item(self.style(question) if style else question, fact.values[slot], fact, spans)

    def ask_plainly(self, fact, slot):
        """The question as its kind's first line has it."""
        line = part(fact.kind.asks[slot], self.phrasing)[0]
        return self.ask(fact, slot, style=False, line=CHOICE.sub(lambda m: m[1].split("|")[0], line))

    def called(self, kind, value, among):
        """What a question calls a value of one of the facts, and the words of
        it that it names. It may be called otherwise where nothing else of
        these facts has these words."""
        if among and self.random.random() < CALLED_OTHERWISE:
            name, core = self.values.called(kind, value)
            if not any(v != value and _within(core, v) for f in among for v in f.values.values()):
                return name, core
        return value, value

    def style(self, question):
        """What people do to questions when they type."""
        r = self.random.random()
        if r < 0.10:
            return question.rstrip("?")
        if r < 0.18:
            return question[0].lower() + question[1:]
        if r < 0.24:
            return self.random.choice(["Hi, ", "Quick question: ", "Hey, ", "Sorry, ", "One more thing: "]) + question[0].lower() + question[1:]
        return question

    def slip(self, item):
        """The same asked with one or two words left out or others in their place;
        names and question words stay. Nobody asks in known ways only."""
        words = item.question.split(" ")
        kept = ASKING | set(re.findall(r"\w+", " ".join(item.spans).lower()))
        free = [i for i, w in enumerate(words) if w.islower() and kept.isdisjoint(re.findall(r"\w+", w))]
        for i in self.random.sample(free, min(len(free), self.random.choice((1, 1, 2)))):
            words[i] = self.random.choice(self.usual) if self.random.random() < 0.5 else ""
        return replace(item, question=" ".join(w for w in words if w))

    def unanswerable(self, facts):
        """A question that the facts do not answer."""
        r = self.random.random()
        if facts and r < 0.3:  # the same kind of another thing
            return self._elsewhere(facts, self.random.choice(facts).kind)
        if facts and r < 0.65:  # something else of a thing that is there
            f = self.random.choice(facts)
            slot = self.random.choice(sorted(f.kind.slots))
            value = f.values[slot]
            known = {g.kind.name for g in facts}
            other = [
                x for x in self.by_value.get(f.kind.slots[slot], [])
                if x[0].name not in known and not any(g.tells((value,), x[0].slots[x[1]]) for g in facts)
            ]
            if other:
                _, _, line, name = self.random.choice(other)
                called, core = self.called(f.kind.slots[slot], value, facts)
                return Item(self.style(fill(draw([line], self.random), {name: called})), REFUSAL, spans=(core,))
        return self._elsewhere(facts)

    def _elsewhere(self, facts, kind=None):
        """A question about a fact that is not among these."""
        other = self.fact(facts, kind)
        asked = self.ask(other, among=facts) or self.ask(other)
        return Item(asked.question, REFUSAL, spans=asked.spans)

    def date(self):
        n = self.random
        return f"{n.choice(WEEKDAYS)[:3]} {n.randint(1, 28)} {n.choice(MONTHS)} {n.randint(1999, 2026)}"

    def chunk(self, facts, length, around=()):
        """A chunk of about `length` words that states the facts. It may
        mention what these and the facts around it speak of, and call "it" what
        the only fact is about."""
        titled = len(facts) == 1 and self.random.random() < IN_TITLE and facts[0].shorten()
        own = [f for f in facts if f.speaker]
        speakers, others = {f.speaker for f in own}, {v for f in facts if not f.speaker for v in f.values.values()}
        texts = self._order(facts, around)
        r = self.random.random()
        if self.passages and not own and not titled and r < 0.35:
            return self._passage(facts, texts, length)
        if len(speakers) > 1 or speakers & others or r < 0.6:
            return self._meeting(facts, texts, length)
        if own or r < 0.9:
            return self._mail(facts, texts, length, own[0].speaker if own else self.values("person"))
        return self._note(facts, texts, length)

    def _pad(self, sentences, filler, length):
        """Puts other sentences around these until there are enough words."""
        out, words_in = list(sentences), sum(len(s.split()) for s in sentences)
        while words_in < length:
            s = self.random.choice(filler)
            out.insert(self.random.randint(0, len(out)), s)
            words_in += len(s.split())
        return out

    def _order(self, facts, around):
        """The facts' sentences, and some that only mention what facts speak of."""
        texts = [f.text for f in facts]
        speakers = {f.speaker for f in facts}
        names = [n for f in (*facts, *around) for n in f.spoken_of() if n not in speakers]
        if names and not any(f.topic for f in facts) and self.random.random() < MENTIONED:
            for _ in range(self.random.randint(1, 3)):
                texts.append(fill(self.random.choice(self.mentions), {"x": self.random.choice(names)}))
        self.random.shuffle(texts)
        if self.random.random() < 0.08:
            texts.insert(self.random.randint(0, len(texts)), self.random.choice(self.injections))
        return texts

    def _title(self, facts, subjects):
        """A subject, sometimes with what the chunk speaks of."""
        topics = [f.topic for f in facts if f.topic]
        names = topics or [n for f in facts for n in f.spoken_of()]
        if not topics and (not names or self.random.random() < 0.7):
            return self.random.choice(subjects)
        name = self.random.choice(names)
        return fill(self.random.choice(["{x}", "Re: {x}", "About {x}", "News of {x}", "{x}, once more", "{x} again"]), {"x": name})

    def _mail(self, facts, texts, length, writer):
        body = self._pad(texts, self.filler["mail"], length - 4)
        cut = self.random.randint(1, len(body)) if body else 0
        gap = self.random.choice(["\n", " ", "\n\n"])
        text = " ".join(body[:cut]) + (gap + " ".join(body[cut:]) if cut < len(body) else "")
        if self.random.random() < 0.6:
            text = f"{self.random.choice(self.greetings)}\n{text}"
        if self.random.random() < 0.7:
            text = f"{text}\n{self.random.choice(self.closings)}\n{writer if writer.split()[0] in TITLES else writer.split()[0]}"
        return Chunk(self._title(facts, self.titles), f"mail from {writer}", self.date(), text, facts)

    def _meeting(self, facts, texts, length):
        people = [self.values("person") for _ in range(self.random.randint(2, 4))]
        lines = []
        speakers = {f.text: f.speaker for f in facts if f.speaker}
        for s in self._pad(texts, self.filler["talk"], length - 4):
            who = speakers.get(s) or self.random.choice(people)
            if lines and lines[-1][0] == who:
                lines[-1][1].append(s)
            else:
                lines.append((who, [s]))
        text = "\n".join(f"{who}: {' '.join(said)}" for who, said in lines)
        event = self.values("event").removeprefix("the ").capitalize()
        return Chunk(self._title(facts, [event]), "meeting", self.date(), text, facts)

    def _note(self, facts, texts, length):
        gap = self.random.choice(["\n", "\n- ", " "])
        body = self._pad(texts, self.filler["note"], length)
        text = ("- " if gap == "\n- " else "") + gap.join(body)
        return Chunk(self._title(facts, self.titles), "note", self.date() if self.random.random() < 0.7 else "", text, facts)

    def _passage(self, facts, texts, length):
        """Real text with the facts put between its sentences."""
        title, source, sentences = self.random.choice(self.passages)
        room = length - sum(len(t.split()) for t in texts)
        start, keep = self.random.randint(0, max(0, len(sentences) - 6)), []
        for s in sentences[start:]:
            if room - len(s.split()) < 0:
                break
            room -= len(s.split())
            keep.append(s)
        for t in texts:
            keep.insert(self.random.randint(0, len(keep)), t)
        return Chunk(title, source, self.date(), self.random.choice([" ", "\n"]).join(keep), facts)
