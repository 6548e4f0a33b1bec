#!/bin/sh
# usage: srcdir=DIR make-registry.sh FILE...
# Writes, as C, the table of the suites of these test files. A file tests/core/base/test_scope.c defines
# the suite test_scope, and its first line says where it runs:  /* ranks 1 2 3 4 7 */
# or, for tests that only `make check-long` runs:               /* ranks 2 4 long */
# or, for tests that choose the devices of their tensors:       /* ranks 1 own device */
set -eu
srcdir=${srcdir:-.}

suite_of() { basename "$1" .c; }

echo '/* Made by tests/make-registry.sh from the first lines of the test files. */'
echo '#include "ht_test.h"'
echo
for file; do
    echo "extern const struct ht_test_suite $(suite_of "$file");"
done
echo
echo 'const struct ht_test_entry ht_test_registry[] = {'
for file; do
    ranks=$(sed -nE '1s,^/\* ranks ([0-9][0-9 ]*( long| own device)?) \*/$,\1,p' "$srcdir/$file")
    is_long=false has_own_device=false
    case $ranks in
    '')
        echo "$file: the first line must be, for example, /* ranks 1 2 3 4 7 */" >&2
        exit 1
        ;;
    *' long')
        is_long=true
        ranks=${ranks% long}
        ;;
    *' own device')
        has_own_device=true
        ranks=${ranks% own device}
        ;;
    esac
    list=$(echo "$ranks" | sed 's/  */, /g')
    echo "    {&$(suite_of "$file"), (const int[]){$list, 0}, $is_long, $has_own_device},"
done
echo '    {NULL, NULL, false, false},'
echo '};'
