#!/bin/sh
# Shows the main job on the built-in models and the invented inbox: sh demo.sh bin/percached
set -e
percached=$1
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT INT TERM

run() {
	printf '\n$ percached'
	for word; do
		case $word in
		*[!a-zA-Z0-9./=_-]*) printf ' "%s"' "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	echo
	"$percached" "$@" --data "$data/percached"
}

echo
echo "Documents in: 62 mails and 3 meetings of an invented life."
run add models/demo/inbox.mbox models/demo/meetings

echo
echo "A question for the first time: the model reads three chunks."
run ask "What is the budget for Heron?" --explain

echo
echo "The same question again: the stored answer, and why it may be given."
run ask "what is the budget for heron" --explain

echo
echo "In other words."
run ask "Please tell me, what is the budget for Heron?" --explain

echo
echo "Past the stored answer: the chunks' tensors are loaded, and only the question is computed."
run ask "What is the budget for Heron?" --bypass --explain

echo
echo "A question that differs in a name gets no answer of another's."
run ask "What is the budget for Sandpiper?" --explain

echo
echo "The mail is deleted. Nothing that was made from it stays; the built-in model, which is tiny,"
echo "then answers from what is left, rightly or not."
id=$("$percached" documents list --data "$data/percached" | sed -n 's/^\([0-9a-f]*\) .*Heron: you are leading it.*/\1/p')
run documents delete "$id"
run ask "What is the budget for Heron?" --explain
