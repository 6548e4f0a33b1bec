#!/bin/sh
# The reference made of the headers: each public function has a comment in the grammar of CONTRIBUTING.md, and its
# manual page formats. The English of headers, documents, pages, messages and comments keeps the rules of tests/english.awk.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/man3"

awk -f "$srcdir/doc/functions.awk" "$srcdir"/include/ht/*.h >"$work/records"
awk -v format=man3 -v folder="$work/man3" -v version=test -f "$srcdir/doc/reference.awk" "$work/records"
awk -v format=html -f "$srcdir/doc/reference.awk" "$work/records" >"$work/reference.html"

# none COMMAND...: it prints nothing.
none() {
    ! "$@" | sed 's/^/# /' | grep .
}
# Golden headers are generated.
messages_of_sources() {
    find "$srcdir/src" "$srcdir/include/ht/error.h" "$srcdir/tests" "$srcdir/bench" "$srcdir/examples" "$srcdir/tools" \
        -path "$srcdir/tests/golden/*.h" -prune -o -type f '(' -name '*.[ch]' -o -name '*.cu' ')' \
        -exec awk -v messages=1 -f "$srcdir/tests/english.awk" {} +
}
comments() {
    find "$srcdir/src" "$srcdir/tests" "$srcdir/bench" "$srcdir/examples" "$srcdir/tools" "$srcdir/doc" "$srcdir/.ci" \
        "$srcdir/quickstart" "$srcdir/autogen.sh" "$srcdir/build-env.sh" -path "$srcdir/tests/golden/*.h" -prune -o -type f \
        '(' -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' -o -name run -o -name quickstart ')' \
        -exec awk -v comments=1 -f "$srcdir/tests/english.awk" {} +
}
there_are_pages() {
    [ "$(find "$work/man3" -name 'ht_*.3' | wc -l)" -gt 800 ] &&
        [ "$(grep -c '<article' "$work/reference.html")" -gt 800 ]
}
# The macros that documents and examples call.
macros_have_pages() {
    for macro in $(cat "$srcdir"/README.md "$srcdir"/doc/*.md "$srcdir/tests/fuzz/README.md" "$srcdir"/examples/*/*.c | grep -o '\bHT_[A-Z_]*(' | tr -d '(' | sort -u); do
        [ -f "$work/man3/$macro.3" ] || ! grep -q "^#define $macro(" "$srcdir"/include/ht/*.h || {
            echo "# $macro has no page"
            return 1
        }
    done
}
top_is_named() {
    ! grep -l 'the top' "$work"/man3/*.3 | sed 's/^/# /' | grep .
}
no_comment_shows_its_end() {
    # shellcheck disable=SC2016 # awk's fields
    none awk 'BEGIN { RS = "\f"; FS = "\037" } ($5 $6) ~ /\n\/\n/ { print $1 ": " $3 }' "$work/records"
}
pages_format() {
    command -v groff >/dev/null || return 0
    ! find "$work/man3" -name '*.3' -exec groff -man -ww -Wbreak -Tutf8 -z {} + 2>&1 | grep .
}
# Bytes without those that continue a character of UTF-8 are columns.
headers_are_narrow() {
    # shellcheck disable=SC2016 # awk's fields
    LC_ALL=C none awk '{ gsub(/[\200-\277]/, "") } length($0) > 100 { print FILENAME ":" FNR }' \
        "$srcdir"/include/ht.h "$srcdir"/include/ht/*.h
}
check 'lines of headers have at most 100 columns' headers_are_narrow
check 'comments are in the grammar' none awk -f "$srcdir/tests/doc_comments.awk" "$work/records"
check 'the English of headers' none awk -f "$srcdir/tests/english.awk" \
    "$srcdir"/include/ht.h "$srcdir"/include/ht/*.h "$srcdir"/include/ht/kernels/*.h
check 'the English of documents' none awk -f "$srcdir/tests/english.awk" \
    "$srcdir/README.md" "$srcdir/CONTRIBUTING.md" "$srcdir/CHANGELOG.md" "$srcdir"/doc/*.md "$srcdir"/doc/coverage/*.md \
    "$srcdir/tests/fuzz/README.md"
check 'the English of manual pages' none awk -f "$srcdir/tests/english.awk" "$srcdir"/man/*.1
check 'the English of messages' none messages_of_sources
check 'the English of comments' none comments
check 'there is a page for each function' there_are_pages
check 'there is a page for each macro that documents call' macros_have_pages
check 'pages name their notes' top_is_named
check 'no comment shows its end' no_comment_shows_its_end
check 'manual pages format' pages_format
plan
