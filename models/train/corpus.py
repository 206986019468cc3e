"""Real text for the language model, from the folder of data sets: mails of the
public Enron corpus, meetings of QMSum, readings of FriendsQA, XQuAD and the SQuAD
paraphrases. What is not there is left out and named; what must never be
trained on (the mails of the held-out people) is refused here."""

import gzip
import json
import pathlib
import re
import sys
import tarfile

HELD_OUT = {"hernandez-j", "kaminski-v", "lokey-t", "mclaughlin-e", "nemec-g", "shackleton-s", "steffes-j", "ward-k"}
REPLY = re.compile(r"^\s*(-+ ?Original Message|-+ Forwarded|From:|To:|Sent:|Subject:|>|_{5,})", re.M)
SENTENCE = re.compile(r"(?<=[.!?])\s+")
TYPED = str.maketrans("\u2013\u2014\u2018\u2019\u201c\u201d", "--''\"\"")  # dashes and quotation marks
LOOSE = re.compile(r" (?=[.,!?;:)]|'s|'re|'ve|'ll|'m|n't)")


def plain(text):
    text = text.translate(TYPED).encode("ascii", "ignore").decode()
    return re.sub(r"\s+", " ", text).strip()


def unquoted(text):
    """A mail's own text, without what it answers or forwards."""
    found = REPLY.search(text)
    return plain(text[: found.start()] if found else text)


def key(text):
    """What two copies of a mail have in common."""
    return re.sub(r"[^a-z0-9]", "", text.lower())[:120]


def spoken(text):
    """A transcript's tokens joined as people write them."""
    return LOOSE.sub("", re.sub(r"{[^}]*}|<[^>]*>", "", text)).replace("( ", "(").strip()


def missing(name):
    print(f"corpus: {name} is not there, going on without it", file=sys.stderr)


class Corpus:
    def __init__(self, folder, mails):
        self.folder = pathlib.Path(folder) if folder else None
        self.mails = self._mails(mails)
        self.meetings = self._meetings()
        self.readings = self._readings()  # (title, source, text, [(question, answer, where in the text it stands)])

    def find(self, name):
        """The path of a data set, or None."""
        path = self.folder and self.folder / name
        if path and not path.exists():
            missing(name)
        return path if path and path.exists() else None

    def _mails(self, limit):
        path = limit and self.find("enron_g_to_z.jsonl.gz")
        out = []
        if not path:
            return out
        kept_out = self._kept_out()
        with gzip.open(path, "rt") as f:
            for line in f:
                mail = json.loads(line)
                if mail["user"] in HELD_OUT:
                    continue
                text = unquoted(mail["text"])
                if key(text) in kept_out:
                    continue
                if 25 <= len(text.split()) <= 600:
                    out.append((plain(mail["subject"]) or "No subject", mail["from"], text))
        return out if len(out) <= limit else [out[i * len(out) // limit] for i in range(limit)]

    def _kept_out(self):
        """Keys of the mails that are measured on: other people have copies."""
        texts = []
        for path in sorted(self.folder.glob("mail/*.mbox.gz")):
            texts += re.split(r"^From ", gzip.decompress(path.read_bytes()).decode("utf-8", "replace"), flags=re.M)
        path = self.folder / "enronqa_layout_dev.jsonl"
        if path.exists():
            texts += [json.loads(line)["email"] for line in open(path)]
        return {key(unquoted(t.split("\n\n", 1)[-1])) for t in texts}

    def _meetings(self):
        path = self.find("mised_layout_train.jsonl.gz")
        out = []
        if path:
            with gzip.open(path, "rt") as f:
                for line in f:
                    turns = json.loads(line)["meeting"]["transcriptSegments"]
                    said = [f"{t['speakerName']}: {plain(spoken(t['text']))}" for t in turns]
                    out.append([s for s in said if len(s.split()) > 3])
        return out

    def passages(self):
        """(title, source, sentences) to hide facts in."""
        out = []
        for subject, sender, text in self.mails:
            out.append((subject[:80], f"mail from {sender}", SENTENCE.split(text)))
        for said in self.meetings:
            for i in range(0, len(said) - 30, 30):
                out.append(("Meeting", "meeting", said[i : i + 30]))
        return out

    def subjects(self):
        """Noun phrases that mails are about."""
        out = set()
        for subject, _, _ in self.mails:
            s = re.sub(r"^((re|fw|fwd): *)+", "", subject, flags=re.I).strip(" .!?")
            if 2 <= len(s.split()) <= 5 and re.fullmatch(r"[A-Za-z0-9 '&-]+", s):
                out.add(s)
        return sorted(out)

    def _readings(self):
        path = self.find("qa.tar.gz")
        out = []
        if path:
            with tarfile.open(path) as tar:
                for m in tar:
                    if m.name.endswith("friendsqa_dev.json") or m.name.endswith("friendsqa_tst.json"):
                        out += _friends(json.load(tar.extractfile(m)))
                    elif m.name.endswith("xquad.en.json"):
                        out += _squad(json.load(tar.extractfile(m)))
        path = self.find("pairs.tar.gz")
        if path:
            with tarfile.open(path) as tar:
                for m in tar:
                    if "paraphrasing-squad" in m.name and m.name.endswith(".json"):
                        out += _squad(json.load(tar.extractfile(m)))
        return out

    def texts(self):
        """All of it, for the tokenizer."""
        yield from (f"### {s}\n{t}" for s, _, t in self.mails)
        yield from ("\n".join(said) for said in self.meetings)
        for title, _, text, questions in self.readings:
            yield f"{title}\n{text}"
            yield from (q for q, *_ in questions)


def _squad(data):
    out = []
    for article in data["data"]:
        for p in article["paragraphs"]:
            text, asked = plain(p["context"]), []
            for q in p["qas"]:
                if q["answers"]:
                    first = q["answers"][0]
                    low = len(plain(p["context"][: first["answer_start"]]))  # but for a blank
                    asked += _asked(q["question"], first["text"], text, low, low + 2)
            if asked:
                out.append(("Reading", "note", text, asked))
    return out


def _friends(data):
    out = []
    for scene in data["data"]:
        for p in scene["paragraphs"]:
            lines = [f"{u['speakers'][0] if u['speakers'] else 'Somebody'}: {plain(spoken(u['utterance']))}" for u in p["utterances:"]]
            text, asked = "\n".join(lines), []
            for q in p["qas"]:
                first = q["answers"][0]
                low = len("\n".join(lines[: first["utterance_id"]]))
                high = low + len(lines[first["utterance_id"]])
                asked += _asked(spoken(q["question"]), spoken(first["answer_text"]).rstrip(" ."), text, low, high)
            if asked:
                out.append(("Talk", "meeting", text, asked))
    return out


def _asked(question, answer, text, low, high):
    """A question with its answer and where that begins, from low up to high;
    nothing if it does not, or is long."""
    answer = plain(answer)
    at = text.find(answer, low, high + len(answer))
    return [(plain(question), answer, at)] if at >= 0 and 0 < len(answer.split()) <= 12 else []
