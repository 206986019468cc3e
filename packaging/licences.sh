#!/bin/sh
# Prints the licences of the Go modules in a binary, of Go itself, and of the C
# libraries that a release is linked with.
#
#	packaging/licences.sh BINARY
set -eu

binary=${1:?of which binary?}
cat <<'EOF'
What the binary percached contains beside percached itself. NOTICE tells of
llama.cpp, ggml and the models.

It is linked with the GNU C Library (LGPL 2.1 or later, https://sourceware.org/glibc)
and with libgcc and libstdc++ (GPL 3 with the GCC Runtime Library Exception,
https://gcc.gnu.org). To link percached with another version of them, build it from
its source: packaging/build.sh holds the commands.
EOF
{
	echo "Go $(go env GOROOT)"
	# The modules of the binary, at the place where go keeps their source.
	go version -m "$binary" | awk '$1 == "dep" { print $2 "@" $3 }' | LC_ALL=C sort | while read -r module; do
		echo "$module $(go list -m -f '{{.Dir}}' "${module%@*}")"
	done
} | while read -r module dir; do
	printf '\n\n---- %s ----\n' "$module"
	found=false
	for file in "$dir"/LICEN[CS]E* "$dir"/COPYING* "$dir"/NOTICE*; do
		[ -f "$file" ] || continue
		found=true
		echo
		cat "$file"
	done
	$found || {
		echo "There is no licence in $module." >&2
		exit 1
	}
done
