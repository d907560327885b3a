# SPDX-License-Identifier: Apache-2.0
# The fovea program. It links the internal library: fovea verify needs every kernel, not only those in use.
add_executable(fovea_cli
    cli/common.c
    cli/g2p.c
    cli/g2p_dictionary.c
    cli/g2p_eval.c
    cli/g2p_model.c
    cli/info.c
    cli/main.c
    cli/run.c
    cli/verify.c
)
set_target_properties(fovea_cli PROPERTIES OUTPUT_NAME fovea)
target_link_libraries(fovea_cli PRIVATE fovea_checks fovea_internal fovea_flags m)
