"""What the language model learns: to answer from chunks, to say that they do
not say, to go on in a dialogue, to sum up, and to guess questions."""

import itertools
import re

import prompts
from documents import Context, lone
from settings import Settings, Stage
from values import held_out
from worlds import Chunk, Item, World, part, words

SHARED_NAMES = 0.4  # share of the facts of a context that speak of something that another one speaks of
TWICE = 0.6  # share of the contexts of several chunks that are laid out in two ways, and asked the same
SLIPS = 0.25  # share of the questions with words left out or exchanged
# What somebody asks next about the same fact, by the kind of value.
NEXT = {
    "day": ["And on which day?", "On what day?", "And when?", "Which day?"],
    "time": ["And at what time?", "What time?", "At what hour?"],
    "place": ["And where?", "Where is that?", "In which place?"],
    "room": ["And in which room?", "Which room?", "Where?"],
    "city": ["In which city?", "And the city?", "Which city?"],
    "amount": ["How much?", "And how much is it?", "What amount?"],
    "phone": ["And the phone number?", "What number?"],
    "code": ["And the code?", "What is the code?"],
    "reason": ["Why?", "And why is that?", "For what reason?"],
    "duration": ["For how long?", "And how long?"],
    "company": ["Which company?", "And with which company?"],
}
HEAD = {  # about a chunk's own first line
    "source": ["Who wrote the mail \"{t}\"?", "Who is the mail \"{t}\" from?", "From whom did I get \"{t}\"?"],
    "date": ["When did I get the mail \"{t}\"?", "What is the date of \"{t}\"?", "On what date was \"{t}\" written?"],
}


class Tasks:
    """Draws documents of one split."""

    def __init__(self, frame, corpus, split, seed, phrasing=None, stage=Stage("", 0, 0, 0)):
        self.frame, self.corpus, self.stage = frame, corpus, stage
        self.world = World(split, seed, phrasing, corpus.subjects(), corpus.passages())
        self.random = self.world.random
        self.learned = split == "train"
        # By the text: several sets ask about the same one.
        self.readings = [r for r in corpus.readings if held_out(r[2]) == (split == "test")]
        talk = [x.split("\t") for x in words("smalltalk")]
        self.smalltalk = part(talk, self.world.phrasing)

    def contexts(self, count, length):
        """Chunks with one to three facts each, none quite alike."""
        facts, chunks = [], []
        for _ in range(count):
            here = []
            for _ in range(self.random.choice(self.stage.facts)):
                alike = self.random.choice(facts).kind if facts and self.random.random() < 0.3 else None
                fact = self.world.fact(facts, alike, SHARED_NAMES)
                facts.append(fact)
                here.append(fact)
            if len({f.speaker for f in here if f.speaker}) > 1 and length < 30:
                for f in here[1:]:
                    facts.remove(f)
                here = here[:1]
            chunks.append(self.world.chunk(here, length, facts))
        self.random.shuffle(chunks)
        return chunks, facts

    def turns(self, facts, chunks):
        """One branch: usually one question."""
        n = self.random
        if n.random() < self.stage.refusals:
            return [self.world.unanswerable(facts)]
        r = n.random()
        if r < 0.02:
            return [Item(*n.choice(self.smalltalk))]
        if r < 0.05:
            head = self._head(chunks)
            if head:
                return [head]
        first = next((x for _ in range(20) if (x := self.world.ask(n.choice(facts), among=facts))), None)
        if not first:  # every question could mean another fact
            return [self.world.unanswerable(facts)]
        if r < 0.11:
            after = self._next(first)
            if after:
                return [first, after]
        return [first]

    def _next(self, first):
        slots = first.fact.kind.slots
        kinds = list(slots.values())
        for slot in self.random.sample(sorted(first.fact.kind.asks), len(first.fact.kind.asks)):
            value = first.fact.values[slot]
            if slots[slot] in NEXT and kinds.count(slots[slot]) == 1 and value != first.answer and not any(x in value for x in first.spans):
                return Item(self.random.choice(NEXT[slots[slot]]), value, first.fact)
        return None

    def _head(self, chunks):
        c = self.random.choice(chunks)
        if sum(c.title in x.title for x in chunks) > 1 or not c.source.startswith("mail from "):
            return None
        what = self.random.choice(["source", "date"] if c.date else ["source"])
        answer = c.source.removeprefix("mail from ") if what == "source" else c.date
        return Item(self.random.choice(HEAD[what]).format(t=c.title), answer)

    def reading(self, length, count, room):
        """A piece of a reading set between chunks of ours."""
        title, source, text, asked = self.random.choice(self.readings)
        *_, at = self.random.choice(asked)
        pieces = re.split(r"(?<=[ \n])", text)
        first = max(0, len(text[:at].split()) - self.random.randint(5, max(6, length - 10)))
        low, window = len("".join(pieces[:first])), "".join(pieces[first : first + length]).rstrip()
        asked = [(q, a) for q, a, at in asked if low <= at and at + len(a) <= low + len(window) and window.count(a) == 1]
        chunks, facts = self.contexts(count - 1, length) if count > 1 else ([], [])
        chunks.append(Chunk(title, source, "", window, []))
        self.random.shuffle(chunks)
        c = Context(self.frame, chunks, self.random.random() < 0.5)
        for q, a in asked:
            c.ask([Item(q, a)], room)
        for _ in range(6 if facts else 1):
            c.ask(self.turns(facts, chunks) if facts else [self.world.unanswerable([])], room)
        return c.document if c.branches else None

    def answers(self, room, length):
        count = self.random.choice(self.stage.chunks)
        if self.readings and self.random.random() < 0.3 * self.stage.refusals:
            return self.reading(length, count, room)
        twice = self.learned and count > 1 and self.random.random() < TWICE
        if twice:  # half of the row, less instructions and some questions; a chunk's first line is as long as 15 words, of three tokens for two
            fitting = (room // 2 - 240) // count * 2 // 3 - 15
            length = min(length, max(fitting, self.stage.words[0]))
        chunks, facts = self.contexts(count, length)
        parallel = self.random.random() < 0.5
        c, free = self._laid_out(chunks, parallel)
        twice = twice and len(c.document) <= room // 2 - 40
        if twice:
            room //= 2
        if len(c.document) > room - 40:
            return None
        missed, asked = 0, {}
        while missed < 4 and c.branches < 60:
            turns = self.turns(facts, chunks)
            if self.learned and self.random.random() < SLIPS and (turns[0].fact or turns[0].answer == prompts.REFUSAL):
                turns[0] = self.world.slip(turns[0])
            if turns[0].question in asked or not c.ask(turns, room, self._gap(free)):
                missed += 1
            else:
                asked[turns[0].question] = turns
        if not asked:
            return None
        if twice:
            c.join(self._otherwise(chunks, parallel, asked.values(), room))
        return c.document

    def _laid_out(self, chunks, parallel):
        """A context, at times with positions left free behind chunks, and how many may be left free before a question."""
        gaps, free = None, Settings.context - self.stage.room
        if self.random.random() < 0.2:
            gaps = [self.random.randint(0, free // len(chunks)) for _ in chunks]
            free -= sum(gaps)
        return Context(self.frame, chunks, parallel, gaps), free

    def _otherwise(self, chunks, parallel, asked, room):
        """A context of the same chunks in another order, not parallel if the first is, asked the same."""
        order = chunks[:]
        while order == chunks:
            self.random.shuffle(order)
        c, free = self._laid_out(order, not parallel and self.random.random() < 0.5)
        for turns in asked:
            c.ask(turns, room, self._gap(free))
        return c

    def _gap(self, free):
        return self.random.randint(0, free) if self.learned and self.random.random() < 0.2 else 0

    def chat(self, room, length):
        """Small talk with no documents at all."""
        return lone(self.frame, *self.random.choice(self.smalltalk))

    def abstract(self, room, length):
        facts = [self.world.fact()]
        if self.random.random() < 0.5:
            facts.append(self.world.fact(facts))
        chunk = self.world.chunk(facts, length)
        told = sorted(facts, key=lambda f: chunk.text.find(f.text))
        question = prompts.ABSTRACT.format(text=f"{chunk.title}: {chunk.text}".rstrip("."))
        return lone(self.frame, question, summary(told))

    def from_knowledge(self, room, length):
        facts = self._several((1, 2, 2, 3, 4))
        pool = self._plainly(facts)
        count = self.random.randint(1, min(6, len(pool)))
        text = prompts.FROM_KNOWLEDGE.format(
            kind=self.random.choice(prompts.KINDS), abstract=summary(facts).rstrip("."), count=count
        )
        return lone(self.frame, text, numbered(pool[:count]))

    def from_history(self, room, length):
        """New questions about what the history names: what it does not name nobody can know."""
        facts = self._several((2, 2, 3, 4))
        history = [self.world.ask(f, s) for f in facts for s in self.random.sample(list(f.kind.asks), min(2, len(f.kind.asks)))]
        self.random.shuffle(history)
        history = history[: self.random.randint(2, 6)]
        told, known = " ".join(x.question for x in history), {x.answer for x in history}
        pool = [x for x in self._plainly(facts) if x.answer not in known and all(n.lower() in told.lower() for n in x.spans)]
        if not pool:
            return None
        count = self.random.randint(1, min(5, len(pool)))
        text = prompts.FROM_HISTORY.format(kind=self.random.choice(prompts.KINDS), history=told, count=count)
        return lone(self.frame, text, numbered(pool[:count]))

    def _several(self, counts):
        facts = []
        for _ in range(self.random.choice(counts)):
            facts.append(self.world.fact(facts))
        return facts

    def _plainly(self, facts):
        """A question about each fact in turn, then the second ones, and so on."""
        asked = [[self.world.ask_plainly(f, s) for s in f.kind.asks] for f in facts]
        return [x for turn in itertools.zip_longest(*asked) for x in turn if x]

    def document(self, room):
        make = self.answers
        if self.random.random() < self.stage.other:
            make = self.random.choice((self.abstract, self.abstract, self.from_knowledge, self.from_knowledge, self.from_history, self.chat))
        d = make(room, self.random.randint(*self.stage.words))
        return d if d and len(d) <= room else None


def summary(facts):
    told = [(f"{f.speaker or f.topic}: " if f.speaker or f.topic else "") + f.text.rstrip(". ") for f in facts]
    return "; ".join(told) + "."


def numbered(items):
    return "; ".join(f"{i}. {x.question.rstrip('?.')}?" for i, x in enumerate(items, 1))
