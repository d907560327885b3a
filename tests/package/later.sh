#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# later.sh SOURCE BUILD CMAKE ARGUMENT... - configures without what fovea bench and fovea history need, and again when
# it is there, as somebody does who reads "not built in" and installs it: both are built then as in a fresh folder.
set -eu
source=$1 work=$2/package_later cmake=$3
shift 3
# built FOLDER ARGUMENT...: configures, and prints which of the two are built.
built() {
    folder=$work/$1
    shift
    "$cmake" -S "$source" -B "$folder" -DFOVEA_WITH_CBLAS=OFF -DFOVEA_WITH_OPENMP=OFF -DFOVEA_WITH_PTHREADPOOL=OFF \
        "$@" >"$folder.log" 2>&1 || { tail -30 "$folder.log" >&2; return 1; }
    grep -E '^-- fovea (bench|history): ' "$folder.log" || [ $? -eq 1 ]
}
rm -rf "$work"
mkdir -p "$work"
without=$(PKG_CONFIG_LIBDIR=$work/nothing built again -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON "$@")
[ "$(echo "$without" | grep -c ': OFF$')" = 2 ] || { echo "FAIL: without: $without"; exit 1; }
later=$(built again -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=OFF "$@")
fresh=$(built fresh "$@")
echo "$fresh"
[ "$later" = "$fresh" ] || { echo "FAIL: later: $later"; exit 1; }
# They are parts of the program: a folder that had them can be configured without it.
built fresh "$@" -DFOVEA_BUILD_CLI=OFF -DFOVEA_BUILD_TESTS=ON || { echo "FAIL: without the program"; exit 1; }
