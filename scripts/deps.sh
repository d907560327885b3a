# SPDX-License-Identifier: Apache-2.0
# scripts/deps.sh - sourced: need PACKAGE... installs the Debian packages that are missing, saying so.

need() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    local sudo=
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "missing packages, and neither root nor sudo: ${missing[*]}" >&2
            return 1
        fi
        sudo=sudo
    fi
    echo "== installing from Debian: ${missing[*]}"
    case " ${missing[*]} " in
    *:arm64\ *) dpkg --print-foreign-architectures | grep -qx arm64 || $sudo dpkg --add-architecture arm64 ;;
    esac
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
