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

# On Debian it is one package.
if ! browser >/dev/null && [ -e /etc/debian_version ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "Chromium is missing. Installing it: apt-get install -y chromium" >&2
	install() { DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium fonts-dejavu-core </dev/null; }
	{ install || { apt-get update -q </dev/null && install; }; } >&2 || true
fi
if ! CHROMIUM=$(browser); then
	echo "The page is NOT tested: there is no Chromium, and it cannot be installed here (on Debian: sudo apt-get install -y chromium)."
	exit 0
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
