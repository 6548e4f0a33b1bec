#!/bin/sh
# doc/coverage.sh makes doc/coverage.md and its pages, and their rows are true.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is_up_to_date() {
    mkdir "$work/doc"
    sh "$srcdir/doc/coverage.sh" "$work/doc" >"$work/counts" || return 1
    { diff "$srcdir/doc/coverage.md" "$work/doc/coverage.md" &&
        diff -r -x '*.names' "$srcdir/doc/coverage" "$work/doc/coverage"; } >"$work/differences" && return 0
    echo "# doc/coverage is not up to date: run make coverage"
    head -n 20 "$work/differences" | sed 's/^/# /'
    return 1
}

# made: the pages of the small library, which is there until the tests end.
made() {
    srcdir=$work/tree sh "$work/tree/doc/coverage.sh" 2>"$work/messages"
}

# A small library with one function of each kind, in two topics.
is_honest() {
    mkdir -p "$work/tree/tests" "$work/tree/doc/coverage" "$work/tree/include/ht"
    cp "$srcdir"/tests/code.* "$work/tree/tests"
    cp "$srcdir"/doc/coverage.awk "$srcdir"/doc/coverage.sh "$work/tree/doc"
    echo 'HT_API int ht_sum(void); HT_API int ht_lr_on_plateau2d(void); /* HT_API int ht_mul(void); */' \
        >"$work/tree/include/ht.h"
    echo 'enum { HT_BYTE }; HT_API int ht_nn_idle(void); HT_API int ht_tree_fit(void);' >"$work/tree/include/ht/more.h"
    cat >"$work/tree/doc/coverage/sums.names" <<'END'
# Sums.

[core.sums]
sum mul LROnPlateau2d
total=ht_sum -- of all
times -- alias of mul
END
    cat >"$work/tree/doc/coverage/trees.names" <<'END'
# Trees.

[trees] ht_nn_
idle sum
[trees.Tree]
Tree.fit
byte=HT_BYTE
END
    cat >"$work/rows" <<'END'
# sums
## core.sums
| name | ours |
| --- | --- |
| sum | `ht_sum` |
| mul | missing |
| LROnPlateau2d | `ht_lr_on_plateau2d` |
| total | `ht_sum`; of all |
| times | left out: alias of mul |
# trees
## trees
| name | ours |
| --- | --- |
| idle | `ht_nn_idle` |
| sum | missing |
## trees.Tree
| name | ours |
| --- | --- |
| Tree.fit | `ht_tree_fit` |
| byte | `HT_BYTE` |
END
    made >"$work/counts" && cat "$work"/tree/doc/coverage/*.md | grep '^[#|]' | diff "$work/rows" - &&
        grep -qxF '| [trees](coverage/trees.md) | Trees. |' "$work/tree/doc/coverage.md"
}

counts() {
    tr -s ' ' <"$work/counts" | diff - /dev/fd/3 3<<'END'
sums 3 of 4, 1 left out
trees 3 of 4, 0 left out
all 6 of 8, 1 left out
END
}

# A topic that was removed leaves no page.
leaves_no_page() {
    rm "$work/tree/doc/coverage/trees.names"
    made >/dev/null && [ ! -e "$work/tree/doc/coverage/trees.md" ] && ! grep -q trees "$work/tree/doc/coverage.md"
}

# refused MESSAGE LINE...: a list with these lines is, and the pages stay.
refused() {
    message=$1
    shift
    cp -R "$work/tree/doc/coverage" "$work/pages"
    printf '%s\n' "$@" >"$work/tree/doc/coverage/wrong.names"
    ! made >/dev/null && grep -qF "$message" "$work/messages" || return 1
    rm "$work/tree/doc/coverage/wrong.names"
    diff -r "$work/pages" "$work/tree/doc/coverage" && rm -r "$work/pages"
}

check 'doc/coverage is up to date' is_up_to_date
check 'its rows are true' is_honest
check 'the counts are those of the rows' counts
check 'a topic that is gone leaves no page' leaves_no_page
check 'a function that is declared is not left out' refused 'sum is left out, and ht_sum is declared' \
    '# Wrong.' '[wrong]' 'sum -- no need'
check 'a name stands once' refused 'add is there twice' '# Wrong.' '[wrong]' 'add sub add'
check 'a list says what it is about' refused 'wrong.names:1: the first line' '[wrong]' 'add'
check 'names stand in a module' refused 'wrong.names:2: names stand after' '# Wrong.' 'add'
plan
