"""Runs prompts through the product's own engine: `percached-eval bench answers`."""

import json
import subprocess

import prompts


def answers(percached, model, prompts, threads=1, context=2048):
    """What the model answers, with tokens and times; prompts are dicts."""
    text = "\n".join(json.dumps(p) for p in prompts)
    command = [percached, "bench", "answers", "--model", str(model), "--threads", str(threads), "--context", str(context)]
    out = subprocess.run(command, input=text, capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(f"{' '.join(command)}: {out.stderr}")
    lines = [json.loads(line) for line in out.stdout.split("\n") if line]
    for line in lines:
        if line.get("error"):
            raise SystemExit(f"{model}: {line['error']}")
    assert len(lines) == len(prompts), f"{len(lines)} answers to {len(prompts)} prompts"
    return lines


def prompt(instructions, chunks, question, parallel, max_tokens=48):
    """chunks: rendered texts."""
    return {
        "instructions": instructions, "chunks": chunks, "question": question,
        "placement": "parallel" if parallel else "sequential", "max_tokens": max_tokens,
    }


def render(model, c):
    """A chunk as a model knows chunks; the first version had another first line."""
    if model == "v0":
        head = f"Email from {c.source.removeprefix('mail from ')}: {c.title}" if c.source.startswith("mail from ") else c.title
        return f"### {head}\n{c.text}\n\n"
    return prompts.chunk(c.title, c.source, c.date, c.text)
