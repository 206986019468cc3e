"""Makes the evaluation's data from data in EnronQA's columns, mails and MISeD's fields:

python3 evaldata.py OUT --questions MAILS.jsonl --mails MAILS.jsonl.gz --dialogs MEETINGS.jsonl.gz

OUT/enronqa.jsonl            the mails with their questions, assigned to --users people in turn
OUT/inboxes/USER.mbox.gz     the first --further mails of each of these people
OUT/mised.jsonl.gz           the first --meetings meetings of at most --longest characters, each
                             question also in other words, if --rephrased has the meeting

Of each mail the --each questions are kept that say most about what they ask for: the longest
of those that no other mail has in the same words. The same files give the same set."""

import argparse
import collections
import email.message
import gzip
import json
import os


def opened(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")


def packed(path, text):
    """Writes a compressed file reproducibly."""
    with open(path, "wb") as f, gzip.GzipFile("", "wb", fileobj=f, mtime=0) as z:
        z.write(text)


def rows(path):
    with opened(path) as f:
        return [json.loads(line) for line in f]


def same(question):
    return " ".join(question.lower().split())


def dealt(mails, users, each):
    """Assigns the mails to the users in turn."""
    asked = collections.Counter(same(q) for m in mails for q in m["questions"])
    lists = [key for key, value in mails[0].items() if isinstance(value, list)]
    for i, row in enumerate(mails):
        user = users[i % len(users)]
        row["path"], row["user"] = user + "/" + row["path"].partition("/")[2], user
        ranked = sorted(range(len(row["questions"])), key=lambda n: (asked[same(row["questions"][n])] > 1, -len(row["questions"][n].split()), n))
        keep = sorted(ranked[:each])
        for key in lists:
            row[key] = [row[key][n] for n in keep if n < len(row[key])]
        yield json.dumps(row) + "\n"


def boxes(path, users, further):
    """Finds the first people with enough mails, and writes an mbox file for each."""
    held = collections.defaultdict(list)
    for row in rows(path):
        held[row["user"]].append(row)
    for user in sorted(u for u in held if len(held[u]) >= further)[:users]:
        text = b""
        for n, row in enumerate(held[user][:further]):
            m = email.message.EmailMessage()
            m["Message-ID"] = f"<{n}.{user}@inbox>"
            for header in ("date", "from", "subject"):
                m[header.title()] = " ".join((row[header] or "").split())
            m.set_content(row["text"])
            body = m.as_bytes().replace(b"\nFrom ", b"\n>From ")
            text += b"From inbox Thu Jan  1 00:00:00 1970\n" + body + b"\n"
        yield user, text


args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("out", help="output folder; created if necessary")
args.add_argument("--questions", required=True, help="mails with questions, JSON lines")
args.add_argument("--mails", required=True, help="mails of many people, JSON lines with user, date, from, subject and text")
args.add_argument("--dialogs", required=True, help="meetings with dialogs, JSON lines")
args.add_argument("--users", type=int, default=12, help="number of people (default %(default)s)")
args.add_argument("--each", type=int, default=3, help="questions about each mail (default %(default)s)")
args.add_argument("--further", type=int, default=20, help="further mails of each person (default %(default)s)")
args.add_argument("--meetings", type=int, default=6, help="number of meetings (default %(default)s)")
args.add_argument("--longest", type=int, default=40000, help="characters of a meeting at most (default %(default)s)")
args.add_argument("--rephrased", default=os.path.join(os.path.dirname(__file__), "rephrased.json"), help="the questions in other words, lists by meeting (default %(default)s)")
args = args.parse_args()

os.makedirs(os.path.join(args.out, "inboxes"), exist_ok=True)
users = []
for user, text in boxes(args.mails, args.users, args.further):
    packed(os.path.join(args.out, "inboxes", user + ".mbox.gz"), text)
    users.append(user)
with open(os.path.join(args.out, "enronqa.jsonl"), "w") as f:
    f.writelines(dealt(rows(args.questions), users, args.each))
meetings, taken = {}, []
with open(args.rephrased, encoding="utf-8") as f:
    rephrased = json.load(f)
with opened(args.dialogs) as f:
    for line in f:
        row = json.loads(line)
        meeting = row["meeting"]
        short = sum(len(s["text"]) for s in meeting["transcriptSegments"]) <= args.longest
        if short and len(meetings) < args.meetings:
            meetings[meeting["meetingId"]] = True
        if meeting["meetingId"] not in meetings:
            continue
        for turn, other in zip(row["dialog"]["dialogTurns"], rephrased.get(meeting["meetingId"], [])):
            turn["paraphrase"] = other
        taken.append(json.dumps(row) + "\n")
packed(os.path.join(args.out, "mised.jsonl.gz"), "".join(taken).encode())
