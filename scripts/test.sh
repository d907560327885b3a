#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/test.sh - builds and passes all tests. About an hour on two cores.
#
#   ./scripts/test.sh          everything the project promises: this CPU, older CPUs under qemu, aarch64 under qemu,
#                              sanitizers, planted faults, packages
#   ./scripts/test.sh --all    longer fuzzing and more cases besides
#   ./scripts/test.sh --only release     one stage: release, aarch64, clang, sanitizers
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/deps.sh

stages="release aarch64 clang sanitizers"
all= only=
while [ $# -gt 0 ]; do
    case $1 in
    --all) all=1 ;;
    --only)
        only=${2:-}
        if ! tr ' ' '\n' <<<"$stages" | grep -qxF -e "$only"; then
            echo "test.sh: no stage \"$only\"; there are: $stages" >&2
            exit 2
        fi
        shift
        ;;
    --help | -h) sed -n '3,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "test.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done

echo "== packages"
need gcc g++ libc6-dev cmake ninja-build pkg-config python3 binutils festlex-cmu libsleef-dev libpthreadpool-dev \
    libbenchmark-dev clang libclang-rt-14-dev llvm-19 gcc-aarch64-linux-gnu libc6-dev-arm64-cross libsleef-dev:arm64 \
    qemu-user libblas3 libblas-test python3-numpy python3-pytest python3-hypothesis libsqlite3-dev libjansson-dev \
    chromium fonts-dejavu-core valgrind || exit 1
command -v npm >/dev/null || need npm || exit 1

passed=0 failed=0 skipped=0 broken=()
started=$SECONDS

# Adds up what a ctest run says: every test, and what did not run.
count() {
    local log=$1 total bad skip
    read -r bad total < <(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of \([0-9]*\).*/\1 \2/p' "$log")
    skip=$(grep -c '\*\*\*Skipped' "$log")
    passed=$((passed + ${total:-0} - ${bad:-0} - skip)) failed=$((failed + ${bad:-0})) skipped=$((skipped + skip))
}

modules=build/release/page/node_modules
# stage NAME PRESET "cmake options" [ctest arguments]: configures, builds, tests one preset.
stage() {
    local name=$1 preset=$2 options=$3 log
    shift 3
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    log=build/$name.log
    mkdir -p build
    echo "== $name"
    # npm is asked once, by the first stage that finds it.
    [ "$name" = release ] || [ ! -d "$modules/uplot" ] || options+=" -DFOVEA_NODE_MODULES=$PWD/$modules"
    if ! { cmake --preset "$preset" $options "-DFOVEA_TEST_LONG=${all:-OFF}" >"$log" 2>&1 &&
        cmake --build --preset "$preset" >>"$log" 2>&1; }; then
        tail -30 "$log"
        failed=$((failed + 1)) broken+=("$name (build)")
        return 0
    fi
    ctest --preset "$preset" -j2 "$@" 2>&1 | tee "$log" | grep -Ev '^ *(Start|Test project|[0-9]+/[0-9]+ Test.*Passed)'
    [ "${PIPESTATUS[0]}" -eq 0 ] || broken+=("$name")
    count "$log"
}

# The page of a short suite and of its instructions, kept from call to call in build/history.db. No time is judged.
performance_page() {
    [ -z "$only" ] || [ "$only" = release ] || return 0
    echo "== performance history"
    local commit keep
    commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
    keep="--shapes smoke --history build/history.db --commit $commit"
    if build/release/fovea bench gemm --min-time 0.01 --repetitions 3 $keep &&
        build/release/fovea bench gemm --count callgrind $keep &&
        build/release/fovea history report --db build/history.db -o build/history.html; then
        echo "build/history.html"
    else
        failed=$((failed + 1)) broken+=("performance history")
    fi
}

rm -f build/release/Testing/Temporary/LastTest.log
stage release release "-DFOVEA_WITH_PTHREADPOOL=ON -DFOVEA_WITH_OPENMP=ON"
# What ran where, as the test `check` has printed it; other tests print such a matrix of fewer cases.
matrix=$(sed -n '/Testing: check$/,/passed, .* skipped$/p' build/release/Testing/Temporary/LastTest.log 2>/dev/null |
    sed -n '/^variants x cases/,/passed, .* skipped$/p' | sed '$d')
performance_page
stage aarch64 aarch64 ""
stage clang clang "" -L quick
stage sanitizers sanitizers "" -L quick

echo
[ -z "$matrix" ] || echo "$matrix"
[ ${#broken[@]} -eq 0 ] || echo "failed stages: ${broken[*]}"
echo "$(((SECONDS - started) / 60)) minutes"
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#broken[@]} -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
