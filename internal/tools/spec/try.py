"""Tries a percached with schemathesis: what openapi.yaml does not describe is an error.

    try.py PERCACHED OPENAPI WORK [SECONDS]

It starts the daemon on a new data folder in WORK and sends requests made from OPENAPI: the
examples, then values at the limits of each schema, then random ones until SECONDS (30) are over.
"""
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import yaml

PERCACHED, OPENAPI, WORK = sys.argv[1:4]
SECONDS = sys.argv[4] if len(sys.argv) > 4 else "30"
DATA = os.path.join(WORK, "data")

# Not tried: an endless stream, and bodies that schemathesis cannot make.
LEFT_OUT = ["events", "restore", "importEntries"]
# Some rules cannot be said by a schema, such as which cursor or setting exists.
NOT_CHECKED = "positive_data_acceptance"
# Not set: with these a space refuses all that comes after.
NOT_SET = ["read_only", "moved_to", "copy_of"]


def strict(names):
    """openapi.yaml without what allows anything: the default responses, and streams as strings. It
    has things that exist as examples; names has those of each space."""
    with open(OPENAPI) as f:
        doc = yaml.safe_load(f)
    for path, item in doc["paths"].items():
        parameters = item.pop("parameters", [])
        for method, op in item.items():
            op["parameters"] = op.get("parameters", []) + [
                {**p, "example": names["gone" if method == "delete" else "mail"][p["name"]]} if p["name"] in names["mail"] else p
                for p in (resolved(doc, p) for p in parameters)]
            op["responses"].pop("default", None)
            for response in op["responses"].values():
                stream = response.get("content", {}).get("text/event-stream")
                if stream:
                    stream["schema"] = {
                        "type": "object", "required": ["data"], "additionalProperties": False,
                        "properties": {"id": {"type": "string"}, "data": {"type": "string"}, "event": {"enum": list(stream["x-events"])}},
                    }
    for name in NOT_SET:
        doc["components"]["schemas"]["SettingsChange"]["properties"].pop(name)
    path = os.path.join(WORK, "strict.json")
    with open(path, "w") as f:
        json.dump(doc, f, default=str)
    return path


def resolved(doc, parameter):
    ref = parameter.get("$ref")
    return doc["components"]["parameters"][ref.split("/")[-1]] if ref else parameter


def start():
    env = {k: v for k, v in os.environ.items() if not k.startswith("PERCACHED_")}
    env["PERCACHED_IDLE_AFTER"] = "1h"  # idle work would take the processors
    daemon = subprocess.Popen([PERCACHED, "serve", "--data", DATA, "--listen", "127.0.0.1:0", "--max-tokens", "8"],
                              env=env, stdout=subprocess.PIPE, stderr=open(os.path.join(WORK, "daemon.log"), "w"), text=True)
    base = re.search(r"http://[\d.:]+", daemon.stdout.readline()).group()
    while True:
        try:
            urllib.request.urlopen(base + "/readyz").close()
            break
        except OSError:
            if daemon.poll() is not None:
                sys.exit("percached ended before it was ready: see " + WORK + "/daemon.log")
            time.sleep(0.1)
    with open(os.path.join(DATA, "token")) as f:
        return daemon, base, f.read().strip()


def fill(base, token):
    """Makes two spaces with things in them: one to use, one to delete. Returns the names of the things by space."""
    def call(path, body=None):
        r = urllib.request.Request(base + "/v1/spaces" + path, body and json.dumps(body).encode(),
                                   {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        with urllib.request.urlopen(r) as got:
            return json.load(got)

    names = {}
    for space in "mail", "gone":
        call("", {"name": space})
        at = "/" + space
        call(at + "/documents?wait=true", {"documents": [{"title": "Gate", "text": "The code of the gate is 6190."}]})
        names[space] = {
            "document": call(at + "/documents")["documents"][0]["id"],
            "upload": call(at + "/uploads")["uploads"][0]["id"],
            "entry": call(at + "/ask", {"question": "What is the code of the gate?"})["entry"],
            "conversation": call(at + "/conversations", {"title": "Gate"})["id"],
        }
    return names


def main():
    subprocess.run(["rm", "-rf", DATA], check=True)
    with open(os.path.join(WORK, "schemathesis.toml"), "w") as f:
        f.write('[parameters]\n"path.space" = "mail"\n[[operations]]\ninclude-method = "DELETE"\nparameters = { "path.space" = "gone" }\n')
    daemon, base, token = start()
    try:
        path = strict(fill(base, token))
        out = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", os.path.join(WORK, "schemathesis.toml"), "run", path,
             "--url", base, "-H", "Authorization: Bearer " + token, "--phases", "examples,coverage,fuzzing", "--max-time", SECONDS,
             "--checks", "all", "--exclude-checks", NOT_CHECKED, "--continue-on-failure", "--request-timeout", "30", "--warnings", "off", "--no-color",
             *[a for op in LEFT_OUT for a in ("--exclude-operation-id", op)]],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=WORK)
        if daemon.poll() is not None:
            sys.exit("percached ended: see " + WORK + "/daemon.log\n" + out.stdout)
    finally:
        daemon.terminate()
        daemon.wait()
    if out.returncode:
        sys.exit(out.stdout)
    print(re.search(r".* generated.*", out.stdout).group().strip() + ": each response is one that openapi.yaml describes.")


main()
