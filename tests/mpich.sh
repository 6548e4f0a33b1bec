#!/bin/sh
# A build with MPICH, if it is installed in addition to the MPI of this build: the runners of the core and of data
# parallelism on 3 ranks.
set -u
sources=$(cd "${srcdir:-.}" && pwd)
# shellcheck source=tests/tap.sh
. "$sources/tests/tap.sh"

skip() {
    echo "1..0 # SKIP $1"
    exit 0
}
command -v mpicc.mpich >/dev/null || skip 'no mpicc.mpich'
command -v mpirun.mpich >/dev/null || skip 'no mpirun.mpich'
[ "$("${CC:-mpicc}" -show 2>/dev/null)" != "$(mpicc.mpich -show)" ] || skip 'this build has MPICH'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit

quietly() {
    "$@" >>log 2>&1
}
# passes RUNNER: all of its results are ok, and there are some.
passes() {
    unset MAKEFLAGS MFLAGS
    quietly env HT_TEST_RANKS=3 make check TESTS="$1"
    [ "$(grep -c '^ok' "$1.log")" -gt 100 ] && ! grep '^not ok' "$1.log"
}
check 'configure takes HDF5 and launcher of MPICH' quietly "$sources/configure" CC=mpicc.mpich CFLAGS=-O1 --with-simd=no --disable-debug-library
check 'it builds' quietly make -j2 all
check 'its tests build' quietly make -j2 check TESTS=
check 'the core on 3 ranks' passes tests/core/run-core
check 'data parallelism on 3 ranks' passes tests/nn/parallel/run-parallel
plan
