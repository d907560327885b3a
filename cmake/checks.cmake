# SPDX-License-Identifier: Apache-2.0
# The cases of every kernel, which `fovea verify` and the tuner run as well: tests/check without what is `check` alone.
add_library(fovea_checks STATIC EXCLUDE_FROM_ALL
    tests/check/attention.c
    tests/check/attention_chunk.c
    tests/check/attention_keep.c
    tests/check/attention_state.c
    tests/check/buffer.c
    tests/check/cpu.c
    tests/check/epilogue.c
    tests/check/gemm.c
    tests/check/gemm_bn.c
    tests/check/gemm_bt.c
    tests/check/gemm_edge.c
    tests/check/gemm_few.c
    tests/check/narrow.c
    tests/check/oracle_attention.c
    tests/check/oracle_gemm.c
    tests/check/oracle_rowwise.c
    tests/check/pack.c
    tests/check/report.c
    tests/check/rowwise.c
    tests/check/run.c
    tests/check/values.c
    tests/check/widen.c
    tests/check/widen_s8.c
    tests/check/variants.c
)
target_compile_definitions(fovea_checks PRIVATE _GNU_SOURCE=1) # mmap's MAP_ANONYMOUS, sigaction, clock_gettime
target_link_libraries(fovea_checks PUBLIC fovea_internal)
