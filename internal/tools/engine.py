#!/usr/bin/env python3
"""Measures percached in front of a llama-server: the first token of questions, cold, with what
background work left in the server's prefix cache, and from the bank.

Usage: engine.py PERCACHED LLAMA_SERVER MODEL
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

NOTES = {
    "ferry": "The ferry to Harwich leaves at ten on Friday from pier four. Anna has the tickets and the cabin numbers. "
    "Everybody must bring a passport, and the car must be at the gate one hour before. The crossing takes seven hours, "
    "and there is a restaurant on deck five that closes at eight. On the way back the ferry leaves on Sunday at six.",
    "doctor": "Doctor Weber moved the appointment of Tom to Tuesday the 4th of March at half past nine. The practice is at "
    "Lindenstrasse 12 on the second floor. Tom must not eat before, and should bring the report of the hospital and the "
    "card of the insurance. If he cannot come, he should call the practice on Monday before noon.",
    "garden": "The green door of the garden was painted by Paul in April, and the fence needs new boards. The tomatoes are "
    "in the second bed, and the beans behind them. Marie waters the beds every evening at seven while we are away, and "
    "the key of the shed hangs behind the clock in the kitchen.",
}
ASKED = [
    ("When does the ferry to Harwich leave?", "What must everybody bring to the ferry to Harwich?"),
    ("When is the appointment of Tom with Doctor Weber?", "What should Tom bring to Doctor Weber?"),
    ("Who painted the green door of the garden?", "Where hangs the key of the shed in the garden?"),
]


def start(args, url):
    p = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=2)
            return p
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{args[0]} does not start")


def main():
    percached, server, model = sys.argv[1:4]
    work = tempfile.mkdtemp()
    docs = os.path.join(work, "docs")
    os.mkdir(docs)
    for name, text in NOTES.items():
        with open(os.path.join(docs, name + ".txt"), "w") as f:
            f.write(text + "\n")
    running = []

    def serve(data):
        a = start([server, "-m", model, "--port", "7451", "-c", "4096", "-np", "1", "-t", "2", "--no-webui"], "http://127.0.0.1:7451/health")
        b = start([percached, "serve", "--data", data, "--listen", "127.0.0.1:7452", "--engine", "openai", "--engine-url", "http://127.0.0.1:7451",
                   "--max-tokens", "16", "--k", "2"], "http://127.0.0.1:7452/readyz")
        running[:] = [b, a]

    def stop():
        for p in running:
            p.send_signal(signal.SIGTERM)
            p.wait()

    def ask(data, question, **more):
        with open(os.path.join(data, "token")) as f:
            token = f.read().strip()
        r = urllib.request.Request("http://127.0.0.1:7452/v1/spaces/default/ask", json.dumps({"question": question, **more}).encode(),
                                   {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(r, timeout=600))

    def show(what, a):
        t = a["times"]
        print(f"{what:28} {a['outcome']:12} {t.get('first_token_ms', 0):8.0f} {t['total_ms']:8.0f} {a['tokens']['prompt']:7} {a['tokens']['reused']:7}", flush=True)

    print(f"{'':28} {'outcome':12} {'first ms':>8} {'total ms':>8} {'prompt':>7} {'reused':>7}")
    for i, (first, other) in enumerate(ASKED):
        data = os.path.join(work, str(i))
        serve(data)
        subprocess.run([percached, "add", docs, "--data", data], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        show("cold", ask(data, other, bypass=True))
        stop()
        serve(data)
        ask(data, first)
        show("same chunks, warm server", ask(data, other, bypass=True))
        show("stored answer", ask(data, first))
        stop()


main()
