#!/bin/sh
# Checks openapi.yaml with redocly and spectral, and tries a percached with schemathesis: each
# response must be one that openapi.yaml describes. Its files are in build/spec.
#
#	internal/tools/spec.sh bin/percached        what `make spec` does, in a minute
#	internal/tools/spec.sh bin/percached 600    tries for 600 seconds
set -eu

cd "$(dirname "$0")/../.."
PERCACHED=$PWD/${1:?name the percached binary to test}
sh internal/tools/need.sh node >&2
to=$PWD/build/spec
mkdir -p "$to"
cp internal/tools/spec/* internal/tools/spec/.npmrc "$to"

# npm's cache avoids downloads for later clones, and so does pip's.
if ! cmp -s "$to/package-lock.json" "$to/node_modules/.installed"; then
	echo "Downloading the linters of openapi.yaml." >&2
	(cd "$to" && npm ci --prefer-offline --no-audit --no-fund --ignore-scripts --loglevel=error >&2)
	cp "$to/package-lock.json" "$to/node_modules/.installed"
fi
if ! cmp -s "$to/requirements.txt" "$to/python/.installed"; then
	echo "Downloading schemathesis." >&2
	rm -rf "$to/python"
	python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target "$to/python" -r "$to/requirements.txt" >&2
	cp "$to/requirements.txt" "$to/python/.installed"
fi

REDOCLY_TELEMETRY=off "$to/node_modules/.bin/redocly" lint --max-problems=100 --format=stylish openapi.yaml >"$to/redocly.log" 2>&1 && ! grep -q ' warning ' "$to/redocly.log" ||
	{ cat "$to/redocly.log" && exit 1; }
"$to/node_modules/.bin/spectral" lint --fail-severity=hint --ruleset "$to/spectral.yaml" openapi.yaml >&2
PYTHONPATH="$to/python" exec python3 "$to/try.py" "$PERCACHED" "$PWD/openapi.yaml" "$to" "${2:-30}"
