#!/bin/sh
# Checks for build tools: Go and a C++ compiler by default; Node.js and npm with "node"; a JDK and Maven
# with "java"; Python and pip with "python"; an installed llama.cpp with "llama". With "chromium" it
# installs Chromium. For a missing tool it prints the command that installs it. For root on Debian it
# installs a compiler, Node.js, a JDK or Chromium itself.
set -eu

cd "$(dirname "$0")/../.."
need=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' go.mod)
get=1.26.8 # the release in the install command
node=18    # the oldest supported Node.js
goal="Cannot build percached"

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
	printf '\n%s: %s\nTo fix this, run:\n\n    %s\n\n' "$goal" "$1" "$2" >&2
	exit 1
}

# install NAME MACOS DEBIAN FEDORA ARCH ALPINE installs packages. MACOS is a command.
install() {
	case "$(uname -s)" in
	Darwin) missing "$1 is missing." "$2" ;;
	esac
	if [ -e /etc/debian_version ] && command -v apt-get >/dev/null; then
		[ "$(id -u)" = 0 ] || missing "$1 is missing." "sudo apt-get install -y $3"
		echo "$1 is missing. Installing it: apt-get install -y $3"
		# shellcheck disable=SC2086 # the packages are words
		if ! { DEBIAN_FRONTEND=noninteractive apt-get install -q -y $3 ||
			{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y $3; }; } </dev/null; then
			missing "$1 could not be installed." "apt-get update && apt-get install -y $3"
		fi
	elif command -v dnf >/dev/null; then
		missing "$1 is missing." "sudo dnf install -y $4"
	elif command -v pacman >/dev/null; then
		missing "$1 is missing." "sudo pacman -S --needed $5"
	elif command -v apk >/dev/null; then
		missing "$1 is missing." "sudo apk add $6"
	else
		missing "$1 is missing." "(your system's packages: $3)"
	fi
}

if [ "${1:-}" = node ]; then
	goal="Cannot build the clients"
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		install "Node.js" "brew install node" "nodejs npm" "nodejs npm" "nodejs npm" "nodejs npm"
	fi
	have=$(node --version)
	number=${have#v}
	if [ "${number%%.*}" -lt "$node" ]; then
		missing "Node.js $node or newer is required; $have is installed." "see https://nodejs.org/en/download"
	fi
	exit
fi

if [ "${1:-}" = java ]; then
	goal="Cannot build the Kotlin client"
	# java without javac is a runtime alone; macOS has a stub that fails.
	if ! javac -version >/dev/null 2>&1 || ! command -v mvn >/dev/null; then
		install "A JDK, or Maven," "brew install openjdk maven" "--no-install-recommends default-jdk-headless maven" "java-17-openjdk-devel maven" "jdk17-openjdk maven" "openjdk17 maven"
	fi
	exit
fi

if [ "${1:-}" = python ]; then
	goal="Cannot build the Python client"
	if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
		missing "Python 3.11 or newer is required." "see https://www.python.org/downloads"
	fi
	if ! python3 -m pip --version >/dev/null 2>&1; then
		install "pip" "python3 -m ensurepip" python3-pip python3-pip python-pip py3-pip
	fi
	exit
fi

# The range of llm/llamacpp/system.h. Versions were 0.0.BUILD before 0.1.
llama_first=0.0.7500
llama_behind=0.6

if [ "${1:-}" = llama ]; then
	goal="Cannot build percached with LLAMA=system"
	if ! command -v pkg-config >/dev/null; then
		install "pkg-config, which finds libllama," "brew install pkgconf" pkg-config pkgconf-pkg-config pkgconf pkgconf
	fi
	if ! pkg-config --exists llama; then
		own=$(sh internal/tools/llama.sh where)
		what="pkg-config cannot find llama.pc, so libllama cannot be linked."
		if [ -e "$own/lib/pkgconfig/llama.pc" ]; then
			missing "$what" "PKG_CONFIG_PATH=$own/lib/pkgconfig make build LLAMA=system"
		elif [ "$(uname -s)" = Darwin ]; then
			missing "$what" "brew install llama.cpp"
		elif command -v apt-cache >/dev/null && apt-cache show libllama-dev >/dev/null 2>&1; then
			missing "$what" "sudo apt-get install -y libllama-dev"
		fi
		missing "$what Install llama.cpp (cmake --install) and name its folder, as below;
or build one for the CPU, in minutes: sh internal/tools/llama.sh" \
			"PKG_CONFIG_PATH=/usr/local/lib/pkgconfig make build LLAMA=system"
	fi
	have=$(pkg-config --modversion llama)
	if ! pkg-config --atleast-version=$llama_first llama || pkg-config --atleast-version=$llama_behind llama; then
		missing "llama.cpp $have is installed; versions from $llama_first to below $llama_behind are supported." \
			"PKG_CONFIG_PATH=FOLDER/lib/pkgconfig make build LLAMA=system   # FOLDER: where another version is installed"
	fi
	exit
fi

if [ "${1:-}" = chromium ]; then
	goal="Cannot test the web page"
	install "Chromium" "brew install --cask chromium" "--no-install-recommends chromium fonts-dejavu-core" chromium chromium chromium
	exit
fi

if ! command -v go >/dev/null; then
	missing "Go $need or newer is not installed." "$(go_command)"
fi
# With GOTOOLCHAIN=auto an older Go downloads the required one.
have=$(go env GOVERSION) || missing "this Go cannot build a module that needs Go $need." "$(go_command)"
number=${have#go}
major=${number%%.*}
minor=${number#*.}
minor=${minor%%[!0-9]*}
case "$have" in
go[0-9]*)
	if [ "$major" -lt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -lt "${need#*.}" ]; }; then
		missing "Go $need or newer is required; $have is installed." "$(go_command)"
	fi
	;;
esac # a development version of Go has no number; accept it

cxx=$(go env CXX)
compiles() {
	# shellcheck disable=SC2086 # the flags are words
	echo '#include <vector>' | $cxx ${CGO_CXXFLAGS:-} -std=c++17 -x c++ -fsyntax-only - 2>&1
}
if ! why=$(compiles); then
	if command -v "${cxx%% *}" >/dev/null; then
		echo "$why" >&2
		missing "$cxx does not compile C++17 with the flags '${CGO_CXXFLAGS:-}' (above)." \
			"make build CGO_CFLAGS=-O3 CGO_CXXFLAGS=-O3   # without this machine's own instructions: slower"
	fi
	install "A C++ compiler" "xcode-select --install" g++ gcc-c++ gcc g++
	if ! why=$(compiles); then
		echo "$why" >&2
		exit 1
	fi
fi
