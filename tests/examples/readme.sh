#!/bin/sh
# The program in README.md: at most 30 lines, compiles as a user would compile it, and prints what
# the text says on any number of ranks (tests/documents.sh: as C++, too).
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
command -v pkg-config >/dev/null || {
    echo '1..0 # SKIP no pkg-config'
    exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first C block with a main.
# shellcheck disable=SC2016 # Markdown's backquotes
awk '/^```c$/ { inside = 1; text = ""; next }
     /^```$/ && inside { inside = 0; if (text ~ /int main/) { printf "%s", text; exit } }
     inside { text = text $0 "\n" }' "$srcdir/README.md" >"$work/line.c"

fits() {
    lines=$(wc -l <"$work/line.c")
    [ "$lines" -gt 5 ] && [ "$lines" -le 30 ]
}
# By the line that README gives, with what an installed ht.pc would say of this build.
compiles() {
    cat >"$work/ht.pc" <<END
libdir=$PWD/.libs
Name: libht
Description: the library of this build
Version: 0
Cflags: -I$(cd "$srcdir" && pwd)/include
Libs: -L\${libdir} -lht
END
    line=$(sed -n 's/^    mpicc \(line\.c .*\)/\1/p' "$srcdir/README.md")
    [ -n "$line" ] && (
        cd "$work" && export PKG_CONFIG_PATH="$work" &&
            eval "${CC:-mpicc} ${SANITIZE:-} -std=c11 -Wall -Wextra -Werror $line"
    )
}
prints() {
    # shellcheck disable=SC2016 # Markdown's backquotes
    said=$(sed -n 's/.*prints `\(y = [^`]*\)`.*/\1/p' "$srcdir/README.md")
    if printed=$(timeout --kill-after=2 300 "${MPIRUN:-mpirun}" -n "$1" "$work/line" \
        </dev/null 2>"$work/err") && [ -n "$said" ] && [ "$printed" = "$said" ]; then
        return 0
    fi
    echo "# printed '$printed', README says '$said'"
    sed 's/^/# /' "$work/err"
    return 1
}
check 'the program has at most 30 lines' fits
check 'it compiles without a warning' compiles
for ranks in 1 3 4; do
    check "$ranks ranks print what README says" prints $ranks
done
plan
