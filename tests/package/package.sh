#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# package.sh SOURCE BUILD CMAKE CC CXX PYTHON - installs a build, moves it, and uses it in every way a user would:
# CMake's find_package, pkg-config from C++17, ctypes, the fovea program, the README's examples; and as a subdirectory.
set -eu
source=$1 build=$2 cmake=$3 cc=$4 cxx=$5 python=$6
here=$source/tests/package
work=$build/package
rm -rf "$work"
mkdir -p "$work"
step() { printf '== %s\n' "$*"; }
fail() { echo "FAIL $*"; exit 1; }
unset FOVEA_ISA FOVEA_PIN FOVEA_EXCLUDE LD_LIBRARY_PATH || true
export FOVEA_PROFILE="$work/profile" # where an install would put kernels into quarantine

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
# The README's Nth block of C.
readme() {
    awk -v wanted="$1" '/^```/ { inside = /^```c$/ && ++seen == wanted; next } inside' "$source/README.md"
}
# pkg-config for what is in libdir, and for nothing else: who only links fovea may lack the .pc files of what it uses.
# xargs reads its words, as folders with spaces have backslashes there.
installed() {
    PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$libdir/pkgconfig pkg-config "$@"
}
# Which libraries lie beside libfovea in libdir.
beside() {
    for each in cblas openmp pthreadpool; do
        [ -z "$(find "$libdir" -name "libfovea_$each.[as]*")" ] || echo "$each"
    done
}
run_examples() {
    "$1/gemm" && "$1/attention" && "$1/paged" && "$1/serving" && "$1/serving" --kv bf16 && "$1/layer" && "$1/decoder"
}
# run_products FOLDER PROGRAM...: what programs of the README print.
run_products() {
    folder=$1
    shift
    for program in "$@"; do
        "$folder/$program" >"$work/words" && grep -Ex '(FOVEA_OK: )?4 5 10 11' "$work/words" || fail "$folder/$program"
    done
}
# use FOLDER [FLAG]: every library in libdir, by find_package, and by pkg-config with this flag.
use() {
    configure "$1" "$here/find" -DCMAKE_PREFIX_PATH="$prefix" -DINSTALLED="$(beside | paste -sd ';' -)" \
        -DEXAMPLES="$source/examples" -DPROGRAMS="$work/programs"
    run_examples "$1"
    run_products "$1" $(beside)
    for each in fovea $(beside | sed 's/^/fovea_/'); do
        installed --cflags ${2:-} --libs "$each" | xargs "$cc" -std=c11 -Wall -Wextra -Wconversion -Wsign-conversion \
            -Werror -Wl,-rpath,"$libdir" -o "$1/$each" "$work/programs/$each.c"
        run_products "$1" "$each"
    done
}

step "the README's C examples"
grep -q 'prints `FOVEA_OK: 4 5 10 11`' "$source/README.md" || fail "the README says what else its example prints"
mkdir "$work/programs"
(
    cd "$work/programs"
    readme 1 >fovea.c
    readme 2 >fovea_openmp.c
    sed 's/fovea_gemm_once(/gemm_on_threads(/' fovea.c >>fovea_openmp.c
    sed 's/openmp_executor(2,/pthreadpool_executor(pthreadpool_create(2),/; s/openmp\.h/pthreadpool.h/' \
        fovea_openmp.c >fovea_pthreadpool.c
    cp "$source/tests/cblas/install.c" fovea_cblas.c
)

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
version=$(installed --modversion fovea)
for each in "$libdir"/libfovea*.so; do
    [ "$(readlink "$each")" = "${each##*/}.${version%.*}" ] || fail "$each serves programs of other minor versions"
done
cmp "$source/LICENSE" "$(find "$prefix" -path '*/doc/fovea/LICENSE')" || fail "no licence"
for page in README.md docs/numerics.md docs/measurements/attention.md examples/gemm/gemm.c; do
    cmp "$source/$page" "$(find "$prefix" -path "*/doc/fovea/$page")" || fail "no $page"
done
[ -z "$(find "$prefix" -name fovea -path '*/bin/*')" ] || [ -n "$(find "$prefix" -path '*/man/man1/fovea.1')" ] ||
    fail "a program without its manual page"
# Pages of the source link to more of it than is installed.
find "$prefix" -path '*/doc/fovea/*.md' | while read -r page; do
    grep -o ']([^)#: ]*' "$page" | cut -c3- | grep -v '^https*$' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
    done
done >"$prefix/links"
[ ! -s "$prefix/links" ] || fail "links to what is not installed: $(cat "$prefix/links")"

step "find_package and pkg-config"
use "$work/find"

step "pkg-config, C++17"
installed --cflags --libs fovea | xargs "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -Wl,-rpath,"$libdir" \
    -o "$work/consumer" "$here/consumer.cc"
"$work/consumer"

step "Python's ctypes"
"$python" "$here/gemm.py" "$library"

if [ -x "$prefix/bin/fovea" ]; then
    step "the installed program, from another folder"
    (cd / && "$prefix/bin/fovea" --version && "$prefix/bin/fovea" run g2p hello) | tee "$work/words"
    grep -q "^hello$(printf '\t')." "$work/words" || fail "no phonemes"
fi

step "a subdirectory, static; what it installs is found again"
adapters=$(beside | grep -v cblas | tr a-z A-Z | sed 's/.*/-DFOVEA_WITH_&=ON/')
configure "$work/subdirectory" "$here/subdirectory" -DFOVEA="$source" -DFOVEA_INSTALL=ON \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=Debug $adapters
run_examples "$work/subdirectory"
[ -z "$(find "$work/subdirectory" -type f -perm -u+x -name fovea)" ] || fail "the program was built"
prefix=$work/static
"$cmake" --install "$work/subdirectory" --prefix "$prefix" >>"$work/install.log"
libdir=$(dirname "$(find "$prefix" -name libfovea.a)")
use "$work/find-static"
echo "all steps passed"
