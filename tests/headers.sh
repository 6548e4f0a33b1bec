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

for header in "$srcdir"/include/ht.h "$srcdir"/include/ht/*.h "$srcdir"/include/ht/kernels/*.h; do
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
#include <complex>
#include <cstddef>
#include <cstring>
static int calls;
static int once() { return ++calls; }
static bool is_shape(int ndim, const int64_t shape[])
{
    return ndim == 3 && shape[0] == 1 && shape[1] == 4 && shape[2] == -1;
}
static bool is_key(int count, const ht_index key[])
{
    return count == 5 && key[4].kind == HT_INDEX_TENSOR && key[0].start == -1 && key[1].kind == HT_INDEX_SLICE && key[1].step == 2 &&
           key[2].kind == HT_INDEX_ELLIPSIS && key[3].start == 4;
}
static bool is_scalar(int ndim, const int64_t *) { return ndim == 0; }
static bool is_axis(int count, const int axes[]) { return count == 1 && axes[0] == -1; }
static bool is(ht_number x, ht_number_kind kind, double real)
{
    return x.kind == kind && x.real == real;
}
int main()
{
    const std::size_t rows = 4;
    ht_tensor *mask = nullptr;
    bool lists = is_shape(HT_SHAPE(once(), rows, -1)) && is_axis(HT_AXES(-1)) && calls == 1 &&
                 is_scalar(HT_SHAPE()) &&
                 is_key(HT_KEY(-1, ht_slice_step(0, HT_OPEN, 2), HT_ELLIPSIS, rows, mask));
    bool numbers = is(HT_NUM('a' - 'a'), HT_NUMBER_INTEGER, 0) &&
                   is(HT_NUM(sizeof(char)), HT_NUMBER_INTEGER, 1) &&
                   is(HT_NUM(true), HT_NUMBER_INTEGER, 1) && is(HT_NUM(2.f), HT_NUMBER_REAL, 2) &&
                   is(HT_NUM(std::complex<float>(3)), HT_NUMBER_COMPLEX, 3) &&
                   HT_NUM(INT64_MAX).integer == INT64_MAX;
#ifdef __SIZEOF_INT128__
    numbers = numbers && is(HT_NUM(ht_number_int128(1) << 70), HT_NUMBER_REAL, 0x1p70);
#endif
    const double table[2][3] = {};
    std::complex<float> waves[2];
    bool dtypes = HT_DTYPE_OF(table[0]) == HT_FLOAT64 && HT_DTYPE_OF(waves) == HT_COMPLEX64 &&
                  HT_DTYPE_OF(&calls) == HT_INT32 && HT_DTYPE_OF(waves + once()) == HT_COMPLEX64 && calls == 1;
    ht_tensor *(*make)(const double *) = [](const double *data) { return HT_ARRAY(data, HT_SHAPE(2, 3), 0); };
    return std::strcmp(ht_version(), HT_VERSION) == 0 && lists && numbers && dtypes && make != nullptr ? 0 : 1;
}
END
check "a C++ program links, and has its lists and numbers" links
rm -f tests/links.cc tests/links

# refused TEXT COMPILER KEY...: an HT_KEY of these items does not compile, and this is said of it.
refused() {
    text=$1
    compiler=$2
    shift 2
    printf '#include "ht.h"\nht_tensor *part(ht_tensor *x);\nht_tensor *part(ht_tensor *x) { return ht_getitem(x, HT_KEY(%s)); }\n' "$*" >tests/key.txt
    # shellcheck disable=SC2086
    ! $compiler $flags -fsyntax-only - <tests/key.txt >tests/key.out 2>&1 && grep -q "$text" tests/key.out
}

accepted() {
    ! refused . "$@"
}

for compiler in "${CC:-mpicc} -std=c11 -x c" "$cxx -std=c++17 $skip_mpicxx -x c++"; do
    language=${compiler##*-x }
    check "HT_KEY takes 12 items, in $language" accepted "$compiler" '1, x, HT_ALL, 4, 5, 6, 7, 8, 9, 10, 11, 12'
    check "HT_KEY takes no 13 items, in $language" refused 'HT_KEY takes 1 to 12 items' "$compiler" '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13'
    check "HT_KEY takes no double, in $language" refused 'an item of HT_KEY is an integer, a tensor or an ht_index' "$compiler" '1, 2.0'
done
rm -f tests/key.txt tests/key.out

plan
