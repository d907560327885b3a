#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/faults.sh - runs `check` with each planted fault of kernels/fault.h; fails unless it notices every one that
# lies in a kernel this CPU can run.
#
# usage: scripts/faults.sh [NAME...]        some faults by name; none: all of them
# CC, JOBS (2) and CASES (300 of each variant) may be set. x86-64: the faults lie in kernels/common, avx2 and avx512.
#
# One program has all faults, of which the environment names one: with a build for each, three of GEMM took 136 s of CPU
# time; so 99 together took 213. A kernel has the faults whose variables its object refers to. Where the preprocessor
# looks (FOVEA_FAULT != N, around assembly), the fault has a build of its own.
set -eu
unset FOVEA_FAULT
cd "$(dirname "$0")/.."
CC=${CC:-cc} JOBS=${JOBS:-2} CASES=${CASES:-300}
export CC CASES
work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT INT TERM

# gcc -O1 ends functions with vzeroupper only so; after one without, the scalar kernels take 7 to 8 times as long.
flags="-std=c11 -O1 -fexpensive-optimizations -ffp-contract=off -fno-math-errno"
flags="$flags -D_GNU_SOURCE=1 -DFOVEA_HAVE_AVX2=1 -DFOVEA_HAVE_AVX512=1"
flags="$flags -DFOVEA_FAULTS_AT_RUN=1 -w -I. -Iinclude" # -w: loops that are not unrolled then
sleef=$(pkg-config --libs sleef 2>/dev/null || echo -lsleef)
export flags sleef

# compile SOURCE OBJECT [FLAG...]: with the flags of the folder it lies in
cat >"$work/compile" <<'END'
#!/bin/sh
source=$1 object=$2
shift 2
case $source in
kernels/avx2/*) isa="-mavx2 -mfma -mf16c" ;;
kernels/avx512/*) isa="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c" ;;
*) isa= ;;
esac
exec $CC $flags $isa -MMD "$@" -c "$source" -o "$object"
END

# one FAULT: "number name"
cat >"$work/one" <<'END'
#!/bin/sh
number=${1%% *} name=${1#* }
here=$work/$number
mkdir "$here"
check=$work/check
if grep -rlF "FOVEA_FAULT != $number " kernels/avx2 kernels/avx512 >"$here/files"; then
    check=$here/check objects=
    for object in "$work"/base/*.o; do
        base=$(basename "$object" .o)
        if grep -qFf "$here/files" "$work/base/$base.d"; then
            sh "$work/compile" "$(cat "$work/base/$base.source")" "$here/$base.o" -DFOVEA_FAULT="$number" || exit 1
            if cmp -s "$here/$base.o" "$object"; then # what it reads is not for its ISA
                rm "$here/$base.o"
            else
                object=$here/$base.o
            fi
        fi
        objects="$objects $object"
    done
    $CC -o "$check" $objects $sleef -lm || exit 1
fi
# By its object: kernels/avx2/gemm_f32_6x16.c is avx2_gemm_f32_6x16.o here. gemm_tiles_f32 is no kernel, but what
# AVX-512's gemm_f32_* run.
only=$({
    grep -E "^avx[^ ]* fovea_fault_$name\$" "$work/faults"
    ls "$here" | grep '\.o$'
} | sed -E 's/^(avx[0-9]*)_([a-z0-9_]*).*/\2_\1/; s/^gemm_tiles_f32_/gemm_f32_*_/' | sort -u | tr '\n' ',')
if [ -z "$only" ]; then
    echo "$number $name: NOT PLANTED"
    exit 1
fi
# What few cases meet is looked for in more: AVX2's prefill shows PREFILL_FRESH_KEEPS once in some thousands, where V is
# not finite and a row beside sees nothing.
for cases in "$CASES" "$((CASES * 20))"; do
    FOVEA_FAULT=$name "$check" --only="$only" --cases="$cases" >"$here/out" 2>&1
    status=$?
    [ "$status" -eq 0 ] && grep -q '^[1-9][0-9]* passed, 0 failed' "$here/out" || break
done
caught=$(sed -n 's/^FAIL \([a-z0-9_]*\) case .*/\1/p' "$here/out" | sort -u | tr '\n' ' ')
if ! grep -q "^with fault $number, $name:" "$here/out"; then
    echo "$number $name: NOT SET"
    exit 1
elif [ "$status" -eq 1 ] && [ -n "$caught" ]; then
    printf '%3d %-24s caught by %s\n' "$number" "$name" "$caught"
elif [ "$status" -eq 0 ] && grep -q '^0 passed, 0 failed, [1-9]' "$here/out"; then
    printf '%3d %-24s skipped: this CPU runs no kernel that has it\n' "$number" "$name"
else
    printf '%3d %-24s NOT CAUGHT (exit status %d)\n' "$number" "$name" "$status"
    exit 1
fi
END

mkdir "$work/base"
for source in kernels/scalar/*.c kernels/avx2/*.c kernels/avx512/*.c tests/check/*.c dispatch/cpu.c dispatch/cache.c; do
    base=$(basename "$(dirname "$source")")_$(basename "$source" .c)
    echo "$source" >"$work/base/$base.source"
    printf '%s\n%s\n' "$source" "$work/base/$base.o"
done | xargs -n 2 -P "$JOBS" sh "$work/compile"
# shellcheck disable=SC2086 # the flags are several words
$CC -o "$work/check" "$work"/base/*.o $sleef -lm
if ! "$work/check" --cases=20 >"$work/out" 2>&1; then
    cat "$work/out"
    echo "check fails without any fault"
    exit 1
fi
for object in "$work"/base/*.o; do
    nm -u "$object" | sed -n "s/^ *U \(fovea_fault_.*\)/$(basename "$object" .o) \1/p"
done >"$work/faults"

faults=$(sed -n 's/^ *X(\([0-9]*\), \([A-Z0-9_]*\), ".*/\1 \2/p' kernels/fault.h)
if [ $# -gt 0 ]; then
    faults=$(for name in "$@"; do echo "$faults" | grep " $name\$"; done)
fi
status=0
echo "$faults" | tr '\n' '\0' | xargs -0 -n 1 -P "$JOBS" sh "$work/one" >"$work/table" || status=1
sort -n "$work/table"
total=$(echo "$faults" | wc -l) caught=$(grep -c ' caught by ' "$work/table" || true)
skipped=$(grep -c ' skipped: ' "$work/table" || true)
echo "$caught of $total faults caught, $skipped skipped"
[ "$status" -eq 0 ] && [ $((caught + skipped)) -eq "$total" ] || exit 1
if [ "$caught" -eq 0 ]; then # a CPU without AVX2
    exit 77
fi
