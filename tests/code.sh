# shellcheck shell=sh
# Sourced by what looks for names in C files.
# shellcheck disable=SC2154 # The sourcing script sets srcdir.

# The files' code, without comments and strings.
code() {
    awk -f "$srcdir/tests/code.awk" "$@"
}

# Names of the functions that these headers declare. A declaration may take several lines.
declared() {
    code "$@" | tr '\n' ' ' | sed 's/HT_API/\n&/g' |
        sed -n 's/^HT_API[^(;]*[ *]\(ht_[a-z0-9_]*\) *(.*/\1/p' | sort -u
}

# Names of the constants and macros of these headers.
constants() {
    code "$@" | tr -cs 'A-Za-z0-9_' '\n' | grep '^HT_[A-Z0-9_]*$' | sort -u
}
