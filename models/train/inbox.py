"""Mailboxes and meetings as chunks of about 100 words, for evaluation."""

import datetime
import email.utils
import gzip
import json
import mailbox
import pathlib
import re
import tempfile

from corpus import SENTENCE, plain, spoken, unquoted
from worlds import Chunk

WORDS = 100


def cut(lines, joint):
    """Groups lines (sentences, or what speakers say) into pieces of WORDS words."""
    out, here, n = [], [], 0
    for line in lines:
        size = len(line.split())
        if here and n + size > WORDS:
            out.append(joint.join(here))
            here, n = [], 0
        here.append(line)
        n += size
    return out + ([joint.join(here)] if here else [])


def mails(path):
    """(document, chunk) of each piece of each mail."""
    path = pathlib.Path(path)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        for m in mailbox.mbox(f.name):
            part = next((p for p in m.walk() if p.get_content_type() == "text/plain"), None)
            body = part.get_payload(decode=True).decode("utf-8", "replace") if part else ""
            body = re.sub(r"^>.*$|^On .* wrote:$", "", body, flags=re.M)  # answers may stand below what they quote
            text = unquoted(body)
            if not text:
                continue
            name, address = email.utils.parseaddr(str(m["From"] or ""))
            when = email.utils.parsedate_to_datetime(m["Date"]).strftime("%a %-d %B %Y") if m["Date"] else ""
            for piece in cut(SENTENCE.split(text), " "):
                yield m["Message-ID"], Chunk(plain(str(m["Subject"] or "No subject")), f"mail from {name or address}", when, piece, [])


def meeting(path):
    """The same of a transcript in WebVTT."""
    path = pathlib.Path(path)
    text = path.read_text()
    lines = [f"{who}: {plain(said)}" for who, said in re.findall(r"<v ([^>]+)>(.*?)(?:</v>)?\n(?:\n|$)", text + "\n\n", re.S)]
    date, title = re.fullmatch(r"(\d{4}-\d\d-\d\d)?-?(.*)", path.stem).groups()
    when = datetime.date.fromisoformat(date).strftime("%a %-d %B %Y") if date else ""
    for piece in cut(lines, "\n"):
        yield path.name, Chunk(title.replace("-", " ").capitalize(), "meeting", when, piece, [])


def validation_meetings(path):
    with gzip.open(path, "rt") as f:
        for line in f:
            m = json.loads(line)["meeting"]
            lines = [f"{t['speakerName']}: {plain(spoken(t['text']))}" for t in m["transcriptSegments"]]
            for piece in cut([x for x in lines if len(x.split()) > 3], "\n"):
                yield m["meetingId"], Chunk("Meeting", "meeting", "", piece, [])


def demo(folder):
    """The invented inbox: its chunks with their documents, and its questions."""
    folder = pathlib.Path(folder)
    chunks = list(mails(folder / "inbox.mbox"))
    for path in sorted((folder / "meetings").glob("*.vtt")):
        chunks += meeting(path)
    questions = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    return chunks, questions


class HeldOut:
    """What `corpus.Corpus` gives, from people and meetings that nothing was trained on."""

    def __init__(self, data, readings=()):
        self.readings = list(readings)
        self.chunks = []
        if data:
            data = pathlib.Path(data)
            for path in sorted((data / "mail").glob("*.mbox.gz")):
                self.chunks += [c for _, c in mails(path)]
            self.chunks += [c for _, c in validation_meetings(data / "mised_layout_validation.jsonl.gz")]

    def passages(self):
        return [(c.title[:80], c.source, SENTENCE.split(c.text)) for c in self.chunks if len(c.text.split()) > 40]

    def subjects(self):
        return []
