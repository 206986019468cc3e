#!/bin/sh
# Compiles the commit at hand for one kind of machine, without anything of this
# machine's own in it.
#
#	packaging/build.sh amd64|arm64|arm64-v8.2 FILE [VERSION]
#
# FILE is the binary to write. The version comes from git: VERSION (as in 1.2.3),
# else the tag of the commit, else one that go makes of the commit's time and name.
set -eu

flavour=${1:?which? amd64, arm64 or arm64-v8.2}
to=${2:?to which file?}
version=${3:-}
cd "$(dirname "$0")/.."
case $to in /*) ;; *) to=$PWD/$to ;; esac

fail() {
	printf '\n%s\n' "$1" >&2
	exit 1
}

# What a CPU must have:
# - x86-64-v3 (AVX2, FMA): Intel since 2013, AMD since 2015, but for the smallest.
# - armv8-a: every 64-bit ARM, the Raspberry Pi 3 and 4 too, which lack dotprod.
# - armv8.2-a with dotprod and fp16: phones since about 2018, the Raspberry Pi 5,
#   ARM laptops and servers. llama.cpp computes quantised models with them.
case $flavour in
amd64) arch=amd64 march=x86-64-v3 triple=x86_64-linux-gnu package=x86-64-linux-gnu ;;
arm64) arch=arm64 march=armv8-a triple=aarch64-linux-gnu package=aarch64-linux-gnu ;;
arm64-v8.2) arch=arm64 march=armv8.2-a+dotprod+fp16 triple=aarch64-linux-gnu package=aarch64-linux-gnu ;;
*) fail "There is no release for $flavour: amd64, arm64 or arm64-v8.2." ;;
esac

version=${version#v}
[ -z "$version" ] || echo "$version" | grep -Eq '^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-[0-9A-Za-z.-]+)?$' ||
	fail "$version is no version as 1.2.3 or 1.2.3-rc.1 are."
command -v git >/dev/null || fail "git is missing: apt-get install -y git"
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
if [ "$(go env GOHOSTARCH)" = $arch ]; then
	export CC=gcc CXX=g++
	compilers="gcc g++"
else
	export CC=$triple-gcc CXX=$triple-g++
	compilers="gcc-$package g++-$package"
fi
for tool in $CC $CXX; do
	command -v "$tool" >/dev/null || fail "$tool is missing, the compiler for $arch: apt-get install -y $compilers"
done
command -v readelf >/dev/null || fail "readelf is missing: apt-get install -y binutils"

# A clone holds the commit alone, and go finds the version in it.
commit=$(git rev-parse --verify HEAD)
[ -z "$(git status --porcelain)" ] || echo "There are changes that are not committed: they are not in this build." >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
git clone -q --no-checkout . "$work/percached"
git -C "$work/percached" checkout -q --detach "$commit"
[ -z "$version" ] || git -C "$work/percached" tag -f "v$version" >/dev/null

# What ld says of dlopen is true and does not matter: ggml could load kernels from
# files, and is never asked to.
echo "$flavour: compiling $(git rev-parse --short=12 HEAD) with $CC $($CC -dumpfullversion) -O3 -march=$march."
mkdir -p "$(dirname "$to")"
export GOFLAGS=-mod=readonly GOOS=linux GOARCH=$arch GOAMD64=v3 GOARM64=v8.0 CGO_ENABLED=1
export CGO_CFLAGS="-O3 -march=$march" CGO_CXXFLAGS="-O3 -march=$march" CGO_CPPFLAGS='' CGO_LDFLAGS=''
# Static, as glibc lets it be: names and users are looked up in Go, and time zones
# are brought along, so nothing is loaded at run time.
(cd "$work/percached" && sh internal/tools/go.sh build -trimpath -buildvcs=true -tags netgo,osusergo,timetzdata \
	-ldflags '-s -w -buildid= -linkmode external -extldflags "-static"' -o "$to" ./cmd/percached)

readelf -d "$to" | grep -q NEEDED && fail "$to needs shared libraries:
$(readelf -d "$to" | grep NEEDED)"
echo "$flavour: $to has $(wc -c <"$to") bytes, needs no shared library, and is $(go version -m "$to" | awk '$1 == "mod" { print $3 }')."
