# SPDX-License-Identifier: Apache-2.0
# The autotuner, a part of the fovea program (the library only reads what it wrote), and the clocks, probes and
# statistics it shares with the benchmarks and their history.
find_package(Threads REQUIRED)
add_library(fovea_measure STATIC EXCLUDE_FROM_ALL
    bench/clock.c
    bench/memory.c
    bench/pool.c
    bench/probe_fma.c
    bench/probe_stream.c
    bench/stats.c
)
target_compile_definitions(fovea_measure PRIVATE _GNU_SOURCE=1) # MADV_HUGEPAGE
target_link_libraries(fovea_measure PUBLIC fovea_flags PRIVATE Threads::Threads m)

add_library(fovea_tune STATIC EXCLUDE_FROM_ALL
    tune/cache.c
    tune/case_attention.c
    tune/case_gemm.c
    tune/case_slot.c
    tune/cases.c
    tune/child.c
    tune/held_out.c
    tune/measure.c
    tune/memory.c
    tune/order.c
    tune/proof.c
    tune/quarantine.c
    tune/replace.c
    tune/report.c
    tune/room.c
    tune/rounds.c
    tune/search.c
    tune/shapes.c
    tune/space.c
    tune/stats.c
    tune/tune.c
    tune/verify.c
    tune/walk.c
    tune/write.c
)
target_compile_definitions(fovea_tune PRIVATE _GNU_SOURCE=1) # mkostemp, realpath, prctl
target_link_libraries(fovea_tune PUBLIC fovea_internal fovea_checks fovea_measure m)
