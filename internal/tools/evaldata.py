"""Makes a small evaluation set from data in EnronQA's columns and MISeD's fields:

python3 evaldata.py OUT --questions MAILS.jsonl --inboxes FOLDER --dialogs MEETINGS.jsonl.gz --users USER...

OUT/enronqa.jsonl            the mails with their questions, assigned to the --users in turn
OUT/inboxes/USER.mbox.gz     the first --inbox mails of FOLDER/USER.mbox.gz
OUT/mised.jsonl.gz           the first --meetings meetings

The same files give the same set."""

import argparse
import gzip
import json
import mailbox
import os
import tempfile


def opened(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def packed(path, text):
    """Writes a compressed file reproducibly."""
    with open(path, "wb") as f, gzip.GzipFile("", "wb", fileobj=f, mtime=0) as z:
        z.write(text)


def dealt(path, users):
    """Assigns the mails to the users in turn."""
    with opened(path) as f:
        for i, line in enumerate(f):
            row = json.loads(line)
            user = users[i % len(users)]
            row["path"] = user + "/" + row["path"].partition("/")[2]
            row["user"] = user
            yield json.dumps(row) + "\n"


def first(path, n):
    """Returns the first mails of a mailbox unchanged."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(gzip.open(path).read())
        f.flush()
        box = mailbox.mbox(f.name)
        return b"".join(box.get_bytes(key, from_=True) + b"\n" for key in box.keys()[:n])


args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("out", help="output folder; created if necessary")
args.add_argument("--questions", required=True, help="mails with questions, JSON lines")
args.add_argument("--inboxes", required=True, help="folder of the inboxes")
args.add_argument("--dialogs", required=True, help="meetings with dialogs, JSON lines")
args.add_argument("--users", required=True, nargs="+", help="users, by the names of their inboxes")
args.add_argument("--inbox", type=int, default=100, help="mails per inbox (default %(default)s)")
args.add_argument("--meetings", type=int, default=8, help="number of meetings (default %(default)s)")
args = args.parse_args()

os.makedirs(os.path.join(args.out, "inboxes"), exist_ok=True)
with open(os.path.join(args.out, "enronqa.jsonl"), "w") as f:
    f.writelines(dealt(args.questions, args.users))
for user in args.users:
    name = user + ".mbox.gz"
    packed(os.path.join(args.out, "inboxes", name), first(os.path.join(args.inboxes, name), args.inbox))
meetings, taken = [], []
with opened(args.dialogs) as f:
    for line in f:
        name = json.loads(line)["meeting"]["meetingId"]
        if name not in meetings:
            meetings.append(name)
        if meetings.index(name) < args.meetings:
            taken.append(line)
packed(os.path.join(args.out, "mised.jsonl.gz"), "".join(taken).encode())
