# SPDX-License-Identifier: Apache-2.0
# cmake -DNPM= -DDIR= -DLOCK= [-DOMIT=dev] -P npm.cmake: `npm ci` in DIR by the lock file, and DIR/npm.txt with what
# came of it. No network is no error: the build goes on without the packages, and says what to do.
file(MAKE_DIRECTORY ${DIR})
file(COPY ${LOCK} DESTINATION ${DIR})
set(options
    --no-audit --no-fund --ignore-scripts --prefer-offline --loglevel=error
    --fetch-retries=2 --fetch-timeout=120000)
if(OMIT)
    list(APPEND options --omit=${OMIT})
endif()
execute_process(COMMAND ${NPM} ci ${options} WORKING_DIRECTORY ${DIR}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 600)
if(result EQUAL 0 AND EXISTS ${DIR}/node_modules/uplot)
    file(WRITE ${DIR}/npm.txt "ok\n")
else()
    file(WRITE ${DIR}/npm.txt "npm ci: ${result}\n${output}\n")
    message(WARNING "npm ci failed (${DIR}/npm.txt tells why), so the page of fovea history report has plain charts. "
        "To try again, delete that file and build.")
endif()
