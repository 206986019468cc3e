"""Asks percached and other systems that cache the same questions, in turn:

python3 internal/tools/peer.py bin/percached LLAMA-SERVER LOCOMO.json [--gptcache PYTHON] [--model FILE] [--json FILE]

LOCOMO.json contains conversations with questions; the script uses one. All systems answer with
the same model from the chunks that percached retrieves, in at most 32 tokens, at temperature 0:

1. llama-server with one slot and its default prompt cache: the slot's last prompt, and earlier ones
   in memory.
2. llama-server with four slots. Each has as much context as the one slot of row 1.
3. Ollama's way of reuse: its runner keeps the longest common prefix with the last prompt of the
   slot, and no earlier prompts. Ollama itself is in no package registry, so this is llama-server
   with one slot and --cache-ram 0.
4. GPTCache in front of a second llama-server like that of row 1 (peer_gptcache.py). It embeds
   with percached's all-MiniLM-L6-v2, and that time counts.
5. percached without stored data, no stored answers.
6. percached after idle work, no stored answers.
7. percached with its defaults after the same idle work.

Every llama-server has --swa-full. Without it, it can reuse next to nothing of an earlier prompt of
models with sliding-window attention, such as Gemma; others ignore it. The times of percached include
retrieval. Those of rows 1 to 4 do not: they get the chunks.

First come the questions, then, shuffled, each again in other words and as many that are similar but
different: the same question about the other speaker, or the conversation's nearest question with
another answer. A stored answer is wrong if it was stored for another question and its token F1
with a fresh answer to this one is below 0.5. Row 1 computes the fresh answers for GPTCache, row 6
those for percached. Requests never overlap; the script waits until a server is done with a request,
also with what it stores behind the answer. Run nothing else meanwhile."""

import argparse
import contextlib
import datetime
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from peer_servers import MAX_TOKENS, GPTCache, LlamaServer, Percached

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "percached", "models")
FIRST, AGAIN, SIMILAR = "first", "other words", "similar"


def conversation(path, number, folder):
    """Writes a conversation's sessions as transcripts, and returns its questions and speakers."""
    with open(path, encoding="utf-8") as f:
        talk = json.load(f)[number]
    n = 1
    while f"session_{n}" in talk["conversation"]:
        when = datetime.datetime.strptime(talk["conversation"][f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y")
        lines = [f"{t['speaker']}: " + re.sub(r"\s+", " ", t["text"]) for t in talk["conversation"][f"session_{n}"]]
        with open(os.path.join(folder, f"{when:%Y-%m-%d} Session {n}.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        n += 1
    questions = [(q["question"], str(q["answer"])) for q in talk["qa"] if q["category"] in (1, 2, 3, 4) and q.get("answer") is not None]
    return questions, (talk["conversation"]["speaker_a"], talk["conversation"]["speaker_b"])


def other_words(question, n, speakers):
    """Says a question in other words with the same meaning."""
    q = question.strip()
    if m := re.fullmatch(r"What (is|are|was|were) (\w+'s [^?]+)\?", q):
        return f"Tell me what {m[2]} {m[1]}."
    lower = q if re.match(r"\w*", q)[0] in speakers else q[0].lower() + q[1:]
    if m := re.fullmatch(r"((?:what|when|where|who|which|how) .+) ((?:in|on|during|after|before|since) (?:\d|early |late |[A-Z])[^?]*)\?", lower):
        return f"{m[2][0].upper()}{m[2][1:]}, {m[1]}?"
    return ("Could you tell me: {}", "I would like to know: {}", "Do you remember: {}", "Here is my question: {}")[n % 4].format(lower)


def similar(asked, others, speakers, embed):
    """Finds for each asked question one that is similar and has another answer: every second one
    is about the other speaker, the rest are the conversation's nearest."""
    vectors = dict(zip([q for q, _ in asked + others], embed([q for q, _ in asked + others])))
    found, used = [], {q for q, _ in asked}
    for n, (q, answer) in enumerate(asked):
        named = [s for s in speakers if re.search(rf"\b{s}\b", q)]
        if n % 2 and len(named) == 1:
            new = re.sub(rf"\b{named[0]}\b", speakers[1 - speakers.index(named[0])], q)
            if new not in used:
                found.append(new)
                used.add(new)
                continue
        near = [(sum(x * y for x, y in zip(vectors[q], vectors[o])), o) for o, a in others if o not in used and a != answer]
        if near:
            found.append(max(near)[1])
            used.add(found[-1])
    return found


def cpu():
    """Returns the name of the processor, or the machine's architecture."""
    with contextlib.suppress(OSError):
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            if m := re.search(r"^model name\s*: (.+)$", f.read(), re.M):
                return m[1]
    return os.uname().machine


def disk(folder):
    return sum(os.lstat(os.path.join(at, name)).st_blocks * 512 for at, _, names in os.walk(folder) for name in names)


def words(text):
    return re.findall(r"\w+", text.lower())


def f1(a, b):
    a, b = words(a), words(b)
    common = sum(min(a.count(w), b.count(w)) for w in set(a))
    return 2 * common / (len(a) + len(b)) if a or b else 1.0


def interval(values):
    """Returns the mean and its 95 % bootstrap interval."""
    if not values:
        return None
    r = random.Random(1)
    means = sorted(statistics.fmean(r.choices(values, k=len(values))) for _ in range(2000))
    return dict(mean=statistics.fmean(values), low=means[50], high=means[1949], n=len(values))


def times_sooner(key, slow, fast):
    """Returns how many times sooner fast's replies come than slow's, with the 95 % bootstrap interval."""
    pairs = [(slow[q][key], fast[q][key]) for q in fast]
    r = random.Random(1)
    samples = [pairs] + [r.choices(pairs, k=len(pairs)) for _ in range(2000)]
    mean, *ratios = (sum(a for a, _ in s) / sum(b for _, b in s) for s in samples)
    ratios.sort()
    return dict(mean=mean, low=ratios[50], high=ratios[1949])


def summary(replies):
    computed = [r for r in replies if r["prompt"]]
    return dict(
        first_s=interval([r["first"] for r in replies]),
        whole_s=interval([r["whole"] for r in replies]),
        generated=interval([r["generated"] for r in computed]),
        prompt=interval([r["prompt"] for r in computed]),
        reused=interval([r["reused"] / r["prompt"] for r in computed]),
    )


def judge(asked, row, fresh):
    """Counts by kind of question: asked, served from the store, and wrong."""
    result = {kind: dict(asked=0, served=0, wrong=0) for kind in (FIRST, AGAIN, SIMILAR)}
    for kind, question, same in asked:
        r, count = row["replies"][question], result[kind]
        count["asked"] += 1
        if r["stored"] is None:
            continue
        count["served"] += 1
        r["f1_fresh"] = f1(r["text"], fresh["replies"][question]["text"])
        r["wrong"] = words(r["stored"]) not in (words(question), words(same)) and r["f1_fresh"] < 0.5
        count["wrong"] += r["wrong"]
    return result


def show(rows, halves):
    def ms(v):
        return f"{v['mean'] * 1000:,.0f} ({v['low'] * 1000:,.0f} to {v['high'] * 1000:,.0f})" if v else "-"

    def share(v):
        return f"{v['mean'] * 100:.0f} %" if v else "-"

    for title, half in zip(("First questions", "Second half: other words, and similar questions"), halves):
        print(f"\n{title} (n = {half}); mean and 95 % bootstrap interval\n")
        print("| | first token, ms | whole answer, ms | tokens of a computed answer | tokens of its prompt | of these reused |\n|---|---|---|---|---|---|")
        for row in rows:
            s = row["first" if half is halves[0] else "second"]
            print(f"| {row['name']} | {ms(s['first_s'])} | {ms(s['whole_s'])} | {s['generated']['mean'] if s['generated'] else 0:.1f} | {s['prompt']['mean'] if s['prompt'] else 0:.0f} | {share(s['reused'])} |")
    print("\nAnswers served from the store, and wrong ones among them\n")
    print(f"| | {FIRST} | {AGAIN} | {SIMILAR} |\n|---|---|---|---|")
    for row in rows:
        if "judged" in row:
            print(f"| {row['name']} | " + " | ".join(f"{c['served']} of {c['asked']}, wrong {c['wrong']}" for c in row["judged"].values()) + " |")
    print("\nResident memory and disk space at the end\n\n| | resident, MiB | of it mapped files, MiB | on disk, MiB |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['name']} | " + " | ".join(f"{row[k] / (1 << 20):,.1f}" for k in ("resident_bytes", "mapped_bytes", "disk_bytes")) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("percached")
    p.add_argument("llama_server")
    p.add_argument("locomo")
    p.add_argument("--gptcache", metavar="PYTHON", help="Python with GPTCache (sh internal/tools/gptcache.sh; ... where prints it); without it, its row is left out")
    p.add_argument("--model", default=os.path.join(CACHE, "SmolLM2-135M-Instruct-Q4_1.gguf"))
    p.add_argument("--embed-model", default=os.path.join(CACHE, "all-MiniLM-L6-v2-F16.gguf"))
    p.add_argument("--questions", type=int, default=30, help="first questions (default %(default)s); twice as many follow")
    p.add_argument("--conversation", type=int, default=0)
    p.add_argument("--idle", type=int, default=180, help="maximum idle work in seconds (default %(default)s)")
    p.add_argument("--threads", type=int, default=0, help="threads of every server; 0: their defaults")
    p.add_argument("--placement", default="")
    p.add_argument("--json", metavar="FILE", help="write all numbers, questions and answers to FILE")
    p.add_argument("--logs", metavar="FOLDER", help="keep the servers' logs in FOLDER")
    a = p.parse_args()
    args = ["--model", a.model, "--embed-model", a.embed_model, "--max-tokens", str(MAX_TOKENS)]
    args += ["--threads", str(a.threads)] if a.threads else []
    args += ["--placement", a.placement] if a.placement else []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as running:
        result = measure(a, args, work, running)
    result["seconds"] = time.monotonic() - started
    rows = result["rows"]
    print(f"{result['model']}, {result['processors']} processors ({result['cpu']}), {result['idle_s']:.0f} s of idle work, {result['seconds']:.0f} s in all")
    show(rows, (result["questions"], len(result["asked"]) - result["questions"]))
    print("Models are mapped files; processes on one machine share them. GPTCache's embedding model is in percached's process.")
    print("\npercached after idle work, first questions, beside llama-server with one slot:")
    for what, r in result["sooner"].items():
        print(f"- {what} {r['mean']:.1f} ({r['low']:.1f} to {r['high']:.1f}) times sooner")
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


def measure(a, args, work, running):
    logs = a.logs or work
    os.makedirs(logs, exist_ok=True)

    def start(make, *how):
        server = make(*how)
        running.callback(server.end)
        return server

    def log(name):
        return os.path.join(logs, name + ".log")

    docs = os.path.join(work, "docs")
    os.mkdir(docs)
    questions, speakers = conversation(a.locomo, a.conversation, docs)
    random.Random(1).shuffle(questions)
    chosen, others = questions[: a.questions], questions[a.questions :]

    idle = Percached(a.percached, os.path.join(work, "warm"), args, log("percached-idle"))
    try:
        idle.call("add", docs, "--space", "talk", "--kind", "dialog")
        began = time.monotonic()
        print(f"Idle work, at most {a.idle} s.", file=sys.stderr)
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([a.percached, "idle", "run", "--data", idle.data], stdout=subprocess.DEVNULL, timeout=a.idle)
        worked = time.monotonic() - began
        idle.call("idle", "pause")
    finally:
        idle.end()
    bank_data = os.path.join(work, "bank")
    subprocess.run(["cp", "-a", idle.data, bank_data], check=True)

    cold = start(Percached, a.percached, os.path.join(work, "cold"), args, log("percached-cold"))
    cold.call("add", docs, "--space", "talk", "--kind", "dialog")
    warm = start(Percached, a.percached, idle.data, args, log("percached-warm"))
    bank = start(Percached, a.percached, bank_data, args, log("percached-bank"))
    for server in (cold, warm, bank):
        server.call("idle", "pause")

    def llama(name, slots, *options):
        return start(LlamaServer, a.llama_server, a.model, a.threads, slots, list(options), log(name))

    rows = []

    def row(name, server, ask, *also, folder=None):
        rows.append(dict(name=name, replies={}, server=server, ask=ask, also=also, folder=folder))

    one, four, prefix = llama("llama-one", 1), llama("llama-four", 4), llama("llama-prefix", 1, "--cache-ram", "0")
    row("llama-server, one slot", one, one.ask)
    row("llama-server, four slots", four, four.ask)
    row("Ollama's way: one prefix (llama-server, no prompt memory)", prefix, prefix.ask)
    if a.gptcache:
        gptcache = start(GPTCache, a.gptcache, llama("llama-gptcache", 1), cold, os.path.join(work, "gptcache"), log("gptcache"))
        row("GPTCache before llama-server, one slot", gptcache, gptcache.ask, gptcache.llama, folder=gptcache.folder)
    row("percached, nothing stored before the first question", cold, None, folder=cold.data)
    row("percached, after idle work", warm, lambda q, _: warm.ask(q, True)[0], folder=warm.data)
    row("percached with stored answers, after idle work", bank, lambda q, _: bank.ask(q, False)[0], folder=bank.data)

    later = [(AGAIN, other_words(q, n, speakers), q) for n, (q, _) in enumerate(chosen)]
    later += [(SIMILAR, q, q) for q in similar(chosen, others, speakers, cold.embed)]
    random.Random(2).shuffle(later)
    asked = [(FIRST, q, q) for q, _ in chosen] + later
    for n, (kind, question, _) in enumerate(asked):
        answer, chunks = cold.ask(question, True)
        cold.settle()
        for r in rows:
            r["replies"][question] = r["ask"](question, chunks) if r["ask"] else answer
            for server in (r["server"], *r["also"]):
                server.settle()
        times = " ".join(f"{r['replies'][question]['first']:.2f}{'*' if r['replies'][question]['stored'] else ''}" for r in rows)
        print(f"{n + 1} of {len(asked)}, {kind}: {times} s", file=sys.stderr)

    by_server = {r["server"]: r for r in rows}
    if a.gptcache:
        by_server[gptcache]["judged"] = judge(asked, by_server[gptcache], by_server[one])
    by_server[bank]["judged"] = judge(asked, by_server[bank], by_server[warm])
    slow, fast = ({q: by_server[s]["replies"][q] for kind, q, _ in asked if kind == FIRST} for s in (one, warm))
    sooner = {"first token": times_sooner("first", slow, fast), "whole answer": times_sooner("whole", slow, fast)}
    for r in rows:
        servers = (r.pop("server"), *r.pop("also"))
        r["resident_bytes"], r["mapped_bytes"] = (sum(n) for n in zip(*(s.memory() for s in servers)))
        folder = r.pop("folder")
        r["disk_bytes"] = disk(folder) if folder else 0
        del r["ask"]
        r["first"] = summary([r["replies"][q] for kind, q, _ in asked if kind == FIRST])
        r["second"] = summary([r["replies"][q] for kind, q, _ in asked if kind != FIRST])
        for kind in (AGAIN, SIMILAR):
            r[kind] = summary([r["replies"][q] for k, q, _ in asked if k == kind])
    return dict(
        model=os.path.basename(a.model), processors=os.cpu_count(), idle_s=worked, questions=len(chosen),
        cpu=cpu(), sooner=sooner,
        asked=[dict(kind=kind, question=q, rephrases=same if same != q else None) for kind, q, same in asked], rows=rows,
    )


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as e:
        sys.exit(f"make peer: {e}")
    except KeyboardInterrupt:
        sys.exit(130)
