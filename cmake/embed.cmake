# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT= -DPAGE= -DSCRIPTS= -DSTYLES= -DUPLOT= -P embed.cmake: writes the C file of history/page_assets.h from the
# folder PAGE. The script is one function around all scripts, behind uPlot with its licence where there is one; the
# hashes are what a content-security policy takes.

# The hash of a file as base64: three bytes, six hexadecimal digits, four characters.
function(policy_hash file out)
    set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    file(SHA256 ${file} hex)
    set(text)
    foreach(at RANGE 0 60 6)
        string(SUBSTRING "${hex}00" ${at} 6 group) # 32 bytes: the last group lacks one
        math(EXPR bits "0x${group}")
        foreach(shift 18 12 6 0)
            math(EXPR digit "(${bits} >> ${shift}) & 63")
            string(SUBSTRING ${alphabet} ${digit} 1 character)
            string(APPEND text ${character})
        endforeach()
    endforeach()
    string(REGEX REPLACE ".$" "=" text ${text})
    set(${out} sha256-${text} PARENT_SCOPE)
endfunction()

# A file as an array of bytes and its size.
function(array name file)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)" "\\1\n"
        bytes "${bytes}")
    file(APPEND ${OUT} "const unsigned char ${name}[] = {\n${bytes}\n};\nconst size_t ${name}_size = sizeof ${name};\n")
endfunction()

# Comments of whole lines stay out.
function(stripped file out)
    file(READ ${file} text)
    string(REGEX REPLACE "(^|\n)[ ]*//[^\n]*" "\\1" text "${text}")
    string(REGEX REPLACE "\n\n+" "\n" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

get_filename_component(dir ${OUT} DIRECTORY)
set(version)
file(WRITE ${dir}/script.js "")
file(WRITE ${dir}/style.css "")
if(EXISTS ${UPLOT}/dist/uPlot.iife.min.js)
    file(READ ${UPLOT}/package.json package)
    string(JSON version GET "${package}" version)
    file(READ ${UPLOT}/LICENSE licence)
    file(READ ${UPLOT}/dist/uPlot.iife.min.js code)
    file(READ ${UPLOT}/dist/uPlot.min.css style)
    file(APPEND ${dir}/script.js "/* uPlot ${version}\n${licence}*/\n" "${code}" "\n")
    file(APPEND ${dir}/style.css "${style}" "\n")
endif()
file(APPEND ${dir}/script.js "(function () {\n\"use strict\";\n")
foreach(script IN LISTS SCRIPTS)
    stripped(${PAGE}/${script}.js text)
    file(APPEND ${dir}/script.js "${text}")
endforeach()
file(APPEND ${dir}/script.js "})();\n")
foreach(style IN LISTS STYLES)
    file(READ ${PAGE}/${style}.css text)
    file(APPEND ${dir}/style.css "${text}")
endforeach()

stripped(${PAGE}/early.js text)
file(WRITE ${dir}/early.js "${text}")

policy_hash(${dir}/early.js early_hash)
policy_hash(${dir}/script.js script_hash)
policy_hash(${dir}/style.css style_hash)
file(WRITE ${OUT} "#include \"history/page_assets.h\"\n")
array(page_template ${PAGE}/page.html)
array(page_style ${dir}/style.css)
array(page_early ${dir}/early.js)
array(page_script ${dir}/script.js)
file(APPEND ${OUT} "const char page_style_hash[] = \"${style_hash}\", page_early_hash[] = \"${early_hash}\",\n"
    "    page_script_hash[] = \"${script_hash}\";\n"
    "const char page_uplot[] = \"${version}\";\n")
