# SPDX-License-Identifier: Apache-2.0
# libfovea_cblas: sgemm and sgemv under their BLAS names, in front of any BLAS. Always shared, and with the library's
# objects inside, so that LD_PRELOAD needs this one file; only the BLAS names are visible.
option(FOVEA_WITH_CBLAS "Build libfovea_cblas.so (sgemm and sgemv for LD_PRELOAD)" ${PROJECT_IS_TOP_LEVEL})
if(FOVEA_WITH_CBLAS)
    find_package(Threads REQUIRED)
    add_library(fovea_cblas SHARED
        cblas/engine.c
        cblas/pool.c
        cblas/product.c
        cblas/sgemm.c
        cblas/sgemv.c
        cblas/thread.c
        cblas/xerbla.c
        ${FOVEA_OBJECTS} ${FOVEA_FILES_DISPATCH} ${FOVEA_FILES_OPS})
    add_library(fovea::cblas ALIAS fovea_cblas)
    set_target_properties(fovea_cblas PROPERTIES
        EXPORT_NAME cblas VERSION ${PROJECT_VERSION} SOVERSION ${FOVEA_SOVERSION}
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cblas/cblas.map)
    target_link_libraries(fovea_cblas
        PRIVATE $<BUILD_INTERFACE:fovea_flags> $<BUILD_INTERFACE:fovea_sleef> Threads::Threads m)
    # nodelete: threads, a pthread key and fork handlers point into the library, so dlclose must leave it.
    target_link_options(fovea_cblas PRIVATE
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/cblas/cblas.map -Wl,-z,nodelete)
endif()
