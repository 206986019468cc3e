#!/bin/sh
# Makes releases of the commit at hand, in build/release: for each kind of machine
# an archive with the binary and what belongs to it, Debian packages, SHA256SUMS.
#
#	packaging/release.sh [amd64|arm64|arm64-v8.2|all] [VERSION]
#
# The same commit, version, Go and C++ compiler give the same bits. See build.sh for
# the kinds of machine and the version, docs/packaging.md for all else.
set -eu

cd "$(dirname "$0")/.."
case ${1:-all} in
all) flavours="amd64 arm64 arm64-v8.2" ;;
*) flavours=$1 ;;
esac
to=build/release
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for flavour in $flavours; do
	binary=$to/$flavour/percached
	sh packaging/build.sh "$flavour" "$binary" "${2:-}"

	rm -f "$to"/percached-*-linux-"$flavour".tar.gz "$to"/percached_*_"$flavour".deb
	echo "$flavour: collecting the licences of what the binary contains."
	sh packaging/licences.sh "$binary" >"$to/$flavour/THIRD-PARTY"

	version=$(go version -m "$binary" | awk '$1 == "mod" { print substr($3, 2) }')
	name=percached-$version-linux-$flavour
	echo "$flavour: packing $name.tar.gz."
	mkdir "$work/$name"
	cp "$binary" "$to/$flavour/THIRD-PARTY" LICENSE NOTICE README.md CHANGELOG.md packaging/percached.service packaging/percached.user.service \
		packaging/percached.conf packaging/percached.1 "$work/$name"
	chmod 644 "$work/$name"/* && chmod 755 "$work/$name" "$work/$name/percached"
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$to/$name.tar.gz"

	# Debian runs on every 64-bit ARM: its package has the binary for all of them.
	case $flavour in
	amd64 | arm64) sh packaging/deb.sh "$flavour" "$version" ;;
	esac
done

cd "$to"
set -- *.tar.gz
for package in *.deb; do
	[ ! -e "$package" ] || set -- "$@" "$package" # not every kind has one
done
sha256sum -- "$@" >SHA256SUMS
echo "In $to:"
ls -l -- "$@" SHA256SUMS
