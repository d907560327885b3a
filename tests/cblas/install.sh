#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh BUILD CMAKE CC SOURCE - installs libfovea_cblas alone, moves it, finds it by pkg-config, and calls it.
set -eu
build=$1 cmake=$2 cc=$3 source=$4
work=$build/cblas-install
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --component Cblas --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name fovea_cblas.pc)")
libdir=$(dirname "$(find "$work/prefix" -name libfovea_cblas.so)")
export PKG_CONFIG_PATH
# xargs reads the words of pkg-config, as folders with spaces have backslashes there.
pkg-config --libs fovea_cblas | xargs "$cc" -o "$work/program" -Wl,-rpath,"$libdir" "$source"
"$work/program"
