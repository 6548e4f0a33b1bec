#!/bin/sh
# The C in guides runs as in the text, and prints the text's output, on 1, 2 and 4 ranks. The blocks of a guide become
# one program: a block that begins with `static` defines functions, any other is the body of a function. Each body runs
# in a separate scope. A block ```text after it has the output; after ```text 4 it is that of 4 ranks only.
# (tests/documents.sh compiles each block alone, as C11 and as C++17.)
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=$PWD/.libs
cd "$work" || exit 1

# takes_apart GUIDE: guide.c, and the outputs: expected.BLOCK, or expected.BLOCK.RANKS.
takes_apart() {
    rm -f guide.c expected.*
    # shellcheck disable=SC2016 # Markdown's backquotes
    awk '
        BEGIN { print "#include <ht.h>\n#include <stdio.h>\n" }
        /^```c$/ { inside = 1; text = ""; next }
        /^```text/ { inside = 2; text = ""; ranks = $2; next }
        /^```$/ && inside == 1 && text ~ /^static / { print text }
        /^```$/ && inside == 1 && text !~ /^static / {
            printf "static void block_%d(void)\n{\n%s}\n\n", ++count, text
        }
        /^```$/ && inside == 2 { printf "%s", text >("expected." count (ranks != "" ? "." ranks : "")) }
        /^```/ { inside = 0; next }
        inside { text = text $0 "\n" }
        END {
            print "int main(int argc, char **argv)\n{\n    ht_scope *scope;\n\n    ht_init(&argc, &argv);"
            for (i = 1; i <= count; i++) {
                print "    if (ht_comm_rank(HT_COMM_WORLD) == 0)\n        puts(\"== " i "\");"
                print "    scope = ht_scope_open();\n    block_" i "();\n    ht_scope_close(scope);"
            }
            print "    return ht_finalize();\n}"
        }' "$1" >guide.c
}

compiles() {
    # shellcheck disable=SC2086 # flags
    ${CC:-mpicc} ${SANITIZE:-} -std=c11 -Wall -Wextra -Werror -Wno-unused -I"$srcdir/include" guide.c \
        -L"$library" -lht -lm -Wl,-rpath,"$library" -o guide
}

# prints RANKS: what each block has printed is what the text says of it.
prints() {
    rm -rf files printed.*
    mkdir files
    if ! (cd files && timeout --kill-after=2 300 "${MPIRUN:-mpirun}" -n "$1" ../guide </dev/null) >out 2>err; then
        sed 's/^/# /' err
        return 1
    fi
    awk '/^== [0-9]+$/ { block = $2; next } { print >("printed." block) }' out
    same=0
    for expected in expected.*; do
        block=${expected#expected.}
        ranks=${block#*.}
        [ "$ranks" = "$block" ] || [ "$ranks" = "$1" ] || continue
        touch "printed.${block%.*}"
        diff "$expected" "printed.${block%.*}" >difference && continue
        echo "# block ${block%.*}: < the text, > printed on $1 ranks"
        sed 's/^/# /' difference
        same=1
    done
    return $same
}

for guide in tensors from-heat; do
    takes_apart "$srcdir/doc/$guide.md"
    check "the blocks of doc/$guide.md compile" compiles
    check "doc/$guide.md says what blocks print" [ "$(find . -name 'expected.*' | wc -l)" -ge 5 ]
    for ranks in 1 2 4; do
        check "doc/$guide.md on $ranks ranks" prints $ranks
    done
done
plan
