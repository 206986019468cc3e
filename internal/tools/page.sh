#!/bin/sh
# Tests the page of a percached in a browser: it is run on a data folder of its own,
# and used as a person would. What it takes stays in build/page.
#
#	internal/tools/page.sh bin/percached            what `make page` does
#	internal/tools/page.sh bin/percached pictures   makes the pictures in docs/
set -eu

cd "$(dirname "$0")/../.."
ROOT=$PWD
case ${1:?which percached is to be tested} in
/*) PERCACHED=$1 ;;
*) PERCACHED=$ROOT/$1 ;;
esac
export ROOT PERCACHED

browser() {
	for name in ${CHROMIUM:-} chromium chromium-browser google-chrome google-chrome-stable; do
		if command -v "$name"; then return; fi
	done
	return 1
}

if ! CHROMIUM=$(browser); then
	sh internal/tools/need.sh chromium >&2 # or it fails, and names the command that installs it
	if ! CHROMIUM=$(browser); then
		echo "Chromium was installed and is not found: set CHROMIUM to its path." >&2
		exit 1
	fi
fi
export CHROMIUM

sh internal/tools/need.sh node >&2
to=build/page
mkdir -p "$to"
cp internal/tools/page/* internal/tools/page/.npmrc "$to"

# npm's own cache keeps packages over clones: with it, nothing is fetched.
if ! cmp -s "$to/package-lock.json" "$to/node_modules/.installed"; then
	echo "Fetching what steers the browser." >&2
	(cd "$to" && npm ci --prefer-offline --no-audit --no-fund --ignore-scripts --loglevel=error >&2)
	cp "$to/package-lock.json" "$to/node_modules/.installed"
fi

case ${2:-} in
pictures) exec node "$to/pictures.mjs" ;;
esac
exec node --test --test-reporter=spec "$to/page.test.mjs"
