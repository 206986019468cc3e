#!/bin/sh
# Tests percached's web page in a browser, on a new data folder. Its files are in build/page.
#
#	internal/tools/page.sh bin/percached            what `make page` does
#	internal/tools/page.sh bin/percached pictures   makes the pictures in docs/
set -eu

cd "$(dirname "$0")/../.."
ROOT=$PWD
case ${1:?name the percached binary to test} in
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
	sh internal/tools/need.sh chromium >&2 # or fails with the command that installs it
	if ! CHROMIUM=$(browser); then
		echo "Chromium is installed but was not found. Set CHROMIUM to its path." >&2
		exit 1
	fi
fi
export CHROMIUM

sh internal/tools/need.sh node >&2
to=build/page
mkdir -p "$to"
cp internal/tools/page/* internal/tools/page/.npmrc "$to"

# npm's cache avoids downloads for later clones.
if ! cmp -s "$to/package-lock.json" "$to/node_modules/.installed"; then
	echo "Downloading the packages that control the browser." >&2
	(cd "$to" && npm ci --prefer-offline --no-audit --no-fund --ignore-scripts --loglevel=error >&2)
	cp "$to/package-lock.json" "$to/node_modules/.installed"
fi

case ${2:-} in
pictures) exec node "$to/pictures.mjs" ;;
esac
exec node --test --test-reporter=spec "$to/page.test.mjs"
