#!/bin/sh
# usage: coverage.sh (make coverage stores what it prints as coverage.md)
# The names of coverage.names: our function, a test that uses it, and where that test runs.
set -eu
export LC_ALL=C
srcdir=${srcdir:-$(dirname "$0")/..}
# shellcheck source=tests/code.sh
. "$srcdir/tests/code.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$srcdir"
srcdir=.
for header in include/ht.h include/ht/*.h; do
    declared "$header" | sed "s/$/ $(basename "$header" .h)/"
done >"$work/declared"

# For each test file: "file FILE 1 2 3", the counts it runs on, then "use WORD" for each use.
find tests -name 'test_*.c' | sort | while read -r file; do
    echo "file $file $(sed -n '1s/^.* ranks \([0-9 ]*[0-9]\).*/\1/p' "$file")"
    code "$file" | tr -cs 'A-Za-z0-9_' '\n' | sed -n 's/^ht_/use &/p'
done >"$work/uses"

# Rows as they were, for what is still true in them stays: a test more elsewhere changes none.
touch "$work/before"
[ ! -f doc/coverage.md ] || cp doc/coverage.md "$work/before"

awk -f doc/coverage.awk input=declared "$work/declared" input=uses "$work/uses" \
    input=before "$work/before" input=names doc/coverage.names
