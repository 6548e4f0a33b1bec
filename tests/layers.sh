#!/bin/sh
# Arrows of use point down only (doc/design.md): utils use nn and optim, all use the core, and nothing uses what is above it.
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# symbols TYPES FOLDER...: the library's own of these types in the objects of these folders.
symbols() {
    types=$1
    shift
    find "$@" -name '*.o' -exec nm {} + 2>/dev/null | awk -v types="$types" \
        'NF > 1 && index(types, $(NF - 1)) && $NF ~ /^ht_/ { print $NF }' | sort -u
}

# uses_nothing_of FOLDER... -- FOLDER...
uses_nothing_of() {
    below=
    while [ "$1" != -- ]; do
        below="$below $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    symbols U $below >"$work/used"
    symbols TDBR "$@" >"$work/above"
    comm -12 "$work/used" "$work/above" | sed 's/^/# /'
    [ -s "$work/used" ] && [ -s "$work/above" ] && [ -z "$(comm -12 "$work/used" "$work/above")" ]
}

check 'the core uses nothing of the layers above' uses_nothing_of src/core -- src/nn src/optim src/utils
check 'nn and optim use nothing of utils' uses_nothing_of src/nn src/optim -- src/utils
plan
