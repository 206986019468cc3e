#!/bin/sh
# Builds a current llama.cpp for make peer and make system: llama-server, and libllama with headers\n# and llama.pc. The result is in percached/llama.cpp-0.3.36 in the user's cache folder and is reused.\n# The source comes with the Python package llama-cpp-python. The build needs Python 3 with pip, cmake\n# and a C++ compiler, and takes 6 minutes on 2 cores.
#
#	internal/tools/llama.sh          builds it
#	internal/tools/llama.sh where    prints the folder
set -e
version=0.3.36
llama=0.5.0 # the version of llama.cpp in it
sum=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
prefix=${XDG_CACHE_HOME:-$HOME/.cache}/percached/llama.cpp-$version
if [ "${1:-}" = where ]; then
	echo "$prefix"
	exit 0
fi
# pc writes llama.pc for a prefix.
pc() {
	mkdir -p "$1/lib/pkgconfig"
	cat >"$1/lib/pkgconfig/llama.pc" <<-END
		prefix=$prefix
		libdir=\${prefix}/lib
		includedir=\${prefix}/include

		Name: llama
		Description: llama.cpp as percached's tests build it
		Version: $llama
		Libs: -L\${libdir} -lggml -lggml-base -lllama
		Cflags: -I\${includedir}
	END
}
if [ -x "$prefix/bin/llama-server" ]; then
	[ -e "$prefix/lib/pkgconfig/llama.pc" ] || pc "$prefix"
	echo "llama.cpp is already built: $prefix"
	exit 0
fi
for tool in python3 cmake c++ sha256sum; do
	command -v "$tool" >/dev/null || { echo "llama.sh needs $tool: apt-get install python3-pip cmake g++ coreutils" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "Downloading llama-cpp-python $version (73 MiB)."
python3 -m pip download -q --no-deps --no-binary llama-cpp-python --dest "$work" "llama-cpp-python==$version"
archive=$work/llama_cpp_python-$version.tar.gz
echo "$sum  $archive" | sha256sum -c - >/dev/null || { echo "the downloaded source has a wrong checksum; nothing was built" >&2; exit 1; }
tar -xzf "$archive" -C "$work" "llama_cpp_python-$version/vendor/llama.cpp"
echo "Building llama.cpp. This takes minutes."
cmake -S "$work/llama_cpp_python-$version/vendor/llama.cpp" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
	-DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_RPATH="$prefix/lib" -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DLLAMA_BUILD_IS_DEV=OFF \
	-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF >"$work/cmake.log" 2>&1 || { tail -20 "$work/cmake.log" >&2; exit 1; }
cmake --build "$work/build" --parallel "${JOBS:-$(nproc)}" --target llama-server >"$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; exit 1; }
mkdir -p "$work/prefix/bin" "$work/prefix/lib" "$work/prefix/include"
cp -R "$work/build/bin/"*.so* "$work/prefix/lib/"
cp "$work/build/bin/llama-server" "$work/prefix/bin/"
cp "$work/llama_cpp_python-$version/vendor/llama.cpp/include/"*.h "$work/llama_cpp_python-$version/vendor/llama.cpp/ggml/include/"*.h "$work/prefix/include/"
pc "$work/prefix"
mkdir -p "$(dirname "$prefix")"
mv "$work/prefix" "$prefix"
echo "Built $prefix/bin/llama-server."
