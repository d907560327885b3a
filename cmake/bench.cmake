# SPDX-License-Identifier: Apache-2.0
# The benchmarks: C over Google Benchmark, whose C++ is behind one file. C++ is enabled for that file alone.
include(cmake/auto.cmake)
fovea_auto_option(FOVEA_BUILD_BENCH "Build `fovea bench` (needs Google Benchmark and a C++ compiler)")
if(FOVEA_BUILD_BENCH STREQUAL "AUTO")
    set(FOVEA_BUILD_BENCH OFF)
    find_package(benchmark QUIET)
    if(benchmark_FOUND)
        include(CheckLanguage)
        if(NOT CMAKE_CXX_COMPILER)
            unset(CMAKE_CXX_COMPILER CACHE) # that it was not found is kept there
        endif()
        check_language(CXX)
        if(CMAKE_CXX_COMPILER)
            set(FOVEA_BUILD_BENCH ON)
        endif()
    endif()
    message(STATUS "fovea bench: ${FOVEA_BUILD_BENCH}")
endif()
if(FOVEA_BUILD_BENCH)
    find_package(benchmark REQUIRED)
    find_package(Threads REQUIRED)
    enable_language(CXX)
    add_library(fovea_bench_shim STATIC EXCLUDE_FROM_ALL bench/shim.cc)
    set_target_properties(fovea_bench_shim PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_include_directories(fovea_bench_shim PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(fovea_bench_shim PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
    target_link_libraries(fovea_bench_shim PRIVATE benchmark::benchmark)

    add_library(fovea_bench STATIC EXCLUDE_FROM_ALL
        bench/attention.c
        bench/attention_problem.c
        bench/attention_shapes.c
        bench/composite.c
        bench/composite_cut.c
        bench/count_callgrind.c
        bench/count_qemu.c
        bench/count_steps.c
        bench/counters.c
        bench/fill.c
        bench/fovea_attention.c
        bench/fovea_gemm.c
        bench/fovea_layer.c
        bench/fovea_work.c
        bench/gemm.c
        bench/gemm_problem.c
        bench/gemm_shapes.c
        bench/instructions.c
        bench/layer.c
        bench/layer_problem.c
        bench/layer_reference.c
        bench/layer_shapes.c
        bench/onnx.c
        bench/peer_blis.c
        bench/peer_cblas.c
        bench/peer_cblas_attention.c
        bench/peer_cblas_gemm.c
        bench/peer_ggml.c
        bench/peer_ggml_attention.c
        bench/peer_ggml_gemm.c
        bench/peer_libxsmm.c
        bench/peer_onednn.c
        bench/peer_onednn_attention.c
        bench/peer_onednn_gemm.c
        bench/peer_onnxruntime.c
        bench/peer_onnxruntime_attention.c
        bench/peer_onnxruntime_gemm.c
        bench/peer_onnxruntime_inputs.c
        bench/peer_onnxruntime_layer.c
        bench/peer_onnxruntime_layer_graph.c
        bench/peer_openblas.c
        bench/peers.c
        bench/picture.c
        bench/picture_line.c
        bench/picture_svg.c
        bench/race.c
        bench/suite.c
        bench/table.c
        bench/versus.c
    )
    # What qemu-user loads to count instructions: nothing of fovea is in it, so it serves programs of other CPUs too.
    add_library(fovea_count MODULE bench/qemu_plugin.c)
    target_link_libraries(fovea_count PRIVATE fovea_flags)
    set_target_properties(fovea_count PROPERTIES C_VISIBILITY_PRESET hidden)
    target_compile_definitions(fovea_bench PRIVATE _GNU_SOURCE=1) # MADV_HUGEPAGE, memfd_create
    target_link_libraries(fovea_bench
        PUBLIC fovea_internal fovea_measure
        PRIVATE fovea_bench_shim Threads::Threads ${CMAKE_DL_LIBS} m)
endif()
