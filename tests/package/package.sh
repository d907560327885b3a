#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# package.sh SOURCE BUILD CMAKE CC CXX PYTHON - installs a build, moves it, and uses it in every way a user would:
# CMake's find_package, pkg-config from C++17, ctypes, the fovea program, the README's example; and as a subdirectory.
set -eu
source=$1 build=$2 cmake=$3 cc=$4 cxx=$5 python=$6
here=$source/tests/package
work=$build/package
rm -rf "$work"
mkdir -p "$work"
step() { printf '== %s\n' "$*"; }
fail() { echo "FAIL $*"; exit 1; }
unset FOVEA_ISA FOVEA_PIN FOVEA_EXCLUDE LD_LIBRARY_PATH || true

# configure DIRECTORY PROJECT [ARGUMENTS]: configures and builds, quietly unless it fails.
configure() {
    directory=$1 project=$2
    shift 2
    if ! { "$cmake" -S "$project" -B "$directory" -DCMAKE_C_COMPILER="$cc" "$@" &&
        "$cmake" --build "$directory" -j2; } >"$directory.log" 2>&1; then
        tail -30 "$directory.log"
        fail "$project"
    fi
}
# pkg-config for what is in libdir, and for nothing else: who only links fovea may lack the .pc files of what it uses.
installed() {
    PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$libdir/pkgconfig pkg-config "$@"
}
run_examples() {
    "$1/gemm" && "$1/attention"
}

step "install, and move"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mkdir "$work/elsewhere"
mv "$work/first" "$work/elsewhere/prefix"
prefix=$work/elsewhere/prefix
library=$(find "$prefix" -name 'libfovea.so')
[ -n "$library" ] || fail "no libfovea.so"
libdir=$(dirname "$library")
grep -rlF -e "$work/first" -e "$source" -e "$build" "$libdir/cmake" "$libdir/pkgconfig" "$prefix/include" &&
    fail "installed files name folders of the build"
[ -f "$prefix/include/fovea/fovea.h" ] || fail "no headers"

step "find_package"
configure "$work/find" "$here/find" -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLES="$source/examples"
run_examples "$work/find"

step "pkg-config, C++17"
"$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -o "$work/consumer" "$here/consumer.cc" \
    $(installed --cflags --libs fovea) -Wl,-rpath,"$libdir"
"$work/consumer"

step "Python's ctypes"
"$python" "$here/gemm.py" "$library"

step "the README's first C example"
sed -n '/^```c$/,/^```$/p' "$source/README.md" 2>/dev/null | sed '1d;/^```$/,$d' >"$work/readme.c" || true
if [ -s "$work/readme.c" ]; then
    "$cc" -Wall -Wextra -Werror -o "$work/readme" "$work/readme.c" $(installed --cflags --libs fovea) \
        -Wl,-rpath,"$libdir"
    "$work/readme"
else
    echo "skip: README.md has no C example"
fi

if [ -x "$prefix/bin/fovea" ]; then
    step "the installed program, from another folder"
    (cd / && "$prefix/bin/fovea" --version && "$prefix/bin/fovea" run g2p hello) | tee "$work/words"
    grep -q "^hello$(printf '\t')." "$work/words" || fail "no phonemes"
fi

step "a subdirectory, static; what it installs is found again"
configure "$work/subdirectory" "$here/subdirectory" -DFOVEA="$source" -DFOVEA_INSTALL=ON \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=Debug
run_examples "$work/subdirectory"
[ -z "$(find "$work/subdirectory" -type f -perm -u+x -name fovea)" ] || fail "the program was built"
"$cmake" --install "$work/subdirectory" --prefix "$work/static" >>"$work/install.log"
configure "$work/find-static" "$here/find" -DCMAKE_PREFIX_PATH="$work/static" -DEXAMPLES="$source/examples"
run_examples "$work/find-static"
libdir=$(dirname "$(find "$work/static" -name libfovea.a)")
"$cc" -o "$work/static-gemm" "$source/examples/gemm/gemm.c" $(installed --cflags --static --libs fovea)
"$work/static-gemm"
echo "all steps passed"
