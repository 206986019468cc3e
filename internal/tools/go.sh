#!/bin/sh
# Runs go with readable output: it prints a line every 15 seconds while C++ compiles or tests run,\n# and hides compiler warnings of llama.cpp, which is not our code. It keeps errors and the exit status.
#
#	internal/tools/go.sh build ./...
set -u

dir=$(mktemp -d) || exit 1
watch=
end() {
	[ -z "$watch" ] || kill "$watch" 2>/dev/null
	rm -rf "$dir"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# While C++ compiles, the work folder of go build fills with object files. Their number shows the\n# progress; a cached build has none.
tell() {
	second=0 next=5 told=false began=false
	while sleep 1 >/dev/null 2>&1; do
		second=$((second + 1))
		[ "$second" -ge "$next" ] || continue
		next=$((next + 15))
		if [ "$1" = test ]; then
			[ "$second" -lt 15 ] || echo "  $second s: tests are running"
			continue
		fi
		count=$(find "$dir/work" -name '*.o' 2>/dev/null | wc -l)
		if [ "$count" -le 10 ]; then
			[ "$second" -lt 15 ] || $began || echo "  $second s: compiling Go"
			[ "$second" -lt 15 ] || began=true
			continue
		fi
		case ${GOFLAGS:-} in *system_llama*) told=true ;; esac # llama.cpp is not compiled
		$told || echo "  compiling llama.cpp from source: 2 to 3 minutes on 2 cores, once"
		told=true
		echo "  $second s: $((count)) C and C++ files done"
	done
}

# Passes on go's output, except about ollama's packages.
pass() {
	vendor=false
	while IFS= read -r line; do
		case $line in
		"# github.com/ollama/ollama/"*) vendor=true ;;
		"# "*) vendor=false ;;
		esac
		case $vendor:$line in
		false:* | true:"go: "*) printf '%s\n' "$line" ;;
		esac
	done
}

if [ "${1:-}" = build ]; then
	mkdir "$dir/work"
	export GOTMPDIR="$dir/work"
fi
case ${1:-} in
build | test)
	tell "$1" >&2 &
	watch=$!
	;;
esac
{
	go "$@" 2>&1 >&3
	echo $? >"$dir/status"
} 3>&1 | tee "$dir/log" | pass >&2
status=$(cat "$dir/status" 2>/dev/null || echo 1)

# On failure, show the hidden output that contains an error.
if [ "$status" -ne 0 ]; then
	awk '
		function flush() { if (vendor && bad) printf "%s", block; block = ""; bad = 0 }
		/^# / { flush(); vendor = /^# github\.com\/ollama\/ollama\// }
		vendor && /error|fatal|undefined|[Kk]illed|not found|No space/ { bad = 1 }
		{ block = block $0 "\n" }
		END { flush() }
	' "$dir/log" >&2
fi
exit "$status"
