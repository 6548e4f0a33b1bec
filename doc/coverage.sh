#!/bin/sh
# usage: coverage.sh [FOLDER]
# Makes FOLDER/coverage.md and FOLDER/coverage/*.md (FOLDER: this one) from coverage/*.names: for each name our function,
# a test that uses it, and where that test runs. Prints how many names are there.
set -eu
export LC_ALL=C
srcdir=${srcdir:-$(dirname "$0")/..}
# shellcheck source=tests/code.sh
. "$srcdir/tests/code.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$(cd "${1:-$srcdir/doc}" && pwd)

cd "$srcdir"
srcdir=.
for header in include/ht.h include/ht/*.h; do
    { declared "$header" && constants "$header"; } | sed "s/$/ $(basename "$header" .h)/"
done >"$work/declared"

# For each test file: "file FILE 1 2 3", the counts it runs on, then "use WORD" for each use.
find tests -name 'test_*.c' | sort | while read -r file; do
    echo "file $file $(sed -n '1s/^.* ranks \([0-9 ]*[0-9]\).*/\1/p' "$file")"
    code "$file" | tr -cs 'A-Za-z0-9_' '\n' | sed -n 's,^[Hh][Tt]_,use &,p'
done >"$work/uses"

# Rows as they were, for what is still true in them stays: a test more elsewhere changes none.
cat /dev/null doc/coverage/*.md >"$work/before" 2>/dev/null || :

# Pages take the place of the old ones together, or not at all.
mkdir -p "$work/made/coverage" "$out/coverage"
awk -v out="$work/made" -f doc/coverage.awk input=declared "$work/declared" input=uses "$work/uses" \
    input=before "$work/before" input=names doc/coverage/*.names
rm -f "$out"/coverage/*.md
cp -R "$work/made/." "$out"
