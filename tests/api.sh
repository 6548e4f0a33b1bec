#!/bin/sh
# Every public function is used by a test.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/code.sh
. "$srcdir/tests/code.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Complete words of the code in the C files of this folder.
used() {
    find "$1" -name '*.[ch]' -exec awk -f "$srcdir/tests/code.awk" {} + |
        tr -cs 'A-Za-z0-9_' '\n' | sort -u
}

# untested FOLDER HEADER...
untested() {
    used "$1" >"$work/used"
    shift
    declared "$@" >"$work/declared"
    comm -23 "$work/declared" "$work/used"
}

all_are_tested() {
    untested "$srcdir/tests" "$srcdir/include/ht.h" "$srcdir/include/ht"/*.h >"$work/untested"
    [ -s "$work/declared" ] || echo "# no header declares a function"
    sed 's/$/ is used by no file of tests/; s/^/# /' "$work/untested"
    [ -s "$work/declared" ] && [ ! -s "$work/untested" ]
}

# A longer name, a comment and a string do not count as a use, nor as a declaration.
only_code_counts() {
    mkdir "$work/tests"
    cat >"$work/api.h" <<'END'
/* HT_API int ht_former(void); */
#define HT_API __attribute__((visibility("default")))
HT_API ht_tensor *ht_sum(ht_tensor *x); // HT_API int ht_later(void);
HT_API const int64_t *
ht_shape(const ht_tensor *x);
HT_API bool ht_commented(void), ht_other;
HT_API int ht_named(void);
HT_API int ht_called(void);
HT_API int ht_handed_over(void);
END
    cat >"$work/tests/test_it.c" <<'END'
/* ht_commented() is not called,
 * nor is "ht_commented(); */
int f(char c) { return c == '"' ? ht_called() : ht_summary("ht_named() \" ht_named()"); }
int (*g)(void) = ht_handed_over; // ht_sum
char quote = '\'', *text = "/*"; int h = ht_shape_of(1);
END
    [ "$(untested "$work/tests" "$work/api.h" | tr '\n' ' ')" = 'ht_commented ht_named ht_shape ht_sum ' ]
}

check 'every public function is used by a test' all_are_tested
check 'longer names, comments and strings are no use' only_code_counts
plan
