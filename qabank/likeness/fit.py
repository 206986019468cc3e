"""Fits the model that scores two questions, and its calibration.

    percached-eval likeness --embed-model FILE \
        --space demo=models/demo/inbox.mbox --space demo=models/demo/meetings \
        --space second=qabank/testdata/heldout/world.mbox \
        qabank/testdata/heldout/pairs.jsonl qabank/testdata/heldout/enronqa.jsonl > lines.jsonl
    python3 qabank/likeness/fit.py lines.jsonl > qabank/likeness/fitted/NAME.json
    python3 qabank/likeness/fit.py lines.jsonl 2000 > replay.jsonl

With a number it prints so many questions of the traffic, in random order, with the scores
of fits that have not seen their inbox: for percached-eval gate.

Needs scikit-learn 1.5 or later. The model is boosted trees whose score never falls when
two questions come nearer. It is fitted on all lines. The calibration comes from two
other fits, each judged on the inbox that it has not seen.
"""

import collections
import json
import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

# Features whose growth speaks for the answer, and those that may speak either way. All
# others speak against it.
FOR = """similarity|best chunk|own best in evidence|evidence best in own|overlap|worst asked|worst stored
|mean asked|mean stored|second|rest""".replace("\n", "").split("|")
EITHER = "order|length|small words|one word|one word near".split("|")

# The weight of each kind of question in the fit, and its share in the traffic of the
# calibration: a repeat in other words, a question whose own answer is not stored, and a
# question that was made to mislead.
WEIGHT = {"enronqa": 0.3, "paraphrase": 0.2, "trap": 0.2, "other": 0.3}
# The paraphrases count less, as their inboxes hold whole families of questions that differ
# in a word or two.
TRAFFIC = {"enronqa": 0.34, "paraphrase": 0.15, "other enronqa": 0.34, "other paraphrase": 0.15, "trap": 0.02}


def kind(line):
    if line["kind"] == "other":
        return "other"
    if line["bank"] == "enronqa":
        return "enronqa"
    return "paraphrase" if line["kind"] == "paraphrase" else "trap"


def weights(kinds, used):
    w = np.zeros(len(kinds))
    for k, share in WEIGHT.items():
        i = (kinds == k) & used
        w[i] = share / i.sum()
    return w * len(kinds)


def fit(names, x, y, w):
    signs = [1 if n in FOR else 0 if n in EITHER else -1 for n in names]
    model = HistGradientBoostingClassifier(
        monotonic_cst=signs, random_state=1, max_iter=150, learning_rate=0.07,
        max_leaf_nodes=8, l2_regularization=1, min_samples_leaf=15)
    return model.fit(x, y, sample_weight=w)


def questions_of(lines, odds):
    """The questions of the traffic, best first: the log odds of the best stored answer of
    each, whether it is wrong, what the question counts, and the line."""
    best = collections.defaultdict(lambda: (-np.inf, None))
    for line, z in zip(lines, odds):
        k = kind(line)
        if k == "other":
            k = "other enronqa" if line["bank"] else "other paraphrase"
        key = (k, line["id"])
        if z > best[key][0]:
            best[key] = (z, line)
    per = collections.Counter(k for k, _ in best)
    out = []
    for (k, _), (z, line) in best.items():
        wrong = not line["right"] or k == "trap" and line["own"]
        out.append((z, wrong, TRAFFIC[k] / per[k] * len(best), line))
    return sorted(out, key=lambda q: -q[0])


def replay(questions, slope, shift, n):
    rng = np.random.default_rng(1)
    w = np.array([q[2] for q in questions])
    for i, at in enumerate(rng.choice(len(questions), n, p=w / w.sum())):
        z, wrong, _, line = questions[at]
        print(json.dumps({
            "id": str(i), "entry": line["world"] + " " + line["stored"], "score": round(float(1 / (1 + np.exp(-slope * z - shift))), 6),
            "similarity": round(line["similarity"], 6), "right": not wrong}))


def scale(questions):
    """The line that makes the odds those of the traffic."""
    z, wrong, w = (np.array(c, dtype=float) for c in list(zip(*questions))[:3])
    line = LogisticRegression(C=1e6).fit(z[:, None], wrong < 0.5, sample_weight=w)
    return float(line.coef_[0, 0]), float(line.intercept_[0])


def calibration(questions, slope, shift):
    rows, n, bad = [], 0.0, 0.0
    for i, (z, wrong, w, _) in enumerate(questions):
        score = 1 / (1 + np.exp(-slope * z - shift))
        n, bad = n + w, bad + w * wrong
        if score < 0.3:
            break
        if n >= len(questions) / 200 or i + 1 == len(questions):
            rows.append([round(float(score), 5), round(n, 2), round(bad, 2)])
            n, bad = 0.0, 0.0
    return rows


def trees(model):
    out = []
    for (p,) in model._predictors:
        nodes = []
        for n in p.nodes:
            if n["is_leaf"]:
                nodes.append([-1, round(float(n["value"]), 5)])
            else:
                nodes.append([int(n["feature_idx"]), round(float(n["num_threshold"]), 6), int(n["left"]), int(n["right"])])
        out.append(nodes)
    return out


def main():
    lines = [json.loads(line) for line in open(sys.argv[1])]
    names = lines[0]["names"]
    x = np.array([line["x"] for line in lines])
    kinds = np.array([kind(line) for line in lines])
    worlds = np.array([line["world"] for line in lines])
    y = np.array([int(line["right"] and not (k == "trap" and line["own"])) for line, k in zip(lines, kinds)])
    # The same answer to another question says nothing about the questions.
    used = np.array([line["own"] or not line["right"] for line in lines])
    w = weights(kinds, used)
    odds = np.zeros(len(y))
    for world in np.unique(worlds):
        seen = (worlds != world) & used
        odds[worlds == world] = fit(names, x[seen], y[seen], w[seen]).decision_function(x[worlds == world])
    questions = questions_of(lines, odds)
    slope, shift = scale(questions)
    if len(sys.argv) > 2:
        replay(questions, slope, shift, int(sys.argv[2]))
        return
    model = fit(names, x[used], y[used], w[used])
    json.dump({
        "features": names,
        "base": round(float(model._baseline_prediction.ravel()[0]), 6),
        "scale": [round(slope, 4), round(shift, 4)],
        "trees": trees(model),
        "calibration": calibration(questions, slope, shift),
    }, sys.stdout, separators=(",", ":"))
    print()


main()
