#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/peers.sh - installs the libraries that `fovea bench gemm`, `attention` and `layer` race against with --peers.
#
# From Debian: OpenBLAS, BLIS, oneDNN, and libxsmm, which it has as an archive only: a shared library is made of it.
# From npm: onnxruntime-node, for its libonnxruntime, and node-llama-cpp's binaries, for their ggml. These three go to
# FOVEA_PEERS_DIR, else ~/.cache/fovea-peers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/deps.sh

folder=${FOVEA_PEERS_DIR:-$HOME/.cache/fovea-peers}
mkdir -p "$folder"

need libopenblas0-pthread libblis4-pthread libdnnl2 libxsmm-dev gcc
echo "== libxsmm as a shared library in $folder"
gcc -shared -Wl,--whole-archive /usr/lib/libxsmm.a /usr/lib/libxsmmnoblas.a -Wl,--no-whole-archive \
    -o "$folder/libxsmm.so" -lpthread -ldl -lm -lrt
command -v npm >/dev/null || need npm
case $(uname -m) in aarch64) arch=arm64 ;; *) arch=x64 ;; esac
echo "== onnxruntime-node and ggml in $folder"
npm install --prefix "$folder" --no-save --ignore-scripts --no-audit --no-fund onnxruntime-node@1.30.0 \
    "@node-llama-cpp/linux-$arch@3.22.1"
where=
[ -z "${FOVEA_PEERS_DIR:-}" ] || where=" with FOVEA_PEERS_DIR=$folder"
echo "fovea bench gemm, attention and layer find them with --peers$where"
