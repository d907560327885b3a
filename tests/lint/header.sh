#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# header.sh INCLUDE_DIR HEADER COMPILER FLAGS... - one public header compiles alone, twice included, without a warning.
include=$1 header=$2
shift 2
printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' "$header" "$header" |
    "$@" -I"$include" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -
