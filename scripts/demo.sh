#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/demo.sh - builds a release, verifies the kernels of this CPU, and lets a Transformer read real words.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/deps.sh

echo "== 1/4 what is needed to build"
need gcc libc6-dev cmake ninja-build pkg-config libsleef-dev
log=build/demo.log
echo "== 2/4 building a release in build/demo, which takes some minutes; what the build says goes to $log"
mkdir -p build
if ! { cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release && cmake --build build/demo; } >"$log" 2>&1; then
    tail -30 "$log"
    echo "demo.sh: the build failed; all of it is in $log" >&2
    exit 1
fi
fovea=build/demo/fovea
echo "== 3/4 this machine, and its kernels: against the scalar path bit for bit, and that against float64"
"$fovea" info | sed -n 1,9p # head would end the pipe early
"$fovea" verify --quiet
echo "== 4/4 a trained Transformer reads words: English spelling to phonemes"
"$fovea" run g2p hello transformer attention kernel fovea
echo
echo "Next: $fovea run g2p --help, $fovea verify, ./scripts/test.sh, README.md"
