#!/bin/sh
# Each installed program has a manual page, which has no faults and every option that --help prints.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

# Options as words, of a text on standard input.
options() {
    sed 's/\\-/-/g' | grep -oE -e '--[a-z][a-z-]+' | sort -u
}
has_page() {
    [ -f "$srcdir/man/$1.1" ]
}
has_options() {
    for option in $("tools/$1" --help | options); do
        options <"$srcdir/man/$1.1" | grep -qx -e "$option" || {
            echo "# $option is missing"
            return 1
        }
    done
}
formats() {
    command -v groff >/dev/null || return 0
    ! groff -man -ww -Tutf8 -z "$srcdir/man/$1.1" 2>&1 | grep .
}
for program in ht-run ht-info ht-idx2hdf5; do
    check "$program has a page" has_page $program
    check "$program: its options are there" has_options $program
    check "$program: its page formats" formats $program
done
plan
