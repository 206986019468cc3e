"""The mean of the weights of several trainings that began from one: it is often
better than each of them.

    python3 average.py --of WORK1 WORK2 --work WORK
"""

import argparse
import pathlib
import shutil

import torch

from train import put


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--of", required=True, nargs="+", type=pathlib.Path, help="folders of trainings, the one that saw most last")
    p.add_argument("--work", required=True, type=pathlib.Path, help="folder for the mean")
    a = p.parse_args()
    assert a.work.resolve() not in [x.resolve() for x in a.of], f"{a.work} holds one of these trainings"
    trained = [torch.load(x / "nano.pt", map_location="cpu") for x in a.of]
    words = {(x / "tokenizer.json").read_bytes() for x in a.of}
    assert len(words) == 1, "these trainings have different tokenizers"
    mean = {k: sum(x["model"][k] for x in trained) / len(trained) for k in trained[0]["model"]}
    a.work.mkdir(parents=True, exist_ok=True)
    shutil.copy(a.of[-1] / "tokenizer.json", a.work)
    put(a.work / "nano.pt", trained[-1] | {"model": mean})
    print(f"the mean of {len(trained)} trainings is in {a.work}")


if __name__ == "__main__":
    main()
