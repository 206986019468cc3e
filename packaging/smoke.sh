#!/bin/sh
# Shows that release binaries run: the demo's documents and its first questions, and
# doctor; under qemu-user where the CPU is of another kind. Of several, the answers
# must be the same.
#
#	packaging/smoke.sh amd64|arm64|arm64-v8.2...
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- amd64 arm64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for flavour; do
	[ -x "build/release/$flavour/percached" ] || {
		printf '\n%s\n' "build/release/$flavour/percached is missing: packaging/release.sh $flavour makes it" >&2
		exit 1
	}
	run() { sh packaging/run.sh "${flavour%%-*}" "build/release/$flavour/percached" "$@"; }
	data=$work/$flavour
	printf '\n%s: ' "$flavour"
	run version
	run add models/demo/inbox.mbox models/demo/meetings --data "$data"
	for question in "What is the budget for Heron?" "What is the budget for Sandpiper?" "By when do I have to return the old laptop?"; do
		echo "$question"
		run ask "$question" --data "$data"
		run ask "$question" --data "$data" --bypass # from stored tensors
	done | tee "$work/$flavour.answers"
	grep -q '^\$' "$work/$flavour.answers" || {
		echo "$flavour: the budgets were not answered." >&2
		exit 1
	}
	run doctor --full --cache "$work/cache-$flavour" --data "$data" 2>/dev/null
	cmp "$work/$1.answers" "$work/$flavour.answers" || {
		echo "$flavour answers otherwise than $1." >&2
		exit 1
	}
done
[ $# -lt 2 ] || printf '\nThe same answers from: %s\n' "$*"
