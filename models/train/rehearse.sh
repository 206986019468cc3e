#!/bin/sh
# Runs the whole recipe on a tiny setting: data, tokenizer, both trainings (the
# language model's in two sittings), export, comparison with the engine,
# measurements. Needs no data set. The models that come out know nothing.
#
#   sh rehearse.sh [PERCACHED-EVAL]
set -eu

here=$(dirname "$0")
percached=$(realpath -m "${1:-$here/../../bin/percached-eval}")
if [ ! -x "$percached" ]; then
	echo "There is no program $percached. This command makes it: make -C $here/../.. build-eval" >&2
	exit 1
fi
cd "$here"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

for python in python3 /usr/bin/python3; do
	"$python" -c 'import torch, numpy' 2>/dev/null && break
	python=
done
if [ -z "$python" ]; then
	echo "The recipe needs PyTorch and NumPy. This command helps: apt-get install python3-torch python3-numpy" >&2
	exit 1
fi

say() { echo; echo "rehearsal: $*"; }

say "backward passes"
"$python" gradients.py
say "data"
"$python" pack.py --settings tiny --out "$work"
say "the same seed gives the same data"
"$python" pack.py --settings tiny --out "$work/again"
for f in "$work"/*.json "$work"/*.npz; do
	cmp "$f" "$work/again/$(basename "$f")"
done
say "training, first sitting"
"$python" train.py --settings tiny --work "$work" --until 0.5
say "training, second sitting"
"$python" train.py --settings tiny --work "$work"
say "export"
"$python" export.py --work "$work" --type f32 --out "$work/f32.gguf"
"$python" export.py --work "$work" --type q8_0 --out "$work/q8_0.gguf"
say "training the exported model further"
"$python" pack.py --settings tiny --out "$work/further" --start "$work/q8_0.gguf" --stages long --seed 2
"$python" train.py --settings tiny --work "$work/further" --start "$work/q8_0.gguf" --begin 0.7 --until 0.8
say "the mean of two trainings"
"$python" average.py --of "$work" "$work/further" --work "$work/mean"
"$python" export.py --work "$work/mean" --type q8_0 --out "$work/mean.gguf"
say "PyTorch and the engine"
"$python" check.py --work "$work" --model "$work/f32.gguf" --percached "$percached" --count 12
say "encoder"
"$python" encoder.py --settings tiny --work "$work" --out "$work/embed.gguf"
say "measurements"
"$python" evaluate.py --percached "$percached" --models tiny="$work/q8_0.gguf" --scale 0.01
"$python" evaluate_encoder.py --work "$work" --models tiny="$work/embed.gguf" --count 50
"$python" evaluate_inbox.py --percached "$percached" --models tiny="$work/q8_0.gguf" --embed "$work/embed.gguf"
say "done"
