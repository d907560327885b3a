# SPDX-License-Identifier: Apache-2.0
# The autotuner, a part of the fovea program; the library only reads what it wrote.
add_library(fovea_tune STATIC EXCLUDE_FROM_ALL
    tune/write.c
)
target_compile_definitions(fovea_tune PRIVATE _GNU_SOURCE=1) # mkstemp, kill, MAP_ANONYMOUS
target_link_libraries(fovea_tune PUBLIC fovea_internal fovea_checks)
