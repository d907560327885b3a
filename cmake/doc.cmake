# SPDX-License-Identifier: Apache-2.0
# Installs the pages, links to what is not installed being no links there.
set(FOVEA_PAGES ${CMAKE_CURRENT_BINARY_DIR}/pages)
file(GLOB_RECURSE pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS docs/*.md examples/*.md)
list(APPEND pages README.md CONTRIBUTING.md)
file(GLOB_RECURSE others RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS docs/*.png docs/*.svg examples/*.png
    examples/*.[ch])
set(installed ${pages} ${others} LICENSE docs examples)
foreach(page IN LISTS pages)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${page})
    file(READ ${page} text)
    string(REPLACE ";" "<semicolon>" text "${text}") # or a list it is
    get_filename_component(folder ${PROJECT_SOURCE_DIR}/${page} DIRECTORY)
    string(REGEX MATCHALL "\\]\\([^)#: ]+" links "${text}")
    string(REPLACE "](" "" links "${links}") # a bracket would keep the list together
    list(REMOVE_DUPLICATES links)
    foreach(target IN LISTS links)
        get_filename_component(file ${target} ABSOLUTE BASE_DIR ${folder})
        file(RELATIVE_PATH file ${PROJECT_SOURCE_DIR} ${file})
        if(NOT file IN_LIST installed)
            string(REGEX REPLACE "([.+*?^$()])" "\\\\\\1" target "${target}")
            string(REGEX REPLACE "\\[([^][]*)\\]\\(${target}(#[^)]*)?\\)" "\\1" text "${text}")
        endif()
    endforeach()
    string(REPLACE "<semicolon>" ";" text "${text}")
    file(CONFIGURE OUTPUT ${FOVEA_PAGES}/${page} CONTENT "${text}" @ONLY)
endforeach()

install(FILES LICENSE DESTINATION ${FOVEA_INSTALL_DOC} COMPONENT Runtime)
install(DIRECTORY ${FOVEA_PAGES}/ DESTINATION ${FOVEA_INSTALL_DOC} COMPONENT Development)
install(DIRECTORY docs examples DESTINATION ${FOVEA_INSTALL_DOC} COMPONENT Development
    FILES_MATCHING PATTERN "*.png" PATTERN "*.svg" PATTERN "*.[ch]")
