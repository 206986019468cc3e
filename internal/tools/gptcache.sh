#!/bin/sh
# Installs GPTCache for make peer, in percached/gptcache-venv in the user's cache folder, and reuses
# it. It needs Python 3 with venv and pip, and takes half a minute (200 MiB). GPTCache installs what
# it lacks while it runs; these packages are all that the peer needs.
#
#	internal/tools/gptcache.sh          installs it
#	internal/tools/gptcache.sh where    prints its Python
set -eu
packages="gptcache==0.1.44 faiss-cpu==1.15.1 sqlalchemy==2.1.9"
venv=${XDG_CACHE_HOME:-$HOME/.cache}/percached/gptcache-venv
if [ "${1:-}" = where ]; then
	echo "$venv/bin/python3"
	exit 0
fi
if [ "$(cat "$venv/.installed" 2>/dev/null)" = "$packages" ]; then
	echo "GPTCache is already installed: $venv"
	exit 0
fi
python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "gptcache.sh needs Python 3 with venv and pip: apt-get install -y python3-venv python3-pip" >&2; exit 1; }
echo "Installing GPTCache and faiss-cpu from PyPI."
rm -rf "$venv"
mkdir -p "$(dirname "$venv")"
python3 -m venv "$venv"
# shellcheck disable=SC2086 # the packages are words
"$venv/bin/python3" -m pip install -q --only-binary=:all: --disable-pip-version-check --root-user-action=ignore $packages || {
	echo "pip cannot install $packages; is PyPI reachable?" >&2
	exit 1
}
echo "$packages" >"$venv/.installed"
echo "Installed $venv."
