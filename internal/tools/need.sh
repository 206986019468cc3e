#!/bin/sh
# Finds out whether Go and a C++ compiler are here. Prints the command that
# installs what is missing; a missing compiler is installed at once for root on
# Debian.
set -eu

cd "$(dirname "$0")/../.."
need=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' go.mod)
get=1.26.8 # the release to offer

go_command() {
	case "$(uname -s)" in
	Darwin) echo "brew install go" ;;
	*)
		case "$(uname -m)" in aarch64 | arm64) arch=arm64 ;; *) arch=amd64 ;; esac
		sudo=""
		[ "$(id -u)" = 0 ] || sudo="sudo "
		echo "curl -fsSL https://go.dev/dl/go$get.linux-$arch.tar.gz -o /tmp/go.tgz && ${sudo}rm -rf /usr/local/go && ${sudo}tar -C /usr/local -xzf /tmp/go.tgz"
		;;
	esac
}

missing() {
	printf '\npercached cannot be built yet: %s\nThis command helps:\n\n    %s\n\n' "$1" "$2" >&2
	exit 1
}

if ! command -v go >/dev/null; then
	missing "Go $need or newer is not installed." "$(go_command)"
fi
# With GOTOOLCHAIN=auto an older Go fetches the right one here.
have=$(go env GOVERSION) || missing "this Go cannot build a module that needs Go $need." "$(go_command)"
number=${have#go}
major=${number%%.*}
minor=${number#*.}
minor=${minor%%[!0-9]*}
case "$have" in
go[0-9]*)
	if [ "$major" -lt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -lt "${need#*.}" ]; }; then
		missing "Go $need or newer is needed, this is $have." "$(go_command)"
	fi
	;;
esac # a development version of Go names no number: let it try

cxx=$(go env CXX)
compiles() {
	# shellcheck disable=SC2086 # the flags are words
	echo '#include <vector>' | $cxx ${CGO_CXXFLAGS:-} -std=c++17 -x c++ -fsyntax-only - 2>&1
}
if ! why=$(compiles); then
	debian=false
	[ -e /etc/debian_version ] && command -v apt-get >/dev/null && debian=true
	if command -v "${cxx%% *}" >/dev/null; then
		echo "$why" >&2
		missing "$cxx does not compile C++17 with the flags '${CGO_CXXFLAGS:-}' (above)." \
			"make build CGO_CFLAGS=-O3 CGO_CXXFLAGS=-O3   # without this machine's own instructions: slower"
	fi
	case "$(uname -s)" in
	Darwin) missing "a C++ compiler is missing." "xcode-select --install" ;;
	esac
	if $debian && [ "$(id -u)" = 0 ]; then
		echo "A C++ compiler is missing. Installing it: apt-get install -y g++"
		if ! { DEBIAN_FRONTEND=noninteractive apt-get install -q -y g++ ||
			{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y g++; }; } </dev/null; then
			missing "the C++ compiler could not be installed." "apt-get update && apt-get install -y g++"
		fi
		if ! why=$(compiles); then
			echo "$why" >&2
			exit 1
		fi
	elif $debian; then
		missing "a C++ compiler is missing." "sudo apt-get install -y g++"
	elif command -v dnf >/dev/null; then
		missing "a C++ compiler is missing." "sudo dnf install -y gcc-c++"
	elif command -v pacman >/dev/null; then
		missing "a C++ compiler is missing." "sudo pacman -S --needed gcc"
	elif command -v apk >/dev/null; then
		missing "a C++ compiler is missing." "sudo apk add g++"
	else
		missing "a C++ compiler ($cxx) is missing." "(your system's package of g++)"
	fi
fi
