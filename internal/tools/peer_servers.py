"""The systems that peer.py asks, each a process or two on this machine. ask returns a reply: the
seconds to the first token and to the end, the text, the tokens of the prompt, how many of them were
reused, the tokens generated, and, if a stored answer came, the question that it was stored for."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

TASK = "Using only the texts above, answer in one sentence.\nQuestion: "
CONTEXT = 4096  # of each slot of llama-server
MAX_TOKENS = 32


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(url, body, token=None, accept="application/json"):
    headers = {"Content-Type": "application/json", "Accept": accept}
    if token:
        headers["Authorization"] = "Bearer " + token
    return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=600)


def reply(began, first, text, prompt=0, reused=0, generated=0, stored=None, **more):
    """An answer; stored is the question whose stored answer it is."""
    whole = time.monotonic() - began
    return dict(first=first or whole, whole=whole, text=text.strip(), prompt=prompt, reused=reused, generated=generated, stored=stored, **more)


class Server:
    def __init__(self, command, log, ready=None, **more):
        self.log = open(log, "ab")
        self.process = subprocess.Popen(command, stderr=self.log, **{"stdout": self.log, **more})
        if ready:
            wait_for(ready, self.process)

    def busy(self):
        """Returns the processor time that it has used, in ticks."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as f:
            return sum(int(n) for n in f.read().rpartition(")")[2].split()[11:13])

    def settle(self):
        """Waits until it computes no more, at most 2 s."""
        try:
            for _ in range(40):
                before = self.busy()
                time.sleep(0.05)
                if self.busy() - before <= 1:
                    return
        except OSError:  # no /proc
            time.sleep(0.2)

    def memory(self):
        """Returns the resident bytes, and how many of them are mapped files."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as f:
                kib = dict(re.findall(r"^(\w+):\s+(\d+) kB$", f.read(), re.M))
            return int(kib["VmRSS"]) * 1024, int(kib["RssFile"]) * 1024
        except OSError:
            return 0, 0

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Percached(Server):
    def __init__(self, exe, data, args, log):
        self.exe, self.data = exe, data
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        super().__init__([exe, "serve", "--data", data, "--listen", f"127.0.0.1:{port}", *args], log, self.url + "/readyz")
        with open(os.path.join(data, "token"), encoding="utf-8") as f:
            self.token = f.read().strip()

    def call(self, *command):
        subprocess.run([self.exe, *command, "--data", self.data], check=True, stdout=subprocess.DEVNULL)

    def embed(self, texts):
        with post(self.url + "/v1/embeddings", {"input": texts}, self.token) as r:
            return [d["embedding"] for d in json.load(r)["data"]]

    def ask(self, question, bypass):
        began = time.monotonic()
        first = answer = None
        with post(f"{self.url}/v1/spaces/talk/ask", {"question": question, "bypass": bypass}, self.token, "text/event-stream") as r:
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
        t = answer["tokens"]
        stored = [c["question"] for c in answer["gate"].get("considered") or [] if c["served"]] or ["unknown"]
        hit = answer["outcome"] == "answer_hit"
        chunks = ["### " + c["about"] + "\n" + c["quote"] for c in answer["citations"]]
        return reply(began, first, answer["answer"], t["prompt"], t["reused"], t["generated"], stored[0] if hit else None, outcome=answer["outcome"]), chunks


class LlamaServer(Server):
    def __init__(self, exe, model, threads, slots, args, log):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [exe, "-m", model, "--port", str(port), "--host", "127.0.0.1", "-c", str(slots * CONTEXT), "-np", str(slots), "-ngl", "0", "--swa-full"]
        super().__init__(command + args + (["-t", str(threads)] if threads else []), log, self.url + "/health")
        with urllib.request.urlopen(self.url + "/props", timeout=60) as r:
            props = json.load(r)
        has = props["total_slots"], props["default_generation_settings"]["n_ctx"]
        if has != (slots, CONTEXT):
            self.end()
            raise RuntimeError(f"llama-server has {has[0]} slots with a context of {has[1]} each instead of {slots} with {CONTEXT}")

    def ask(self, question, chunks):
        began = time.monotonic()
        first, text, last = None, "", {}
        with post(self.url + "/completion", completion(question, chunks)) as r:
            for line in r:
                if line.startswith(b"data: "):
                    last = json.loads(line[6:])
                    if last.get("content") and first is None:
                        first = time.monotonic() - began
                    text += last.get("content", "")
        return reply(began, first, text, **counts(last))


class GPTCache(Server):
    """GPTCache as a process with its own llama-server."""

    def __init__(self, python, llama, percached, folder, log):
        os.mkdir(folder)
        self.llama, self.folder = llama, folder
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_gptcache.py")
        env = {**os.environ, "TOKEN": percached.token}
        super().__init__([python, script, llama.url, percached.url, folder], log, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.line()

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            with open(self.log.name, encoding="utf-8") as f:
                last = f.read().strip().rpartition("\n")[2]
            raise RuntimeError(f"GPTCache ended: {last}; run: sh internal/tools/gptcache.sh, and pass the Python that it prints with where")
        return json.loads(line)

    def ask(self, question, chunks):
        line = json.dumps({"question": question, "body": completion(question, chunks)}).encode() + b"\n"
        began = time.monotonic()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        first = done = None
        while done is None:
            got = self.line()
            if "token" in got and first is None:
                first = time.monotonic() - began
            done = got.get("done")
        result = reply(began, first, done["text"], stored=done.get("hit"), **counts(done.get("last", {})))
        self.line()  # it has stored the answer
        return result

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def completion(question, chunks):
    system = "Answer from the user's own documents.\n\n" + "".join(c.rstrip("\n") + "\n\n" for c in chunks)
    prompt = system + TASK + question + "\nAnswer:"
    return {"prompt": prompt, "n_predict": MAX_TOKENS, "stream": True, "cache_prompt": True, "temperature": 0, "stop": ["\n"]}


def counts(last):
    """Returns the counts in llama-server's last event."""
    t = last.get("timings", {})
    reused = t.get("cache_n", 0)
    return dict(prompt=t.get("prompt_n", 0) + reused, reused=reused, generated=last.get("tokens_predicted", 0))


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
