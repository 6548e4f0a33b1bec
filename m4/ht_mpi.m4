# HT_MPI
# Checks that CC compiles and links MPI 3.1 programs, and finds the launcher.
# Sets MPIRUN. CC is mpicc unless the user chose otherwise, so no flag is needed.
AC_DEFUN([HT_MPI], [
  AC_MSG_CHECKING([whether $CC links MPI programs])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[MPI_Init(0, 0);]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([an MPI compiler is needed: install one (Debian: libopenmpi-dev) or set CC])])

  AC_MSG_CHECKING([for MPI 3.1 or later])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <mpi.h>
      #if MPI_VERSION * 100 + MPI_SUBVERSION < 301
      #error too old
      #endif]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([this MPI is older than 3.1])])

  AC_ARG_VAR([MPIRUN], [the MPI launcher that the tests use])
  AC_PATH_PROGS([MPIRUN], [mpirun mpiexec], [mpirun])
])
