#!/bin/sh
# Builds the tests in the current build folder, after `make all`; the arguments are make's. Test code is compiled without
# optimisation, which takes a third of the time: the kernels of the CUDA module for the host, with sanitizers, a sixth.
set -eu
flags() {
    sed -n "s/^$1 = //p" Makefile
}
exec make "$@" check TESTS= CFLAGS="$(flags CFLAGS) -O0" CXXFLAGS="$(flags CXXFLAGS) -O0"
