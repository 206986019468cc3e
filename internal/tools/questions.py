"""Makes questions, one JSON object per line, for percached-eval bench repeats and predict:

python3 questions.py A.mbox.gz B.mbox.gz... > questions.jsonl
    Makes questions with paraphrases from the subjects of mailboxes. Each mailbox is a space with
    the mailbox's name.
python3 questions.py [--first N] [--distinct] A.jsonl[.gz]... > questions.jsonl
    Reads the questions of mails in EnronQA's columns or of meetings in MISeD's fields, from the
    first N lines. --distinct uses each question once.

The same files give the same questions."""

import argparse
import gzip
import json
import mailbox
import os
import re
import tempfile

WAYS = [
    ("Who wrote about {}?", "Who is the sender of the mail about {}?"),
    ("What does the mail about {} say?", "What is said in the mail about {}?"),
    ("When was the mail about {} sent?", "On what date was the mail about {} sent?"),
]
EACH = 7  # questions of a mailbox
ALL = 50


def made(path):
    """Makes questions from the unique subjects of a mailbox."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(gzip.open(path).read())
        f.flush()
        subjects = [str(m["Subject"] or "").strip() for m in mailbox.mbox(f.name)]
    once = [s for s in subjects if subjects.count(s) == 1 and 2 <= len(s.split()) <= 8 and re.fullmatch(r"[\w ,'&-]+", s)]
    for i, subject in enumerate(once[:: max(1, len(once) // EACH)][:EACH]):
        question, paraphrase = WAYS[i % len(WAYS)]
        space = os.path.basename(path).split(".")[0]
        yield {"space": space, "question": question.format(subject), "paraphrase": paraphrase.format(subject)}


def asked(path, first):
    """Reads the questions of a data set."""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        for line in f.readlines()[:first]:
            row = json.loads(line)
            turns = row.get("dialog", {}).get("dialogTurns", [])
            for question in row.get("questions", []) + [t.get("query") or "" for t in turns]:
                if question.strip():
                    yield {"question": question.strip()}


args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("--first", type=int, help="number of lines of the data set to read")
args.add_argument("--distinct", action="store_true", help="use each question once")
args.add_argument("files", nargs="+")
args = args.parse_args()

lines, seen = [], set()
mailboxes = [p for p in args.files if ".jsonl" not in p]
for path in sorted(mailboxes):
    lines += made(path)
lines = lines[:ALL]
for path in args.files:
    if path not in mailboxes:
        lines += asked(path, args.first)
for line in lines:
    if not (args.distinct and line["question"].lower() in seen):
        seen.add(line["question"].lower())
        print(json.dumps(line))
