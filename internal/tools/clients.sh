#!/bin/sh
# Generates TypeScript types from openapi.yaml and compiles a sample app against them, in\n# build/clients.
#
#	internal/tools/clients.sh           what `make clients` does
#	internal/tools/clients.sh openai    calls a percached with OpenAI's client;
#	                                    see openai.mjs for what it reads and prints
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

case ${1:-} in
openai) exec node "$to/openai.mjs" ;;
esac
"$to/node_modules/.bin/openapi-typescript" openapi.yaml --output "$to/percached.d.ts" >&2
(cd "$to" && node_modules/.bin/tsc --noEmit --project .)
