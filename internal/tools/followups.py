#!/usr/bin/env python3
"""How well follow-up questions are understood: followups.py URL TOKEN-FILE SPACE LOCOMO.json N

Takes the N-th conversation of LoCoMo, whose sessions are documents of the space. Of two
neighbouring questions about the same person the second one gets a pronoun in place of the
name, and is asked behind the first. Compares the chunks that it is answered from with
those of the question in full.
"""

import json
import re
import sys
import urllib.request

FEMALE = {"Caroline", "Melanie", "Jolene", "Deborah", "Joanna", "Maria", "Audrey", "Angela"}


def pairs(conversation):
    def session(q):
        found = [int(m.group(1)) for m in (re.match(r"D(\d+)", e) for e in q.get("evidence", [])) if m]
        return max(found, default=99)

    def names(q):
        return set(re.findall(r"\b[A-Z][a-z]+\b", " ".join(q.split()[1:])))

    asked = [q for q in conversation["qa"] if q.get("category") != 5]
    asked.sort(key=session)
    asked = [q["question"] for q in asked]
    for first, full in zip(asked, asked[1:]):
        of = names(first)
        if len(of) != 1 or of != names(full):
            continue
        (name,) = of
        he, his = ("she", "her") if name in FEMALE else ("he", "his")
        follow = re.sub(rf"\b{name}\b", he, re.sub(rf"\b{name}['’]s", his, full))
        if follow != full:
            yield first, full, follow


def main(url, token, space, path, number):
    token = open(token).read().strip()

    def chat(*texts):
        roles = ["user", "assistant"] * len(texts)
        body = {"model": space, "max_tokens": 4, "messages": [{"role": r, "content": t} for r, t in zip(roles, texts)]}
        headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
        request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(), headers)
        own = json.load(urllib.request.urlopen(request))["percached"]
        return [c["chunk"] for c in own["citations"]], own.get("understood_as")

    n = understood = right = first_same = shared = 0
    for first, full, follow in pairs(json.load(open(path))[int(number)]):
        want, _ = chat(full)
        got, text = chat(first, "I do not know.", follow)
        n += 1
        understood += text is not None
        right += text == full
        first_same += want[:1] == got[:1]
        shared += len(set(want) & set(got)) / max(1, len(want))
    print(f"{n} follow-ups, {understood} understood, {right} as the question in full; "
          f"the same best chunk for {first_same}, {100 * shared / n:.0f} % of the chunks")


if __name__ == "__main__":
    main(*sys.argv[1:])
