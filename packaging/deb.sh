#!/bin/sh
# Makes a Debian package of build/release/ARCH/percached, in build/release.
#
#	packaging/deb.sh amd64|arm64 VERSION
set -eu

arch=${1:?for which architecture?}
version=${2:?of which version?}
cd "$(dirname "$0")/.."
# What stands behind the first - comes before the release of that name.
version=$(echo "$version" | sed 's/-/~/; s/-/./g')
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
maintainer="${DEBFULLNAME:-percached} <${DEBEMAIL:-packages@percached.invalid}>"
from=build/release/$arch
to=build/release/percached_${version}_$arch.deb
command -v dpkg-deb >/dev/null || {
	printf '\n%s\n' "dpkg-deb is missing: apt-get install -y dpkg" >&2
	exit 1
}

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
umask 022
chmod 755 "$root"

# put FILE PLACE [MODE]
put() { install -D -m "${3:-644}" "$1" "$root/$2"; }
# pack FILE PLACE: compressed, as documents are there
pack() {
	mkdir -p "$root/$(dirname "$2")"
	gzip -9n <"$1" >"$root/$2"
}

echo "$arch: packing $to."
doc=usr/share/doc/percached
put "$from/percached" usr/bin/percached 755
put packaging/percached.conf etc/percached/percached.conf
put packaging/percached.service usr/lib/systemd/system/percached.service
put packaging/percached.user.service usr/lib/systemd/user/percached.service
put packaging/debian/sysusers.conf usr/lib/sysusers.d/percached.conf
put packaging/debian/copyright $doc/copyright
put packaging/debian/lintian-overrides usr/share/lintian/overrides/percached
put NOTICE $doc/NOTICE
put README.md $doc/README.md
for page in docs/*.md; do
	put "$page" "$doc/$page"
done
put docs/grafana.json $doc/docs/grafana.json
put packaging/prometheus/percached.rules.yml $doc/packaging/prometheus/percached.rules.yml
put openapi.yaml $doc/openapi.yaml
pack "$from/THIRD-PARTY" $doc/THIRD-PARTY.gz
pack CHANGELOG.md $doc/CHANGELOG.md.gz
pack packaging/percached.1 usr/share/man/man1/percached.1.gz
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
printf 'percached (%s) unstable; urgency=medium\n\n  * CHANGELOG.md.gz tells what is new.\n\n -- %s  %s\n' \
	"$version" "$maintainer" "$date" | gzip -9n >"$root/$doc/changelog.gz"
chmod 644 "$root/$doc/changelog.gz"

completion() {
	mkdir -p "$(dirname "$root/$2")"
	sh packaging/run.sh "$arch" "$from/percached" completion "$1" >"$root/$2"
}
completion bash usr/share/bash-completion/completions/percached
completion zsh usr/share/zsh/vendor-completions/_percached
completion fish usr/share/fish/vendor_completions.d/percached.fish

mkdir "$root/DEBIAN"
for script in postinst prerm postrm; do
	put packaging/debian/$script DEBIAN/$script 755
done
put packaging/debian/templates DEBIAN/templates
echo /etc/percached/percached.conf >"$root/DEBIAN/conffiles"
size=$(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
cat >"$root/DEBIAN/control" <<EOF
Package: percached
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $size
Pre-Depends: init-system-helpers (>= 1.54~)
Depends: systemd | systemd-standalone-sysusers | systemd-sysusers, debconf (>= 0.5) | debconf-2.0
Recommends: ca-certificates
Section: utils
Priority: optional
Homepage: https://github.com/percached/percached
Description: answers over your own documents, from work done before
 percached answers questions over a person's own documents (mail, meeting
 transcripts, notes) with a language model that runs on the same device.
 .
 Such questions resemble each other and come seldom, so it reuses work at every
 stage: answers given before, and the attention tensors of text that the model
 has read before. While the device is idle, it works out what is likely to be
 asked and gets that ready.
 .
 The package has a system service and a user service, and starts neither. Both
 listen on 127.0.0.1.
EOF
(cd "$root" && find etc usr -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$root" "$to" >/dev/null
