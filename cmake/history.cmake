# SPDX-License-Identifier: Apache-2.0
# The history of benchmark runs: SQLite, and Jansson for Google Benchmark's JSON. Without them `fovea history` says so.
include(cmake/auto.cmake)
fovea_auto_option(FOVEA_BUILD_HISTORY "Build `fovea history` (needs SQLite and Jansson)")
if(FOVEA_BUILD_HISTORY AND PkgConfig_FOUND)
    pkg_check_modules(FOVEA_SQLITE IMPORTED_TARGET sqlite3>=3.35)
    pkg_check_modules(FOVEA_JANSSON IMPORTED_TARGET jansson>=2.7)
endif()
if(FOVEA_BUILD_HISTORY STREQUAL "AUTO")
    set(FOVEA_BUILD_HISTORY OFF)
    if(FOVEA_SQLITE_FOUND AND FOVEA_JANSSON_FOUND)
        set(FOVEA_BUILD_HISTORY ON)
    endif()
    message(STATUS "fovea history: ${FOVEA_BUILD_HISTORY}")
endif()

if(FOVEA_BUILD_HISTORY)
    if(NOT (FOVEA_SQLITE_FOUND AND FOVEA_JANSSON_FOUND))
        message(FATAL_ERROR "FOVEA_BUILD_HISTORY needs SQLite 3.35 and Jansson 2.7 (libsqlite3-dev, libjansson-dev)")
    endif()
    add_library(fovea_history STATIC EXCLUDE_FROM_ALL
        history/arena.c
        history/baseline.c
        history/book.c
        history/book_runs.c
        history/book_series.c
        history/check.c
        history/compare.c
        history/database.c
        history/date.c
        history/detect.c
        history/duel.c
        history/duel_attention.c
        history/duel_gemm.c
        history/duel_rowwise.c
        history/energy.c
        history/import.c
        history/jump.c
        history/level.c
        history/library.c
        history/metric.c
        history/report.c
        history/report_context.c
        history/schema.c
        history/text.c
        history/utest.c
    )
    target_compile_definitions(fovea_history PRIVATE _GNU_SOURCE=1) # memfd_create
    target_link_libraries(fovea_history
        PUBLIC fovea_flags fovea_measure
        PRIVATE PkgConfig::FOVEA_SQLITE PkgConfig::FOVEA_JANSSON ${CMAKE_DL_LIBS} m)
endif()
