# SPDX-License-Identifier: Apache-2.0
# Installs the library, headers, program, weights, a CMake config and a relocatable pkg-config file.
set(FOVEA_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)

install(TARGETS fovea EXPORT fovea-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Runtime NAMELINK_COMPONENT Development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Development)
install(DIRECTORY include/fovea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development
    FILES_MATCHING PATTERN "*.h" REGEX "/(openmp|pthreadpool)\\.h$" EXCLUDE)
foreach(adapter IN LISTS FOVEA_ADAPTERS)
    install(TARGETS fovea_${adapter} EXPORT fovea-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES include/fovea/${adapter}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fovea)
endforeach()
if(FOVEA_BUILD_CLI)
    # Where the program will be, for the scripts of an installation: they alone know the prefix.
    set(FOVEA_PROGRAM ${CMAKE_INSTALL_BINDIR}/fovea)
    if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_BINDIR})
        string(PREPEND FOVEA_PROGRAM "\${CMAKE_INSTALL_PREFIX}/")
    endif()
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

install(EXPORT fovea-targets NAMESPACE fovea:: DESTINATION ${FOVEA_INSTALL_CMAKE} COMPONENT Development)
configure_package_config_file(cmake/foveaConfig.cmake.in foveaConfig.cmake INSTALL_DESTINATION ${FOVEA_INSTALL_CMAKE})
write_basic_package_version_file(foveaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/foveaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/foveaConfigVersion.cmake
    DESTINATION ${FOVEA_INSTALL_CMAKE} COMPONENT Development)

# The prefix in the .pc file is found from where the file lies, so an installed tree may be moved.
file(RELATIVE_PATH FOVEA_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/fovea.pc.in fovea.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fovea.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)

# Last, when the program and its library are in place.
if(FOVEA_BUILD_CLI)
    configure_file(cmake/tune_on_install.cmake.in tune_on_install.cmake @ONLY)
    if(FOVEA_TUNE_ON_INSTALL)
        install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/tune_on_install.cmake COMPONENT Tools)
    endif()
endif()
