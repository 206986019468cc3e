#!/bin/sh
# Runs a small evaluation of all systems: mails with questions in EnronQA's layout and
# meetings in MISeD's, two users each. Further runs have no repeated questions, a night of
# idle work, and one user with different thresholds, strides, storage limits and scheduling
# cases. With a SHAPE, such as 0.5b, it measures only times and compute, with random
# weights of that shape. Complete runs are not repeated.
#
#	internal/tools/eval.sh bin/percached-eval DATA OUT [SHAPE]
#
# DATA is a folder with enronqa_layout_dev.jsonl, mail/USER.mbox.gz and
# mised_layout_validation.jsonl.gz. OUT gets a folder for each run, which holds text of the
# data, and OUT/results with the reports, which do not.
set -eu

percached=${1:?name the percached to measure}
data=${2:?name the folder of the data}
out=${3:?name the folder for results}
shape=${4:-}

for file in enronqa_layout_dev.jsonl mised_layout_validation.jsonl.gz mail; do
	if ! [ -e "$data/$file" ]; then
		echo "$data/$file is missing. Name the folder of the data: make eval EVAL_DATA=FOLDER" >&2
		echo "For your own data see percached-eval run --help." >&2
		exit 1
	fi
done
if ! command -v python3 >/dev/null; then
	echo "python3 is missing. Install it: apt-get install -y python3" >&2
	exit 1
fi

# With small models on shared machines, threads that wait for each other cost more than
# they gain.
[ -n "$shape" ] || export PERCACHED_THREADS="${PERCACHED_THREADS:-1}"

began=$(date +%s)
say() { echo "[$((($(date +%s) - began) / 60)) min] $*" >&2; }

say "Check the pipeline on data with known numbers."
"$percached" check

mkdir -p "$out"
python3 internal/tools/evaldata.py "$out/data" --questions "$data/enronqa_layout_dev.jsonl" --inboxes "$data/mail" \
	--dialogs "$data/mised_layout_validation.jsonl.gz" --users lokey-t ward-k --inbox 200 --meetings 8

# run NAME FLAGS: executes a run and writes its report. The report names failed questions;
# they do not stop the run.
run() {
	name=$1
	shift
	say "$name: percached-eval run $*"
	"$percached" run --out "$out/$name" "$@" >/dev/null || [ $? = 1 ]
	"$percached" report "$out/$name" --out "$out/results/$name" >/dev/null
	if ! grep -q '"undone": \[\]' "$out/results/$name/report.json"; then
		echo "$name is not complete. Run the same command again to continue it." >&2
		exit 1
	fi
}
mail="--dataset enronqa --path $out/data/enronqa.jsonl --inboxes $out/data/inboxes"
meetings="--dataset mised --path $out/data/mised.jsonl.gz"

if [ -n "$shape" ]; then
	PERCACHED_MAX_TOKENS=24 run "shape-$shape" $mail --users 1 --questions 5 --rounds 1 --shape "$shape" \
		--systems naive,ragcache,meancache,ragcache+meancache,percache,percached,percached-sequential
else
	run mail $mail --users 2 --questions 25 --repeats 2
	run meetings $meetings --users 2 --meetings 2 --repeats 2
	# Many questions have the same words. This run asks each once.
	run mail-distinct $mail --users 2 --questions 20 --distinct
	# A night, in which percached may prefill all chunks.
	run mail-night $mail --users 2 --questions 25 --systems naive,percache,percached --idle-tokens-before 1000000
	run mail-sweeps $mail --users 1 --questions 16 --systems thresholds,strides,limits,cases
fi
say "Done: $out/results"
