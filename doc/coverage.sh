#!/bin/sh
# usage: coverage.sh [FOLDER]
# Makes FOLDER/coverage.md and FOLDER/coverage/*.md (FOLDER: this one) from coverage/*.names: for each name our
# function. Prints how many names are there.
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
    declared "$header"
    constants "$header"
done >"$work/declared"

# Replaces all old pages, or none of them.
mkdir -p "$work/made/coverage" "$out/coverage"
awk -v out="$work/made" -f doc/coverage.awk input=declared "$work/declared" input=names doc/coverage/*.names
rm -f "$out"/coverage/*.md
cp -R "$work/made/." "$out"
