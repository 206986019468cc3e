#!/bin/sh
# Runs a release binary on this machine: as it is where the CPU is of its kind, else
# under qemu-user.
#
#	packaging/run.sh amd64|arm64 BINARY [ARGUMENT...]
set -eu

arch=$1
shift
case $arch:$(uname -m) in
amd64:x86_64 | arm64:aarch64 | arm64:arm64) exec "$@" ;;
amd64:*) emulator=qemu-x86_64 ;;
*) emulator=qemu-aarch64 ;;
esac
command -v "$emulator" >/dev/null || {
	printf '\n%s\n' "$emulator is missing, which runs binaries for $arch here: apt-get install -y qemu-user" >&2
	exit 1
}
exec "$emulator" "$@"
