#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# older.sh QEMU CPU ISA FOVEA COMMAND... - on an emulated CPU every chosen kernel is of that ISA, a better ISA is
# refused, and the command passes.
set -eu
qemu=$1 cpu=$2 isa=$3 fovea=$4
shift 4
run() { "$qemu" -cpu "$cpu" "$@" 2>/tmp/older.$$; }
trap 'rm -f /tmp/older.$$' EXIT

chosen=$(run "$fovea" info | sed -n 's/^ .*_\([a-z0-9]*\) *\* chosen$/\1/p' | sort -u)
[ "$chosen" = "$isa" ] || { echo "FAIL $cpu: chosen kernels are of: $chosen"; exit 1; }
if FOVEA_ISA=avx512 run "$fovea" info; then
    echo "FAIL $cpu: FOVEA_ISA=avx512 is not refused"
    exit 1
fi
grep -q 'FOVEA_ISA=avx512: this CPU' /tmp/older.$$ || { cat /tmp/older.$$; exit 1; }
FOVEA_TEST_SMALL=1 run "$@"
