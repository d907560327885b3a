#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libfuzzer.sh build SOURCE WORK CMAKE CLANG TARGET... - builds fuzz targets with libFuzzer and sanitizers in WORK.
# libfuzzer.sh run WORK PLAIN SECONDS - fuzzes one target, from the seeds that its plain build writes. What it finds
# stays in WORK as TARGET-crash-...: give it to the target as its only argument to see it again.
# -O2: at -O1 clang 14 takes minutes over some loops that are laid out in full.
set -eu
command=$1
shift
if [ "$command" = build ]; then
    source=$1 work=$2 cmake=$3 clang=$4
    shift 4
    mkdir -p "$work"
    {
        "$cmake" -S "$source" -B "$work" -DCMAKE_C_COMPILER="$clang" -DCMAKE_BUILD_TYPE=None \
            -DCMAKE_C_FLAGS="-O2 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
                -fsanitize-ignorelist=$source/tests/fuzz/ignore.txt" \
            -DFOVEA_BUILD_TESTS=ON -DFOVEA_LIBFUZZER=ON &&
            "$cmake" --build "$work" -j2 --target "$@"
    } >"$work/build.log" 2>&1 || { tail -30 "$work/build.log"; exit 1; }
else
    work=$1 plain=$2 seconds=$3
    target=$(basename "$plain")
    mkdir -p "$work/$target"
    "$plain" --corpus "$work/$target"
    "$work/tests/fuzz/$target" -max_total_time="$seconds" -max_len=16384 -timeout=60 -rss_limit_mb=4096 \
        -print_final_stats=1 \
        -artifact_prefix="$work/$target-" "$work/$target" >"$work/$target.log" 2>&1 ||
        { tail -40 "$work/$target.log"; exit 1; }
    grep -E 'number_of_executed_units|^Done' "$work/$target.log"
fi
