#!/bin/sh
# Measures percached beside other systems, with real models: each table is one run of
# percached-eval with each model. Complete runs are not repeated, and an interrupted one
# goes on with the next user, so the same command can be given again.
#
#	internal/tools/eval.sh bin/percached-eval DATA OUT [TABLE...]
#
# DATA is a folder with enronqa_layout_dev.jsonl, enron_g_to_z.jsonl.gz, locomo_5.json and
# mised_layout_validation.jsonl.gz. OUT gets a folder for each run, which holds text of the
# data, and OUT/results with the reports, which do not.
#
# The tables, and the hours that each takes with both models on two cores. TABLE-smollm2 and
# TABLE-gemma take one model:
#
#	mail        48 mails in EnronQA's layout, in the inboxes of 12 people     3
#	talks       five conversations of LoCoMo                                 2
#	meetings    six meetings of QMSum, each question also in other words     1.6
#	ablation    mail of three people: percached without one part             1 (SmolLM2)
#	thresholds, strides, limits                                              1 (SmolLM2)
#	overall     the first three side by side, as far as they have run
set -eu

percached=${1:?name the percached-eval to measure with}
data=${2:?name the folder of the data}
out=${3:?name the folder for results}
shift 3
[ $# -gt 0 ] || set -- mail talks meetings ablation thresholds strides limits overall
models=${XDG_CACHE_HOME:-$HOME/.cache}/percached/models

for file in enronqa_layout_dev.jsonl enron_g_to_z.jsonl.gz locomo_5.json mised_layout_validation.jsonl.gz; do
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

# Each processor measures a user of its own, with one thread, unless PERCACHED_THREADS and
# EVAL_AT_ONCE say otherwise. Threads of a small model that wait for each other take a fifth
# more time.
export PERCACHED_THREADS="${PERCACHED_THREADS:-1}" PERCACHED_MAX_TOKENS=32
export PERCACHED_EMBED_MODEL="$models/all-MiniLM-L6-v2-F16.gguf"
at_once=${EVAL_AT_ONCE:-$(nproc)}

began=$(date +%s)
say() { echo "[$((($(date +%s) - began) / 60)) min] $*" >&2; }

say "Check the pipeline on data with known numbers."
"$percached" check

mkdir -p "$out"
python3 internal/tools/evaldata.py "$out/data" --questions "$data/enronqa_layout_dev.jsonl" --mails "$data/enron_g_to_z.jsonl.gz" \
	--dialogs "$data/mised_layout_validation.jsonl.gz"

# run TABLE MODEL FLAGS: executes a run and writes its report. The report names failed
# questions; they do not stop the run.
run() {
	name=$1-$2
	case $2 in
	smollm2) PERCACHED_MODEL="$models/SmolLM2-135M-Instruct-Q4_1.gguf" ;;
	gemma) PERCACHED_MODEL="$models/gemma-3-270m-Q4_K_M.gguf" ;;
	esac
	export PERCACHED_MODEL
	shift 2
	say "$name: percached-eval run $*"
	"$percached" run --out "$out/$name" --at-once "$at_once" "$@" >/dev/null || [ $? = 1 ]
	"$percached" report "$out/$name" --out "$out/results/$name" >/dev/null
	if ! grep -q '"undone": \[\]' "$out/results/$name/report.json"; then
		echo "$name is not complete. Run the same command again to continue it." >&2
		exit 1
	fi
}
mail="--dataset enronqa --path $out/data/enronqa.jsonl --inboxes $out/data/inboxes"
meetings="--dataset mised --path $out/data/mised.jsonl.gz --meetings 1 --paraphrases"
systems=naive,ragcache,meancache,ragcache+meancache,ragcache-parallel,sleep-time,percache,percached

for table; do
	chosen="smollm2 gemma"
	case $table in
	*-smollm2 | *-gemma)
		chosen=${table##*-}
		table=${table%-*}
		;;
	esac
	case $table in
	mail)
		for model in $chosen; do run mail $model $mail --systems $systems; done
		;;
	talks)
		for model in $chosen; do run talks $model --dataset locomo --path "$data/locomo_5.json" --questions 16 --systems $systems; done
		;;
	meetings)
		for model in $chosen; do run meetings $model $meetings --systems $systems; done
		;;
	ablation)
		run ablation smollm2 $mail --users 3 --systems percached,percached-no-bank,percached-no-tensors,percached-no-prediction,percached-no-drafts,percached-sequential,percached-no-idle
		;;
	thresholds)
		values="0.70 0.80 0.85 0.90 0.95"
		run thresholds smollm2 $meetings --users 2 --idle-tokens-before 1 \
			--systems "$(for v in $values; do printf 'meancache@threshold=%s,percached@threshold=%s,' $v $v; done)naive"
		;;
	strides)
		run strides smollm2 $mail --users 1 --systems "$(for v in 1 3 5; do printf 'percache@stride=%s,percached@stride=%s,' $v $v; done)naive"
		;;
	limits)
		run limits smollm2 $mail --users 1 --systems "$(for v in 8 17 35 69 138; do printf 'ragcache@limit=%s,percached@limit=%s,' $v $v; done)naive"
		;;
	overall)
		runs=
		for name in mail-smollm2 talks-smollm2 meetings-smollm2 mail-gemma talks-gemma meetings-gemma; do
			if [ -e "$out/results/$name" ]; then runs="$runs $out/$name"; fi
		done
		"$percached" report $runs --out "$out/results/overall" >/dev/null
		;;
	*)
		echo "There is no table $table. The tables are at the top of $0." >&2
		exit 2
		;;
	esac
done
say "Done: $out/results"
