# SPDX-License-Identifier: Apache-2.0
# fovea_auto_option(NAME TEXT): an option that is AUTO, ON or OFF. AUTO, the default at the top level unless
# cross-compiling, builds what NAME is for if what that needs is found, and looks anew in each configuration; with ON it
# is an error that it is missing.
function(fovea_auto_option name text)
    set(default OFF)
    if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING)
        set(default AUTO)
    endif()
    set(${name} ${default} CACHE STRING "${text}")
    set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
endfunction()
