# SPDX-License-Identifier: Apache-2.0
# The fovea program. It links the internal library: fovea verify needs every kernel, not only those in use.
add_executable(fovea_cli
    cli/bench.c
    cli/bench_count.c
    cli/bench_history.c
    cli/bench_tune.c
    cli/common.c
    cli/g2p.c
    cli/g2p_dictionary.c
    cli/g2p_eval.c
    cli/g2p_model.c
    cli/history.c
    cli/info.c
    cli/main.c
    cli/replace.c
    cli/run.c
    cli/stop.c
    cli/tune.c
    cli/tune_diff.c
    cli/tune_explain.c
    cli/tune_show.c
    cli/tune_start.c
    cli/tune_tell.c
    cli/tune_words.c
    cli/verify.c
)
set_target_properties(fovea_cli PROPERTIES OUTPUT_NAME fovea)
set_source_files_properties(cli/bench_count.c PROPERTIES COMPILE_DEFINITIONS _GNU_SOURCE=1) # mkdtemp
target_link_libraries(fovea_cli PRIVATE fovea_tune fovea_checks fovea_internal fovea_flags m)
# The manual page comes with the program that it is of.
file(GLOB FOVEA_HELP CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
add_custom_command(OUTPUT fovea.1
    COMMAND ${CMAKE_COMMAND} -DOUT=${CMAKE_CURRENT_BINARY_DIR}/fovea.1 -DPROJECT_VERSION=${PROJECT_VERSION}
        -DCLI=${PROJECT_SOURCE_DIR}/cli -P ${PROJECT_SOURCE_DIR}/cmake/man.cmake
    DEPENDS ${FOVEA_HELP} ${PROJECT_SOURCE_DIR}/cli/fovea.1.in ${PROJECT_SOURCE_DIR}/cmake/man.cmake
    COMMENT "Writing the manual page" VERBATIM)
target_sources(fovea_cli PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/fovea.1)
include(cmake/history.cmake)
if(FOVEA_BUILD_HISTORY)
    include(cmake/page.cmake)
    target_sources(fovea_cli PRIVATE
        cli/history_acknowledge.c
        cli/history_builds.c
        cli/history_check.c
        cli/history_compare.c
        cli/history_import.c
        cli/history_report.c
    )
    # What a run was built with is part of its environment; the folder it was built in is none, and would make the
    # program another one in every folder (Debian's flags name it).
    string(TOUPPER "${CMAKE_BUILD_TYPE}" FOVEA_BUILD_TYPE)
    string(STRIP "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${FOVEA_BUILD_TYPE}}" FOVEA_C_FLAGS)
    string(REGEX REPLACE " *-f(file|debug|macro)-prefix-map=[^ ]*" "" FOVEA_C_FLAGS "${FOVEA_C_FLAGS}")
    string(REGEX REPLACE "([\\\"])" "\\\\\\1" FOVEA_C_FLAGS "${FOVEA_C_FLAGS}") # it becomes a string of C
    set(FOVEA_COMPILER "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
    set_source_files_properties(cli/bench_history.c PROPERTIES COMPILE_DEFINITIONS
        "_GNU_SOURCE=1;FOVEA_COMPILER=\"${FOVEA_COMPILER}\";FOVEA_FLAGS=\"${FOVEA_C_FLAGS}\"")
    target_compile_definitions(fovea_cli PRIVATE FOVEA_HAVE_HISTORY=1)
    target_link_libraries(fovea_cli PRIVATE fovea_page fovea_history)
endif()
include(cmake/bench.cmake)
if(FOVEA_BUILD_BENCH)
    # Linked by the C driver, with the flags of C (a sanitizer's, say); CMake adds the C++ runtime.
    set_target_properties(fovea_cli PROPERTIES LINKER_LANGUAGE C)
    target_compile_definitions(fovea_cli PRIVATE FOVEA_HAVE_BENCH=1)
    target_link_libraries(fovea_cli PRIVATE fovea_bench)
endif()
