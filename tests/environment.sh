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

# The library's are rows of one table; programs and modules read their own.
{
    sed -n 's/^    X(\([A-Za-z_0-9]*\), .*/\1/p' "$srcdir/src/core/base/environment.h"
    grep -rhoE 'getenv\("[A-Z_0-9]+"\)' "$srcdir/examples" "$srcdir/tools" "$srcdir/src/backends/cuda" | cut -d '"' -f 2
} | sort -u >environment.read
# shellcheck disable=SC2016 # no expressions, Markdown
grep -oE '`[A-Za-z_0-9]+`' "$srcdir/doc/environment.md" | tr -d '`' | grep -E '^(HT|OMP|OMPI|OPENBLAS|TMPDIR)(_.*[A-Za-z0-9])?$' | sort -u >environment.listed
result 1 'every variable that is read is listed' "$(comm -23 environment.read environment.listed)"
result 2 'every variable that is listed is read' "$(comm -13 environment.read environment.listed)"

# A variable that is read elsewhere would escape, and one whose name is not in the call.
others=$(grep -rnE 'getenv\(' "$srcdir/src" | grep -v -e '/core/base/environment\.c:' -e '/backends/cuda/' | head -n 3
    grep -rnE 'getenv\([^"]' "$srcdir/examples" "$srcdir/tools" "$srcdir/src/backends/cuda" | head -n 3)
result 3 'variables are read by the table, or by their names' "$others"
rm -f environment.read environment.listed
echo 1..3
