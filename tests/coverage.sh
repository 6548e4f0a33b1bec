#!/bin/sh
# doc/coverage.md is what doc/coverage.sh makes, and its rows are true.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is_up_to_date() {
    sh "$srcdir/doc/coverage.sh" >"$work/made.md" &&
        diff "$srcdir/doc/coverage.md" "$work/made.md" >"$work/differences" && return 0
    echo "# doc/coverage.md is not up to date: run make coverage"
    head -n 20 "$work/differences" | sed 's/^/# /'
    return 1
}

# A small library with one function of each kind.
is_honest() {
    mkdir -p "$work/tree/tests/core" "$work/tree/tests/nn" "$work/tree/doc" "$work/tree/include/ht"
    cp "$srcdir"/tests/code.* "$work/tree/tests"
    cp "$srcdir"/doc/coverage.awk "$srcdir"/doc/coverage.sh "$work/tree/doc"
    echo 'HT_API int ht_sum(void); HT_API int ht_lr_on_plateau2d(void); /* HT_API int ht_mul(void); */' \
        >"$work/tree/include/ht.h"
    echo 'HT_API int ht_idle(void);' >"$work/tree/include/ht/more.h"
    printf '/* ranks 2 4 long */\nint a = ht_sum() + ht_summary();\n' >"$work/tree/tests/core/test_a.c"
    printf '/* ranks 1 */\nint a = ht_sum() + ht_sum() + ht_lr_on_plateau2d() + ht_mul(); // ht_idle\n' \
        >"$work/tree/tests/nn/test_b.c"
    cat >"$work/tree/doc/coverage.names" <<'END'
one: sum mul LROnPlateau2d
one: total=ht_sum -- of all
one: idle
one: times -- alias of mul
END
    cat >"$work/rows" <<'END'
| name | ours | tested by | ranks |
| --- | --- | --- | --- |
| sum | `ht_sum` | tests/core/test_a.c | 2 4 |
| mul | missing | | |
| LROnPlateau2d | `ht_lr_on_plateau2d` | tests/nn/test_b.c | 1 |
| total | `ht_sum`; of all | tests/core/test_a.c | 2 4 |
| idle | `ht_idle` | **no test** |  |
| times | left out: alias of mul | | |
END
    srcdir=$work/tree sh "$work/tree/doc/coverage.sh" >"$work/tree/doc/coverage.md" &&
        grep '^|' "$work/tree/doc/coverage.md" | diff "$work/rows" -
}

# Another test that uses a function more changes nothing; that the one named uses it no more does.
is_steady() {
    echo 'int b = ht_sum() + ht_sum() + ht_sum();' >"$work/tree/tests/core/test_c.c"
    srcdir=$work/tree sh "$work/tree/doc/coverage.sh" | diff "$work/tree/doc/coverage.md" - || return 1
    echo '/* ranks 3 */ int a;' >"$work/tree/tests/core/test_a.c"
    srcdir=$work/tree sh "$work/tree/doc/coverage.sh" | grep -q '^| sum .*| tests/core/test_c.c |  |$'
}

check 'doc/coverage.md is up to date' is_up_to_date
check 'its rows are true' is_honest
check 'its rows stay while they are true' is_steady
plan
