# shellcheck shell=sh
# Sourced from the root of the tree before a build: takes nvcc and the compilers of Open MPI and MPICH through ccache if
# it is installed.
# Clones of the same commit share objects, because no name of a folder is part of what ccache compares.
if command -v ccache >/dev/null && command -v mpicc >/dev/null; then
    export CCACHE_NOHASHDIR=1
    export CCACHE_BASEDIR="$PWD"
    : "${OMPI_CC:=$(mpicc --showme:command 2>/dev/null)}" "${OMPI_CXX:=g++}"
    [ -z "$OMPI_CC" ] || OMPI_CC="ccache ${OMPI_CC#ccache }"
    OMPI_CXX="ccache ${OMPI_CXX#ccache }"
    : "${MPICH_CC:=gcc}" "${MPICH_CXX:=g++}"
    MPICH_CC="ccache ${MPICH_CC#ccache }"
    MPICH_CXX="ccache ${MPICH_CXX#ccache }"
    NVCC_LAUNCHER=ccache
    export OMPI_CC OMPI_CXX MPICH_CC MPICH_CXX NVCC_LAUNCHER
fi

# configure, and libtool with each source, take bash otherwise, which starts at half the speed of Debian's sh.
: "${CONFIG_SHELL:=/bin/sh}"
export CONFIG_SHELL
