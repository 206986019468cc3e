#!/bin/sh
# Generates TypeScript types from openapi.yaml and compiles a sample app against them, in\n# build/clients.
#
#	internal/tools/clients.sh           what `make clients` does
#	internal/tools/clients.sh openai    calls a percached with clients made for OpenAI: its own, Vercel's AI
#	                                    SDK, LangChain, LlamaIndex; see openai.mjs for what they read
set -eu

cd "$(dirname "$0")/../.."
sh internal/tools/need.sh node >&2
to=build/clients
mkdir -p "$to"
cp internal/tools/clients/* internal/tools/clients/.npmrc "$to"

# npm's cache avoids downloads for later clones.
if ! cmp -s "$to/package-lock.json" "$to/node_modules/.installed"; then
	echo "Downloading the packages of the clients." >&2
	(cd "$to" && npm ci --prefer-offline --no-audit --no-fund --ignore-scripts --loglevel=error >&2)
	cp "$to/package-lock.json" "$to/node_modules/.installed"
fi

if ! cmp -s "$to/requirements.txt" "$to/python/.installed"; then
	echo "Downloading the Python packages of the clients." >&2
	rm -rf "$to/python"
	python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target "$to/python" -r "$to/requirements.txt" >&2
	cp "$to/requirements.txt" "$to/python/.installed"
fi

case ${1:-} in
openai)
	node "$to/openai.mjs"
	node "$to/vercel.mjs"
	PYTHONPATH="$to/python" exec python3 "$to/chat.py"
	;;
esac
"$to/node_modules/.bin/openapi-typescript" openapi.yaml --output "$to/percached.d.ts" >&2
(cd "$to" && node_modules/.bin/tsc --noEmit --project .)
