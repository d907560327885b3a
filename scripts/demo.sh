#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/demo.sh - builds a release, verifies the kernels of this CPU, and lets a Transformer read real words.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/deps.sh

echo "== 1/4 what is needed to build"
need gcc libc6-dev cmake ninja-build pkg-config libsleef-dev
echo "== 2/4 building a release in build/demo"
cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build/demo | tail -1
fovea=build/demo/fovea
echo "== 3/4 this machine, and its kernels against the scalar path, bit for bit"
"$fovea" info | head -9
"$fovea" verify
echo "== 4/4 a trained Transformer reads words: English spelling to phonemes"
"$fovea" run g2p hello transformer attention kernel fovea
echo
echo "Next: $fovea run g2p --help, ./scripts/test.sh, README.md"
