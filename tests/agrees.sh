#!/bin/sh
# Every function that a header marks *agrees* has a row, HT_AGREES(name, ...), that makes an error on
# one rank alone (tests/agrees.h).
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Those whose comment is that of another that agrees.
other='ht_daso_state_dict ht_dataloader_state_dict ht_dataloader_status'

# marked HEADER...: the functions declared between a comment with the word and the next blank line or
# comment.
marked() {
    awk '
        FNR == 1 { agrees = inside = 0 }
        /^\/\*/ { inside = 1; agrees = 0 }
        inside && /[^a-z]agrees[^a-z]/ { agrees = 1 }
        inside { if (/\*\//) inside = 0; next }
        /^$/ { agrees = 0 }
        agrees && match($0, /ht_[a-z0-9_]+\(/) { print substr($0, RSTART, RLENGTH - 1) }
    ' "$@" | sort -u
}

words() {
    printf '%s\n' "$@" | tr ' ' '\n' | sort -u
}

rows() {
    grep -rhoE --include='*.c' 'HT_AGREES\(ht_[a-z0-9_]+' "$srcdir/tests" | cut -d '(' -f 2 | sort -u
}

marked "$srcdir/include/ht"/*.h >"$work/marked"
rows >"$work/rows"
words "$other" >"$work/excepted"

all_have_rows() {
    [ -s "$work/marked" ] || echo '# no header marks a function'
    comm -23 "$work/marked" "$work/rows" | comm -23 - "$work/excepted" | sed 's/^/# no row for /' >"$work/missing"
    cat "$work/missing"
    [ -s "$work/marked" ] && [ ! -s "$work/missing" ]
}

list_is_true() {
    comm -23 "$work/excepted" "$work/marked" | sed 's/^/# is not marked: /' >"$work/done"
    cat "$work/done"
    [ ! -s "$work/done" ]
}

check 'every function that agrees is driven with an error on one rank' all_have_rows
check 'the list of those that need none is true' list_is_true
plan
