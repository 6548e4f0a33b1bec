#!/bin/sh
# Each public header compiles alone as C11 and as C++17, and a C++ program links the library.
set -u
srcdir=${srcdir:-.}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
cxx=${CXX:-mpicxx}
flags="-pedantic -Wall -Wextra -Werror -I$srcdir/include"
# mpi.h would add the C++ bindings that MPI 3 removed, which do not pass these warnings themselves.
skip_mpicxx="-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX"

# An #include, as a user writes it: compiling the header itself warns about other things.
alone() {
    # shellcheck disable=SC2086 # lists of flags
    echo "#include \"$1\"
int main(void) { return 0; }" | $2 $flags -fsyntax-only -
}

for header in "$srcdir"/include/ht.h "$srcdir"/include/ht/*.h; do
    header=${header#"$srcdir/include/"}
    check "$header as C11" alone "$header" "${CC:-mpicc} -std=c11 -x c"
    check "$header as C++17" alone "$header" "$cxx -std=c++17 $skip_mpicxx -x c++"
done

# ht.h leaves out only what users of tensors do not need.
umbrella_is_complete() {
    for header in "$srcdir"/include/ht/*.h; do
        header=${header#"$srcdir/include/"}
        [ "$header" = ht/backend.h ] || grep -q "^#include \"$header\"" "$srcdir/include/ht.h" || {
            echo "# $header is missing"
            return 1
        }
    done
}
check "ht.h includes every topic" umbrella_is_complete

links() {
    # shellcheck disable=SC2086
    "$cxx" -std=c++17 $skip_mpicxx $flags $SANITIZE tests/links.cc -L.libs -lht -o tests/links &&
        LD_LIBRARY_PATH=.libs tests/links
}

cat >tests/links.cc <<'END'
#include "ht.h"
#include <cstring>
int main() { return std::strcmp(ht_version(), HT_VERSION); }
END
check "a C++ program links" links
rm -f tests/links.cc tests/links

plan
