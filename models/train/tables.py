"""Numbers with their uncertainty, in Markdown."""

import re


def interval(good, n):
    """Wilson's interval at 95 %."""
    if n == 0:
        return 0.0, 1.0
    z, p = 1.96, good / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * ((p * (1 - p) + z * z / (4 * n)) / n) ** 0.5 / (1 + z * z / n)
    return middle - half, middle + half


def share(good, n):
    low, high = interval(good, n)
    return f"{100 * good / max(1, n):.1f} % ({good}/{n}; {100 * low:.0f} to {100 * high:.0f})"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(x) for x in r) + " |" for r in rows])


def normal(text):
    return re.sub(r"\s+", " ", text).strip(" .!").lower()


def f1(a, b):
    """Overlap of the words of two answers."""
    x, y = re.findall(r"\w+", a.lower()), re.findall(r"\w+", b.lower())
    both = sum(min(x.count(w), y.count(w)) for w in set(x))
    return 2 * both / (len(x) + len(y)) if x or y else 1.0
