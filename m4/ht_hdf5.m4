# HT_HDF5
# Finds HDF5 that was built with the MPI of CC (Debian's module for it, then the plain one) and sets HDF5_CFLAGS
# and HDF5_LIBS.
AC_DEFUN([HT_HDF5], [
  PKG_CHECK_MODULES([HDF5], [hdf5-$ht_mpi], [],
    [PKG_CHECK_MODULES([HDF5], [hdf5], [],
      [HT__HDF5_BY_HAND])])

  ht_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS"
  AC_MSG_CHECKING([whether HDF5 is parallel])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <hdf5.h>
      #ifndef H5_HAVE_PARALLEL
      #error serial
      #endif]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([HDF5 built with MPI is needed (Debian: libhdf5-openmpi-dev);
                   if it is elsewhere, set HDF5_CFLAGS and HDF5_LIBS])])

  ht_save_LIBS=$LIBS
  LIBS="$HDF5_LIBS $LIBS"
  AC_MSG_CHECKING([whether HDF5 is of the same MPI])
  ht_same=yes
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <hdf5.h>
      #include <mpi.h>]], [[MPI_Init(0, 0); H5Pset_fapl_mpio(0, MPI_COMM_WORLD, MPI_INFO_NULL);]])],
    [ht_mpi_libraries=`ldd conftest$EXEEXT 2>/dev/null | grep -oE '^.libmpi(ch)?\.so\.@<:@0-9@:>@+' | sort -u | wc -l`
     AS_IF([test "$ht_mpi_libraries" -gt 1], [ht_same=no])],
    [ht_same=no])
  AC_MSG_RESULT([$ht_same])
  AS_IF([test $ht_same = no],
    [AC_MSG_ERROR([this HDF5 was built with another MPI than $CC is of ($ht_mpi); set HDF5_CFLAGS and HDF5_LIBS
                   (Debian: libhdf5-$ht_mpi-dev)])])
  LIBS=$ht_save_LIBS
  CPPFLAGS=$ht_save_CPPFLAGS
])

# HDF5 before 1.14, built from source, has no .pc file: look on the compiler's own paths.
AC_DEFUN([HT__HDF5_BY_HAND], [
  ht_save_LIBS=$LIBS
  AC_CHECK_LIB([hdf5], [H5Fopen], [HDF5_CFLAGS= HDF5_LIBS=-lhdf5],
    [AC_MSG_ERROR([HDF5 is needed (Debian: libhdf5-openmpi-dev)])])
  LIBS=$ht_save_LIBS
])
