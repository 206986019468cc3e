#!/bin/sh
# Runs the evaluation in small: over mails with questions in EnronQA's layout and
# meetings in MISeD's, two users each, all systems; then without repeated questions;
# then with a whole night of idle work; then threshold, stride, storage and the
# scheduling cases for one user. With a
# SHAPE, such as 0.5b, times and compute alone, with random weights in that shape. Runs
# that are complete are not done again.
#
#	internal/tools/eval.sh bin/percached-eval DATA OUT [SHAPE]
#
# DATA is a folder with enronqa_layout_dev.jsonl, mail/USER.mbox.gz and
# mised_layout_validation.jsonl.gz. OUT gets a folder for each run, which holds text
# of the data, and OUT/results with the reports, which hold none.
set -eu

percached=${1:?where is percached-eval}
data=${2:?where is the data}
out=${3:?where do results go}
shape=${4:-}

for file in enronqa_layout_dev.jsonl mised_layout_validation.jsonl.gz mail; do
	if ! [ -e "$data/$file" ]; then
		echo "$data/$file is missing. Name the folder of the data: make eval EVAL_DATA=FOLDER" >&2
		echo "Your own data needs none of this: see percached-eval run --help." >&2
		exit 1
	fi
done
if ! command -v python3 >/dev/null; then
	echo "python3 is missing. Install it: apt-get install -y python3" >&2
	exit 1
fi

# On small models and shared machines threads that wait for each other cost more
# than they bring.
[ -n "$shape" ] || export PERCACHED_THREADS="${PERCACHED_THREADS:-1}"

began=$(date +%s)
say() { echo "[$((($(date +%s) - began) / 60)) min] $*" >&2; }

say "The pipeline on a set whose right numbers are known."
"$percached" check

mkdir -p "$out"
python3 internal/tools/evaldata.py "$out/data" --questions "$data/enronqa_layout_dev.jsonl" --inboxes "$data/mail" \
	--dialogs "$data/mised_layout_validation.jsonl.gz" --users lokey-t ward-k --inbox 200 --meetings 8

# run NAME: a run with the flags that follow, and its report. A question that failed
# is told in the report and ends nothing.
run() {
	name=$1
	shift
	say "$name: percached-eval run $*"
	"$percached" run --out "$out/$name" "$@" >/dev/null || [ $? = 1 ]
	"$percached" report "$out/$name" --out "$out/results/$name" >/dev/null
	if ! grep -q '"undone": \[\]' "$out/results/$name/report.json"; then
		echo "$name is not complete. The same command goes on with it." >&2
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
	# Many questions have the same words. Here each is asked once.
	run mail-distinct $mail --users 2 --questions 20 --distinct
	# A night, in which percached may read everything ahead.
	run mail-night $mail --users 2 --questions 25 --systems naive,percache,percached --idle-tokens-before 1000000
	run mail-sweeps $mail --users 1 --questions 16 --systems thresholds,strides,limits,cases
fi
say "Done: $out/results"
