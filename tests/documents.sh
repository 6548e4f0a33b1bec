#!/bin/sh
# The C in README.md and doc/*.md, and the examples that are one file, compile as C11 and as C++17. A part
# of a program is compiled after the names that its text takes for granted. Lines of documents have at most 130 columns,
# except in tables and code.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# mpi.h would add the C++ bindings that MPI 3 removed, which do not pass these warnings themselves.
flags="-pedantic -Wall -Wextra -Werror -I$srcdir/include -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX"

as_c() {
    # shellcheck disable=SC2086 # lists of flags
    ${CC:-mpicc} -std=c11 -x c $flags -fsyntax-only "$@"
}
as_cxx() {
    # shellcheck disable=SC2086
    ${CXX:-mpicxx} -std=c++17 -x c++ $flags -fsyntax-only "$@"
}

context() {
    cat <<'END'
#include <ht.h>
#include <unistd.h>
struct net {
    ht_module *conv1, *conv2, *dropout1, *dropout2, *fc1, *fc2;
};
extern ht_module *net, *model, *dp, *averaged;
extern ht_optimizer *opt;
extern ht_optim_wrapper *wrapper;
extern ht_scheduler *schedule;
extern ht_dataset *images;
extern ht_dataloader_options options;
extern ht_dataloader *loader;
extern ht_batch batch;
extern ht_tensor *x, *y, *x1, *y1, *x2, *y2;
extern ht_comm *comm;
extern ht_value *state, *parameters;
extern bool blocking;
extern int64_t epochs, step, steps;
extern double loss, rows;
END
}

# blocks FILE: each block of C as $work/FILE.NUMBER.c: a program as it is, a function after the
# context, statements in a function of their own there.
blocks() {
    context >"$work/context"
    # shellcheck disable=SC2016 # Markdown's backquotes
    awk -v stem="$work/$(basename "$1")" -v context="$work/context" '
        function block(text) {
            name = stem "." ++count ".c"
            if (text !~ /int main/) {
                while ((getline line < context) > 0)
                    print line >name
                close(context)
            }
            if (text ~ /int main/ || text ~ /^static /)
                printf "%s", text >name
            else
                printf "void part(void);\nvoid part(void)\n{\n%s}\n", text >name
            close(name)
            if (text ~ /^static /) { # for the blocks after it
                printf "%s", text >>context
                close(context)
            }
        }
        /^```c$/ { inside = 1; text = ""; next }
        /^```$/ && inside { inside = 0; block(text) }
        inside && !/^ *\.\.\./ { text = text $0 "\n" }' "$1"
}

# long_lines FILE...: lines of text over 130 columns, as FILE:LINE: COLUMNS.
long_lines() {
    # shellcheck disable=SC2016 # awk's fields
    LC_ALL=C awk '
        FNR == 1 { inside = 0 }
        /^```/ { inside = !inside }
        inside || /^(    |\||```)/ { next }
        { gsub(/[\200-\277]/, "") } # UTF-8: one byte of each character stays
        length($0) > 130 { print "# " FILENAME ":" FNR ": " length($0) " columns" }' "$@"
}
no_long_lines() {
    ! long_lines "$@" | grep .
}
long_lines_are_found() {
    long=$(printf '%0131d' 0)
    printf '%s\n' "$long" "| $long |" "    $long" '```c' "$long" '```' "x$long" >"$work/long.md"
    [ "$(long_lines "$work/long.md" | wc -l)" -eq 2 ]
}

for document in "$srcdir"/README.md "$srcdir"/doc/*.md; do
    blocks "$document"
done
for file in "$work"/*.c; do
    block=${file#"$work/"}
    check "block $block as C11" as_c -Wno-unused "$file"
    check "block $block as C++17" as_cxx -Wno-unused "$file"
done
set -- "$work"/README.md.*.c
check 'blocks are found' test $# -ge 4
check 'lines of documents have at most 130 columns' no_long_lines \
    "$srcdir"/README.md "$srcdir"/CONTRIBUTING.md "$srcdir"/CHANGELOG.md "$srcdir"/doc/*.md "$srcdir"/doc/coverage/*.md \
    "$srcdir"/tests/fuzz/README.md
check 'longer lines are found' long_lines_are_found
for example in diffusion fashion fit kmeans lowpass pca table; do
    check "examples/$example/$example.c as C++17" as_cxx "$srcdir/examples/$example/$example.c"
done
plan
