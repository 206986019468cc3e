"""Makes questions with paraphrases out of the subjects of mailboxes, for
percached bench repeats: python3 questions.py A.mbox.gz B.mbox.gz... > questions.jsonl

Each mailbox is a space of its name. The same mailboxes give the same questions."""

import gzip
import json
import mailbox
import os
import re
import sys
import tempfile

WAYS = [
    ("Who wrote about {}?", "Who is the sender of the mail about {}?"),
    ("What does the mail about {} say?", "What is said in the mail about {}?"),
    ("When was the mail about {} sent?", "On what date was the mail about {} sent?"),
]
EACH = 7  # questions of a mailbox
ALL = 50

lines = []
for path in sorted(sys.argv[1:]):
    with tempfile.NamedTemporaryFile() as f:
        f.write(gzip.open(path).read())
        f.flush()
        subjects = [str(m["Subject"] or "").strip() for m in mailbox.mbox(f.name)]
    once = [s for s in subjects if subjects.count(s) == 1 and 2 <= len(s.split()) <= 8 and re.fullmatch(r"[\w ,'&-]+", s)]
    for i, subject in enumerate(once[:: max(1, len(once) // EACH)][:EACH]):
        question, paraphrase = WAYS[i % len(WAYS)]
        space = os.path.basename(path).split(".")[0]
        lines.append({"space": space, "question": question.format(subject), "paraphrase": paraphrase.format(subject)})
for line in lines[:ALL]:
    print(json.dumps(line))
