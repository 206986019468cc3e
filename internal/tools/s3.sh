#!/bin/sh
# Installs moto, an S3 server for tests, in build/s3, and prints the path of its program:
#
#	TEST_S3_SERVER=$(sh internal/tools/s3.sh) go test ./internal/remotebackup
#
# If versitygw or moto_server is on the PATH, it prints that instead: go install github.com/versity/versitygw/cmd/versitygw@latest
set -eu

cd "$(dirname "$0")/../.."
command -v versitygw || command -v moto_server && exit
to=$PWD/build/s3
mkdir -p "$to"
want="moto[s3]==5.2.1 flask==3.1.3 flask-cors==6.0.2"
if [ "$(cat "$to/.installed" 2>/dev/null)" != "$want" ]; then
	echo "Downloading moto, an S3 server for tests." >&2
	rm -rf "$to/python"
	# shellcheck disable=SC2086 # the packages are words
	python3 -m pip install -q --no-compile --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target "$to/python" $want >&2
	cat >"$to/moto_server" <<END
#!/bin/sh
PYTHONPATH='$to/python' exec python3 -c 'from moto.server import main; main()' "\$@"
END
	chmod +x "$to/moto_server"
	echo "$want" >"$to/.installed"
fi
echo "$to/moto_server"
