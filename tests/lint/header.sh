#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# header.sh INCLUDE_DIR HEADER COMPILER FLAGS... - one public header compiles alone, twice included, without a warning;
# in C++ its structs and enums are types without a keyword, too: a function of the same name would hide one.
include=$1 header=$2
shift 2
names=
case " $* " in *" -xc++ "*)
    names=$(sed -nE 's/^(struct|enum) (fovea_\w+)( \{|;)$/\2/p' "$include/$header") ;;
esac
{
    printf '#include "%s"\n#include "%s"\n' "$header" "$header"
    for name in $names; do
        printf 'void take(%s &);\n' "$name"
    done
    echo 'int main(void) { return 0; }'
} | "$@" -I"$include" -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -
