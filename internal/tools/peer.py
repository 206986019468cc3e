"""Asks percached and llama-server the same questions, in turn:

python3 internal/tools/peer.py bin/percached LLAMA-SERVER LOCOMO.json [--model FILE] [--embed-model FILE]

LOCOMO.json contains conversations with questions; the script uses one. Both servers answer
from the same chunks with the same model, in at most 32 tokens. percached serves no stored
answer, and llama-server keeps its prompt cache. Each question is asked three times: of percached
without stored data, of llama-server with the chunks that percached named, and of percached in
another data folder after idle work. The script prints paired means. Run nothing else meanwhile."""

import argparse
import datetime
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "percached", "models")
TASK = "Using only the texts above, answer in one sentence.\nQuestion: "


def conversation(path, number, folder):
    """Writes a conversation's sessions as transcripts, and returns its questions."""
    with open(path, encoding="utf-8") as f:
        talk = json.load(f)[number]
    n = 1
    while f"session_{n}" in talk["conversation"]:
        when = datetime.datetime.strptime(talk["conversation"][f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y")
        lines = [f"{t['speaker']}: " + re.sub(r"\s+", " ", t["text"]) for t in talk["conversation"][f"session_{n}"]]
        with open(os.path.join(folder, f"{when:%Y-%m-%d} Session {n}.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        n += 1
    return [q["question"] for q in talk["qa"] if q["category"] in (1, 2, 3, 4) and q.get("answer") is not None]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(url, body, token=None, accept="application/json"):
    headers = {"Content-Type": "application/json", "Accept": accept}
    if token:
        headers["Authorization"] = "Bearer " + token
    return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=600)


class Percached:
    def __init__(self, exe, data, args):
        self.exe, self.data, self.args = exe, data, args
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(data + ".log"), "wb")
        self.process = subprocess.Popen([exe, "serve", "--data", data, "--listen", f"127.0.0.1:{port}", *args], stdout=self.log, stderr=self.log)
        wait_for(self.url + "/readyz", self.process)
        with open(os.path.join(data, "token"), encoding="utf-8") as f:
            self.token = f.read().strip()

    def call(self, *command):
        subprocess.run([self.exe, *command, "--data", self.data], check=True, stdout=subprocess.DEVNULL)

    def ask(self, question):
        began = time.monotonic()
        first = answer = None
        with post(f"{self.url}/v1/spaces/talk/ask", {"question": question, "bypass": True}, self.token, "text/event-stream") as r:
            event = ""
            for line in r:
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    event = line[7:]
                    if event == "token" and first is None:
                        first = time.monotonic() - began
                elif line.startswith("data: ") and event in ("done", "error"):
                    answer = json.loads(line[6:])
        if not answer or "answer" not in answer:
            raise RuntimeError(f"percached did not answer: {answer}")
        return first or time.monotonic() - began, time.monotonic() - began, answer

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class LlamaServer:
    def __init__(self, exe, model, threads, log):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = open(log, "wb")
        command = [exe, "-m", model, "--port", str(port), "--host", "127.0.0.1", "-c", "4096", "-np", "1", "-ngl", "0"]
        self.process = subprocess.Popen(command + (["-t", str(threads)] if threads else []), stdout=self.log, stderr=self.log)
        wait_for(self.url + "/health", self.process)

    def ask(self, question, chunks):
        began = time.monotonic()
        first, tokens, text = None, 0, ""
        system = "Answer from the user's own documents.\n\n" + "".join(c.rstrip("\n") + "\n\n" for c in chunks)
        prompt = system + TASK + question + "\nAnswer:"
        with post(f"{self.url}/completion", {"prompt": prompt, "n_predict": 32, "stream": True, "cache_prompt": True, "temperature": 0, "stop": ["\n"]}) as r:
            for line in r:
                if not line.startswith(b"data: "):
                    continue
                got = json.loads(line[6:])
                if got.get("content") and first is None:
                    first = time.monotonic() - began
                text += got.get("content", "")
                if got.get("stop"):
                    tokens = got.get("tokens_predicted", 0)
        return first or time.monotonic() - began, time.monotonic() - began, tokens

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def wait_for(url, process):
    for _ in range(1200):
        if process.poll() is not None:
            sys.exit(f"a server ended with status {process.returncode} before it was ready")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{url} does not answer")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("percached")
    p.add_argument("llama_server")
    p.add_argument("locomo")
    p.add_argument("--model", default=os.path.join(CACHE, "SmolLM2-135M-Instruct-Q4_1.gguf"))
    p.add_argument("--embed-model", default=os.path.join(CACHE, "all-MiniLM-L6-v2-F16.gguf"))
    p.add_argument("--questions", type=int, default=30)
    p.add_argument("--conversation", type=int, default=0)
    p.add_argument("--idle", type=int, default=180, help="maximum idle work in seconds (default %(default)s)")
    p.add_argument("--threads", type=int, default=0, help="threads of both servers; 0: their defaults")
    p.add_argument("--placement", default="")
    a = p.parse_args()
    args = ["--model", a.model, "--embed-model", a.embed_model, "--max-tokens", "32"]
    args += ["--threads", str(a.threads)] if a.threads else []
    args += ["--placement", a.placement] if a.placement else []
    with tempfile.TemporaryDirectory() as work:
        docs = os.path.join(work, "docs")
        os.mkdir(docs)
        questions = conversation(a.locomo, a.conversation, docs)
        random.Random(1).shuffle(questions)
        questions = questions[: a.questions]

        warm = Percached(a.percached, os.path.join(work, "warm"), args)
        warm.call("add", docs, "--space", "talk", "--kind", "dialog")
        began = time.monotonic()
        print(f"Idle work, at most {a.idle} s.", file=sys.stderr)
        try:
            subprocess.run([a.percached, "idle", "run", "--data", warm.data], stdout=subprocess.DEVNULL, timeout=a.idle)
        except subprocess.TimeoutExpired:
            pass
        worked = time.monotonic() - began
        warm.call("idle", "pause")

        cold = Percached(a.percached, os.path.join(work, "cold"), args)
        cold.call("add", docs, "--space", "talk", "--kind", "dialog")
        cold.call("idle", "pause")
        peer = LlamaServer(a.llama_server, a.model, a.threads, os.path.join(work, "llama.log"))
        rows = []
        for n, q in enumerate(questions):
            first, whole, answer = cold.ask(q)
            chunks = ["### " + c["about"] + "\n" + c["quote"] for c in answer["citations"]]
            theirs = peer.ask(q, chunks)
            later = warm.ask(q)
            rows.append((first, whole, answer["tokens"]["generated"], *theirs, later[0], later[1], later[2]["tokens"]["generated"]))
            print(f"{n + 1} of {len(questions)}: {first:.2f} {theirs[0]:.2f} {later[0]:.2f} s", file=sys.stderr)
        for server in (warm, cold, peer):
            server.end()
    mean = [statistics.mean(c) for c in zip(*rows)]
    print(f"{os.path.basename(a.model)}, {len(rows)} questions, {worked:.0f} s of idle work, {os.cpu_count()} processors\n")
    print("| | first token | whole answer | tokens of an answer |\n|---|---|---|---|")
    for name, at in (("llama-server, prompt cache on", 3), ("percached, nothing stored before the first question", 0), ("percached, after idle work", 6)):
        print(f"| {name} | {mean[at] * 1000:,.0f} ms | {mean[at + 1] * 1000:,.0f} ms | {mean[at + 2]:.1f} |")
    print(f"\nAfter idle work the first token comes {mean[3] / mean[6]:.1f} times sooner, the whole answer {mean[4] / mean[7]:.1f} times.")


if __name__ == "__main__":
    main()
