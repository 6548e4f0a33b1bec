#!/bin/sh
# doc/environment.md lists the variables that the sources read, and no others.
set -u
srcdir=${srcdir:-.}

result() {
    if [ -z "$3" ]; then
        echo "ok $1 - $2"
    else
        # shellcheck disable=SC2086 # on one line
        echo "not ok $1 - $2:" $3
    fi
}

grep -rhoE 'getenv\("[A-Z_0-9]+"\)' "$srcdir/src" "$srcdir/examples" "$srcdir/tools" | cut -d '"' -f 2 |
    sort -u >environment.read
# shellcheck disable=SC2016 # no expressions, Markdown
grep -oE '`[A-Z_0-9]+`' "$srcdir/doc/environment.md" | tr -d '`' | sort -u >environment.listed
result 1 'every variable that is read is listed' "$(comm -23 environment.read environment.listed)"
result 2 'every variable that is listed is read' "$(comm -13 environment.read environment.listed)"

# A variable whose name is not in the call would escape.
others=$(grep -rnE 'getenv\([^"]' "$srcdir/src" "$srcdir/examples" "$srcdir/tools" | head -n 3)
result 3 'names of variables are written where they are read' "$others"
rm -f environment.read environment.listed
echo 1..3
