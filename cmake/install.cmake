# SPDX-License-Identifier: Apache-2.0
# Installs the libraries, headers, program, weights, licence, a CMake config and relocatable pkg-config files.
set(FOVEA_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
# The prefix in a .pc file is found from where the file lies, so an installed tree may be moved; not one of folders that
# are given from the root, as NixOS gives them.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    set(FOVEA_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
    file(RELATIVE_PATH FOVEA_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(PREPEND FOVEA_PC_PREFIX "\${pcfiledir}/")
endif()
foreach(folder LIBDIR INCLUDEDIR)
    set(FOVEA_PC_${folder} ${CMAKE_INSTALL_${folder}})
    if(NOT IS_ABSOLUTE ${FOVEA_PC_${folder}})
        string(PREPEND FOVEA_PC_${folder} "\${prefix}/")
    endif()
endforeach()

# fovea_install(LIBRARY RUNTIME DEVELOPMENT DESCRIPTION TEXT [REQUIRES PACKAGE] [LIBS NAME...] [LIBS_PRIVATE NAME...]):
# a library in these two components of the installation, and how CMake and pkg-config find it. Each library has a file
# of targets to itself, as one without the others is a legal installation.
function(fovea_install library runtime development)
    cmake_parse_arguments(PARSE_ARGV 3 PC "" "DESCRIPTION;REQUIRES" "LIBS;LIBS_PRIVATE")
    get_target_property(type ${library} TYPE)
    if(type STREQUAL STATIC_LIBRARY) # there is no other to link, with or without --static
        list(APPEND PC_LIBS ${PC_LIBS_PRIVATE})
        set(PC_LIBS_PRIVATE "")
    endif()
    foreach(libraries PC_LIBS PC_LIBS_PRIVATE) # by name, as the places of others' libraries are those of this machine
        list(TRANSFORM ${libraries} PREPEND -l)
        list(JOIN ${libraries} " " ${libraries})
    endforeach()
    install(TARGETS ${library} EXPORT ${library}-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${runtime} NAMELINK_COMPONENT ${development}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${development})
    install(EXPORT ${library}-targets NAMESPACE fovea:: DESTINATION ${FOVEA_INSTALL_CMAKE} COMPONENT ${development})
    configure_file(cmake/library.pc.in ${library}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${development})
endfunction()

fovea_install(fovea Runtime Development DESCRIPTION "${PROJECT_DESCRIPTION}" LIBS_PRIVATE sleef m)
install(DIRECTORY include/fovea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development
    FILES_MATCHING PATTERN "*.h" REGEX "/(openmp|pthreadpool)\\.h$" EXCLUDE)
foreach(adapter IN LISTS FOVEA_ADAPTERS)
    fovea_install(fovea_${adapter} Runtime Development
        DESCRIPTION "Runs fovea on the threads of ${adapter}" REQUIRES fovea ${FOVEA_PC_${adapter}})
    install(FILES include/fovea/${adapter}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fovea COMPONENT Development)
endforeach()
if(FOVEA_WITH_CBLAS)
    fovea_install(fovea_cblas Cblas Cblas DESCRIPTION "sgemm and sgemv of fovea under their BLAS names")
endif()
# Not CMAKE_INSTALL_DOCDIR, which is the parent project's where there is one, and so is the LICENSE in it.
set(FOVEA_INSTALL_DOC ${CMAKE_INSTALL_DATAROOTDIR}/doc/fovea)
include(cmake/doc.cmake)
if(FOVEA_BUILD_CLI)
    # Where the program will be, for the scripts of an installation: they alone know the prefix.
    set(FOVEA_PROGRAM ${CMAKE_INSTALL_BINDIR}/fovea)
    if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_BINDIR})
        string(PREPEND FOVEA_PROGRAM "\${CMAKE_INSTALL_PREFIX}/")
    endif()
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fovea.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT Tools)
    install(TARGETS fovea_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Tools)
    install(FILES examples/g2p/g2p.safetensors examples/g2p/MODEL_CARD.md examples/g2p/NOTICE
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fovea COMPONENT Tools)
    if(FOVEA_BUILD_BENCH)
        install(TARGETS fovea_count LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fovea COMPONENT Tools)
    endif()
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        configure_file(cmake/unit_on_install.cmake.in unit_on_install.cmake @ONLY)
        install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/unit_on_install.cmake COMPONENT Tools)
    endif()
endif()

configure_package_config_file(cmake/foveaConfig.cmake.in foveaConfig.cmake INSTALL_DESTINATION ${FOVEA_INSTALL_CMAKE})
write_basic_package_version_file(foveaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/foveaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/foveaConfigVersion.cmake
    DESTINATION ${FOVEA_INSTALL_CMAKE} COMPONENT Development)

# Last, when the program and its library are in place.
if(FOVEA_BUILD_CLI)
    foreach(FOVEA_ON_INSTALL verify tune)
        configure_file(cmake/on_install.cmake.in ${FOVEA_ON_INSTALL}_on_install.cmake @ONLY)
        string(TOUPPER ${FOVEA_ON_INSTALL} upper)
        if(FOVEA_${upper}_ON_INSTALL)
            install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/${FOVEA_ON_INSTALL}_on_install.cmake COMPONENT Tools)
        endif()
    endforeach()
endif()
