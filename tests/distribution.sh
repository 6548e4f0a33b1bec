#!/bin/sh
# The archive of `make dist` has every file that git has.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

everything_is_distributed() {
    env -u MAKEFLAGS -u MAKELEVEL make -s list-distributed >"$work/list" || return 1
    sed "s|^$srcdir/||" "$work/list" | sort | comm -23 "$work/there" - >"$work/missing"
    sed 's/^/# not distributed: /' "$work/missing"
    [ ! -s "$work/missing" ]
}

git -C "$srcdir" ls-files 2>/dev/null | grep -vx .gitignore | sort >"$work/there"
if [ ! -s "$work/there" ]; then
    echo '1..0 # SKIP git has no files here'
    exit
fi
check 'every file is distributed' everything_is_distributed
plan
