# SPDX-License-Identifier: Apache-2.0
# Adapters from other libraries' threads to struct fovea_executor, each a library of its own: the core links none. They
# are built where what they need is found; it is an error that it is missing only where one is asked for.
set(FOVEA_PTHREADPOOL_DEFAULT OFF)
set(FOVEA_OPENMP_DEFAULT OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING)
    if(NOT DEFINED FOVEA_WITH_PTHREADPOOL)
        find_path(FOVEA_PTHREADPOOL_INCLUDE pthreadpool.h)
        find_library(FOVEA_PTHREADPOOL_LIBRARY pthreadpool)
        if(FOVEA_PTHREADPOOL_INCLUDE AND FOVEA_PTHREADPOOL_LIBRARY)
            set(FOVEA_PTHREADPOOL_DEFAULT ON)
        endif()
    endif()
    # The thread sanitizer takes OpenMP's runtime, built without it, for a race.
    if(NOT DEFINED FOVEA_WITH_OPENMP AND NOT CMAKE_C_FLAGS MATCHES "fsanitize=thread")
        find_package(OpenMP QUIET COMPONENTS C)
        set(FOVEA_OPENMP_DEFAULT ${OpenMP_C_FOUND})
    endif()
endif()
option(FOVEA_WITH_PTHREADPOOL "Build libfovea_pthreadpool (needs pthreadpool.h and libpthreadpool)"
    ${FOVEA_PTHREADPOOL_DEFAULT})
option(FOVEA_WITH_OPENMP "Build libfovea_openmp (needs a compiler with OpenMP)" ${FOVEA_OPENMP_DEFAULT})
set(FOVEA_ADAPTERS)

# libfovea_NAME from adapters/NAME.c and include/fovea/NAME.h. FOVEA_PC_NAME: what else a program links (fovea_install).
macro(fovea_adapter name)
    list(APPEND FOVEA_ADAPTERS ${name})
    add_library(fovea_${name} adapters/${name}.c)
    add_library(fovea::${name} ALIAS fovea_${name})
    set_target_properties(fovea_${name} PROPERTIES
        EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION} SOVERSION ${FOVEA_SOVERSION})
    target_link_libraries(fovea_${name} PRIVATE $<BUILD_INTERFACE:fovea_flags> PUBLIC fovea)
endmacro()

if(FOVEA_WITH_PTHREADPOOL)
    find_path(FOVEA_PTHREADPOOL_INCLUDE pthreadpool.h REQUIRED)
    find_library(FOVEA_PTHREADPOOL_LIBRARY pthreadpool REQUIRED)
    fovea_adapter(pthreadpool)
    target_include_directories(fovea_pthreadpool PUBLIC ${FOVEA_PTHREADPOOL_INCLUDE})
    target_link_libraries(fovea_pthreadpool PUBLIC ${FOVEA_PTHREADPOOL_LIBRARY})
    set(FOVEA_PC_pthreadpool LIBS pthreadpool)
endif()
if(FOVEA_WITH_OPENMP)
    find_package(OpenMP REQUIRED COMPONENTS C)
    fovea_adapter(openmp)
    target_link_libraries(fovea_openmp PRIVATE $<BUILD_INTERFACE:OpenMP::OpenMP_C>)
    if(NOT BUILD_SHARED_LIBS) # what is installed names the runtime that the compiler of the adapter calls
        target_link_libraries(fovea_openmp INTERFACE "$<INSTALL_INTERFACE:${OpenMP_C_LIB_NAMES}>")
    endif()
    set(FOVEA_PC_openmp LIBS_PRIVATE ${OpenMP_C_LIB_NAMES})
endif()
