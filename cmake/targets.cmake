# SPDX-License-Identifier: Apache-2.0
# Flags and libraries. ISA flags belong to that ISA's object library alone; everything else keeps the baseline.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(FOVEA_ISAS scalar avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(FOVEA_ISAS scalar neon)
else()
    set(FOVEA_ISAS scalar)
endif()
set(FOVEA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(FOVEA_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c)

# Skylake to Cascade Lake decode a 32-byte line of code anew each time where a jump crosses or ends it (Intel's "jump
# conditional code erratum"): by chance of layout a loop loses up to 15 % (measured: AVX2 6x16, 85 % of peak for 99).
# The assembler pads that away for 1 % of size.
include(CheckCCompilerFlag)
set(FOVEA_FLAGS_layout)
check_c_compiler_flag(-mbranches-within-32B-boundaries FOVEA_HAS_BRANCH_LAYOUT) # clang
check_c_compiler_flag(-Wa,-mbranches-within-32B-boundaries FOVEA_HAS_BRANCH_LAYOUT_WA) # gcc with GNU as 2.34
if(FOVEA_HAS_BRANCH_LAYOUT)
    set(FOVEA_FLAGS_layout -mbranches-within-32B-boundaries)
elseif(FOVEA_HAS_BRANCH_LAYOUT_WA)
    set(FOVEA_FLAGS_layout -Wa,-mbranches-within-32B-boundaries)
endif()
# Functions begin with a cache line, so that where a loop lies depends on its own function alone. By chance decoding
# over K in rows from memory had lost 3 to 5 % (Zen 4); the others gain 0 to 2 %.
check_c_compiler_flag(-falign-functions=64 FOVEA_HAS_ALIGN_FUNCTIONS)
if(FOVEA_HAS_ALIGN_FUNCTIONS)
    list(APPEND FOVEA_FLAGS_layout -falign-functions=64)
endif()
list(APPEND FOVEA_FLAGS_avx2 ${FOVEA_FLAGS_layout})
list(APPEND FOVEA_FLAGS_avx512 ${FOVEA_FLAGS_layout})

# gcc -O3 makes each k loop twice, once for a unit stride of A. That is no faster where vectors are loaded by hand, and
# the other loop is left with strides on the stack; the code is a fifth smaller without.
check_c_compiler_flag(-fno-version-loops-for-strides FOVEA_HAS_VERSION_LOOPS)
set(FOVEA_FLAGS_loops)
if(FOVEA_HAS_VERSION_LOOPS)
    set(FOVEA_FLAGS_loops -fno-version-loops-for-strides)
endif()

# SLEEF: Debian's has only a pkg-config file. What is built here links it where it was found; a static fovea that is
# installed links it by name.
find_package(PkgConfig)
if(PkgConfig_FOUND)
    pkg_check_modules(SLEEF sleef)
endif()
find_library(FOVEA_SLEEF_LIBRARY sleef HINTS ${SLEEF_LIBRARY_DIRS})
find_path(FOVEA_SLEEF_INCLUDE sleef.h HINTS ${SLEEF_INCLUDE_DIRS})
if(NOT FOVEA_SLEEF_LIBRARY OR NOT FOVEA_SLEEF_INCLUDE)
    message(FATAL_ERROR "fovea needs SLEEF (Debian's libsleef-dev); one in a folder of its own is found by "
        "-DCMAKE_PREFIX_PATH=FOLDER")
endif()
add_library(fovea_sleef INTERFACE)
target_include_directories(fovea_sleef SYSTEM INTERFACE ${FOVEA_SLEEF_INCLUDE})
target_link_libraries(fovea_sleef INTERFACE ${FOVEA_SLEEF_LIBRARY})

# What every object of the library is compiled with. Nothing here may relax IEEE arithmetic (docs/numerics.md).
add_library(fovea_flags INTERFACE)
target_include_directories(fovea_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(fovea_flags INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(fovea_flags INTERFACE
    -ffp-contract=off -fno-math-errno -fvisibility=hidden
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Werror=missing-prototypes -Werror=implicit-function-declaration)
# clang's word about a parent project's -ffast-math, which these override, once for each file.
include(CheckCCompilerFlag)
foreach(warning overriding-t-option overriding-option)
    string(MAKE_C_IDENTIFIER FOVEA_HAS_${warning} has)
    check_c_compiler_flag(-W${warning} ${has})
    if(${has})
        target_compile_options(fovea_flags INTERFACE -Wno-${warning})
    endif()
endforeach()
# gcc clears and copies structs of some hundred bytes by rep stos and rep movs, microcode that takes 10 ns each time on
# Zen 4: 1.5 % of a 32 cube, 1 to 3 of decoding from L2 and of short prompts.
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    target_compile_options(fovea_flags INTERFACE
        -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign
        -mmemcpy-strategy=vector_loop:512:noalign,libcall:-1:noalign)
endif()
foreach(isa IN LISTS FOVEA_ISAS)
    string(TOUPPER ${isa} ISA)
    if(NOT isa STREQUAL scalar)
        target_compile_definitions(fovea_flags INTERFACE FOVEA_HAVE_${ISA}=1)
    endif()
endforeach()
if(FOVEA_FAULT)
    target_compile_definitions(fovea_flags INTERFACE FOVEA_FAULT=${FOVEA_FAULT})
endif()

set(FOVEA_OBJECTS)
# Without LTO: what lies on either side of a kernel is compiled for other CPUs, and GEMM tiles call routines that are
# assembly of their file (gemm_terms.h), which gcc 12's LTO parts from them: 37 of AVX-512's 43 are undefined then.
foreach(isa IN LISTS FOVEA_ISAS)
    string(TOUPPER ${isa} ISA)
    set(files)
    foreach(stem IN LISTS FOVEA_STEMS_COMMON FOVEA_STEMS_${ISA})
        list(APPEND files kernels/${isa}/${stem}.c)
    endforeach()
    add_library(fovea_kernels_${isa} OBJECT ${files})
    set_target_properties(fovea_kernels_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(fovea_kernels_${isa} PRIVATE ${FOVEA_FLAGS_${isa}} ${FOVEA_FLAGS_loops} -fno-lto)
    target_link_libraries(fovea_kernels_${isa} PRIVATE fovea_flags fovea_sleef)
    list(APPEND FOVEA_OBJECTS $<TARGET_OBJECTS:fovea_kernels_${isa}>)
endforeach()
# Where 24 sums leave eight registers, gcc's first scheduler loads what later FMAs need so early that sums are spilled.
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    set_source_files_properties(
        kernels/neon/gemm_bf16_f32.c kernels/neon/gemm_f16_f32.c kernels/neon/gemm_f32_2x48.c
        kernels/neon/gemm_few_f32.c kernels/neon/gemm_s8_f32.c
        PROPERTIES COMPILE_OPTIONS -fno-schedule-insns)
endif()

add_library(fovea ${FOVEA_OBJECTS} ${FOVEA_FILES_DISPATCH} ${FOVEA_FILES_OPS} ${FOVEA_FILES_NN})
add_library(fovea::fovea ALIAS fovea)
# The same objects with every symbol in reach, for the tests and the program: kernels are hidden in a shared fovea.
add_library(fovea_internal STATIC EXCLUDE_FROM_ALL
    ${FOVEA_OBJECTS} ${FOVEA_FILES_DISPATCH} ${FOVEA_FILES_OPS} ${FOVEA_FILES_NN})
target_link_libraries(fovea_internal PUBLIC fovea_flags fovea_sleef m)
set_target_properties(fovea PROPERTIES
    POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION} SOVERSION ${FOVEA_SOVERSION})
target_link_libraries(fovea PRIVATE $<BUILD_INTERFACE:fovea_flags> $<BUILD_INTERFACE:fovea_sleef> m)
if(NOT BUILD_SHARED_LIBS)
    target_link_libraries(fovea INTERFACE $<INSTALL_INTERFACE:sleef>)
endif()
target_include_directories(fovea PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
include(cmake/checks.cmake)
