# SPDX-License-Identifier: Apache-2.0
# Adapters from other libraries' threads to struct fovea_executor, each a library of its own: the core links none.
option(FOVEA_WITH_PTHREADPOOL "Build libfovea_pthreadpool (needs pthreadpool.h and libpthreadpool)" OFF)
if(FOVEA_WITH_PTHREADPOOL)
    find_path(FOVEA_PTHREADPOOL_INCLUDE pthreadpool.h REQUIRED)
    find_library(FOVEA_PTHREADPOOL_LIBRARY pthreadpool REQUIRED)
    add_library(fovea_pthreadpool adapters/pthreadpool.c)
    add_library(fovea::pthreadpool ALIAS fovea_pthreadpool)
    set_target_properties(fovea_pthreadpool PROPERTIES
        EXPORT_NAME pthreadpool POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION} SOVERSION 0)
    target_include_directories(fovea_pthreadpool PUBLIC ${FOVEA_PTHREADPOOL_INCLUDE})
    target_link_libraries(fovea_pthreadpool
        PRIVATE $<BUILD_INTERFACE:fovea_flags>
        PUBLIC fovea ${FOVEA_PTHREADPOOL_LIBRARY})
endif()
