# SPDX-License-Identifier: Apache-2.0
# The page of `fovea history report`: template, style and script, put into the program as bytes. uPlot, which draws the
# charts, comes from npm by the lock file in history/page; without it the page has plain charts and says so. A build
# goes to the network only where it is asked to, as the presets do: the page's test needs more of npm.
option(FOVEA_PAGE_CHARTS "Fetch uPlot from npm for the page of fovea history report" OFF)
set(FOVEA_NODE_MODULES "" CACHE PATH "A node_modules folder that has uplot, in place of running npm")

set(FOVEA_PAGE_SOURCE ${PROJECT_SOURCE_DIR}/history/page)
set(FOVEA_PAGE_DIR ${PROJECT_BINARY_DIR}/page)
set(FOVEA_PAGE_SCRIPTS model text state theme overview marks chart plain panel detail compare main) # in this order
set(FOVEA_PAGE_STYLES base overview detail)
set(FOVEA_PAGE_FILES page.html early.js)
foreach(script IN LISTS FOVEA_PAGE_SCRIPTS)
    list(APPEND FOVEA_PAGE_FILES ${script}.js)
endforeach()
foreach(style IN LISTS FOVEA_PAGE_STYLES)
    list(APPEND FOVEA_PAGE_FILES ${style}.css)
endforeach()
list(TRANSFORM FOVEA_PAGE_FILES PREPEND ${FOVEA_PAGE_SOURCE}/)
set(FOVEA_PAGE_LOCK ${FOVEA_PAGE_SOURCE}/package.json ${FOVEA_PAGE_SOURCE}/package-lock.json)

# fovea_page_assets(FILE UPLOT [DEPENDENCY...]): the C file of history/page_assets.h, with the uPlot of a folder.
function(fovea_page_assets file uplot)
    add_custom_command(OUTPUT ${file}
        COMMAND ${CMAKE_COMMAND} -DOUT=${file} -DPAGE=${FOVEA_PAGE_SOURCE} "-DSCRIPTS=${FOVEA_PAGE_SCRIPTS}"
            "-DSTYLES=${FOVEA_PAGE_STYLES}" -DUPLOT=${uplot} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${FOVEA_PAGE_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake ${ARGN}
        COMMENT "Embedding the page" VERBATIM)
endfunction()

find_program(FOVEA_NPM npm)
if(FOVEA_NODE_MODULES)
    if(NOT EXISTS ${FOVEA_NODE_MODULES}/uplot/dist/uPlot.iife.min.js)
        message(FATAL_ERROR "FOVEA_NODE_MODULES: there is no uplot in ${FOVEA_NODE_MODULES}")
    endif()
    set(FOVEA_PAGE_MODULES ${FOVEA_NODE_MODULES})
    set(FOVEA_PAGE_CHOICE "charts by uPlot from ${FOVEA_NODE_MODULES}")
elseif(FOVEA_PAGE_CHARTS AND FOVEA_NPM)
    set(FOVEA_PAGE_MODULES ${FOVEA_PAGE_DIR}/node_modules)
    add_custom_command(OUTPUT ${FOVEA_PAGE_DIR}/npm.txt
        COMMAND ${CMAKE_COMMAND} -DNPM=${FOVEA_NPM} -DDIR=${FOVEA_PAGE_DIR} "-DLOCK=${FOVEA_PAGE_LOCK}"
            -DOMIT=$<IF:$<BOOL:${FOVEA_BUILD_TESTS}>,,dev> -P ${PROJECT_SOURCE_DIR}/cmake/npm.cmake
        DEPENDS ${FOVEA_PAGE_LOCK} ${PROJECT_SOURCE_DIR}/cmake/npm.cmake
        COMMENT "Fetching uPlot from npm" VERBATIM)
    set(FOVEA_PAGE_NPM ${FOVEA_PAGE_DIR}/npm.txt)
    set(FOVEA_PAGE_CHOICE "charts by uPlot, which the build has npm fetch (-DFOVEA_PAGE_CHARTS=OFF: plain ones)")
else()
    set(FOVEA_PAGE_MODULES ${FOVEA_PAGE_DIR}/none)
    if(FOVEA_PAGE_CHARTS)
        set(FOVEA_PAGE_CHOICE "plain charts, as there is no npm")
    else()
        set(FOVEA_PAGE_CHOICE "plain charts (-DFOVEA_PAGE_CHARTS=ON: by uPlot, which npm fetches)")
    endif()
endif()
message(STATUS "The page of fovea history report: ${FOVEA_PAGE_CHOICE}")

fovea_page_assets(${FOVEA_PAGE_DIR}/page_assets.c ${FOVEA_PAGE_MODULES}/uplot ${FOVEA_PAGE_NPM})
add_library(fovea_page STATIC EXCLUDE_FROM_ALL
    history/page.c
    history/page_band.c
    history/page_baseline.c
    history/page_data.c
    history/page_lists.c
    history/page_model.c
    history/page_pack.c
    history/page_peers.c
    history/page_points.c
    history/page_runs.c
    history/page_spark.c
    history/page_table.c
    history/page_text.c
    ${FOVEA_PAGE_DIR}/page_assets.c
)
target_link_libraries(fovea_page PUBLIC fovea_history PRIVATE fovea_internal m)
