#!/bin/sh
# Builds the clients in clients/ from openapi.yaml, and runs the example of each against a daemon.
#
#	internal/tools/clients.sh bin/percached    what `make clients` does
#	internal/tools/clients.sh openai           calls a percached with clients made for OpenAI: its own,
#	                                           Vercel's AI SDK, LangChain, LlamaIndex; see openai.mjs
#
# Packages are downloaded once, into the caches of npm, pip and Maven. Lock files name their versions.
set -eu

cd "$(dirname "$0")/../.."
sh internal/tools/need.sh node >&2
sh internal/tools/need.sh python >&2
to=$PWD/build/clients
mkdir -p "$to"
export PYTHONDONTWRITEBYTECODE=1

# node_packages FOLDER installs the packages of its lock file.
node_packages() {
	if cmp -s "$1/package-lock.json" "$1/node_modules/.installed"; then return; fi
	echo "Downloading the Node.js packages of $1." >&2
	(cd "$1" && npm ci --prefer-offline --no-audit --no-fund --ignore-scripts --loglevel=error >&2)
	cp "$1/package-lock.json" "$1/node_modules/.installed"
}

pip() { python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts "$@" >&2; }

# python_packages LIST FOLDER installs the packages of a list into a folder.
python_packages() {
	if cmp -s "$1" "$2/.installed"; then return; fi
	echo "Downloading the Python packages of $1." >&2
	rm -rf "$2"
	pip --target "$2" -r "$1"
	cp "$1" "$2/.installed"
}

cp internal/tools/clients/* internal/tools/clients/.npmrc "$to"
node_packages "$to"
python_packages internal/tools/clients/requirements.txt "$to/python"

case ${1:?name the percached binary} in
openai)
	node "$to/openai.mjs"
	node "$to/vercel.mjs"
	PYTHONPATH="$to/python" exec python3 "$to/chat.py"
	;;
esac

sh internal/tools/need.sh java >&2

# The daemon, with no settings of the user who runs this.
for name in $(env | sed -n 's/^\(PERCACHED_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
data=$(mktemp -d)
daemon='' kotlin=''
end() {
	[ -z "$kotlin" ] || kill "$kotlin" 2>/dev/null || :
	[ -z "$daemon" ] || { kill "$daemon" 2>/dev/null && wait "$daemon" || :; }
	rm -rf "$data"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
PERCACHED_IDLE_AFTER=1h "$1" serve --data "$data/data" --listen 127.0.0.1:0 >"$data/log" 2>&1 &
daemon=$!
until [ -s "$data/data/address" ] && [ -s "$data/data/token" ]; do
	kill -0 "$daemon" 2>/dev/null || { cat "$data/log" >&2 && exit 1; }
	sleep 0.1
done
PERCACHED_URL=$(cat "$data/data/address")
PERCACHED_TOKEN=$(cat "$data/data/token")
export PERCACHED_URL PERCACHED_TOKEN
ready='fetch(process.env.PERCACHED_URL + "/readyz").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))'
until node -e "$ready"; do
	kill -0 "$daemon" 2>/dev/null || { cat "$data/log" >&2 && exit 1; }
	sleep 0.1
done

# The Kotlin client takes longest, so it is built beside the others, and only if it changed.
kotlin_client() {
	cd clients/kotlin
	key=$(cat ../../openapi.yaml pom.xml $(find src -name '*.kt' | sort) | cksum)
	goals="clean test-compile"
	[ "$(cat target/.built 2>/dev/null)" != "$key" ] || goals=""
	# shellcheck disable=SC2086 # the goals are words
	mvn -q -B -ntp -Dstyle.color=never $goals exec:java
	echo "$key" >target/.built
}
kotlin_client >"$data/kotlin" 2>&1 &
kotlin=$!

echo "Go:"
sh internal/tools/go.sh build -o "$to/go" ./clients/go
"$to/go"

echo "TypeScript:"
node_packages clients/typescript
(cd clients/typescript && npm run -s build >&2 && npm run -s example)

echo "Python:"
python_packages clients/python/requirements.txt "$to/python-build"
rm -rf "$to/python-client"
PYTHONPATH="$to/python-build" pip --no-index --no-deps --no-build-isolation --no-compile --target "$to/python-client" ./clients/python
PYTHONPATH="$to/python-client:$to/python-build" python3 clients/python/example.py

echo "Kotlin:"
if ! wait "$kotlin"; then
	kotlin=''
	cat "$data/kotlin" >&2
	exit 1
fi
kotlin=''
sed -n "/^answer:/,/^deleted/p" "$data/kotlin" # without the banner of the generator
