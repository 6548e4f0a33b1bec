# HT_MPI
# Checks that CC compiles and links MPI 3.1 programs, and finds the launcher of the same MPI.
# Sets MPIRUN, and ht_mpi to openmpi, mpich or other. CC is mpicc unless the user chose otherwise, so no flag is
# needed.
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

  ht_mpi=other
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <mpi.h>
      #ifndef OPEN_MPI
      #error another
      #endif]])], [ht_mpi=openmpi])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <mpi.h>
      #ifndef MPICH_VERSION
      #error another
      #endif]])], [ht_mpi=mpich])

  # Several may be installed: another's launcher starts ranks that know nothing of each other.
  AC_ARG_VAR([MPIRUN], [the MPI launcher that the tests use])
  AC_PATH_PROGS([MPIRUN], [mpirun.$ht_mpi mpiexec.$ht_mpi mpirun mpiexec], [mpirun])
  AC_MSG_CHECKING([whether $MPIRUN is of the same MPI])
  ht_launcher=other
  AS_CASE([`OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 $MPIRUN --version 2>&1`],
    [*"Open MPI"* | *"OpenRTE"* | *"Open RTE"*], [ht_launcher=openmpi],
    [*HYDRA* | *mpich* | *MPICH*], [ht_launcher=mpich])
  AS_IF([test $ht_mpi = $ht_launcher || test $ht_mpi = other || test $ht_launcher = other],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no, of $ht_launcher])
     AC_MSG_ERROR([$CC is of $ht_mpi and $MPIRUN of $ht_launcher: set MPIRUN])])
])
