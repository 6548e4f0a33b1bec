# HT_HDF5
# Finds parallel HDF5 (Debian's module, then the plain one) and sets HDF5_CFLAGS and HDF5_LIBS.
AC_DEFUN([HT_HDF5], [
  PKG_CHECK_MODULES([HDF5], [hdf5-openmpi], [],
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
  CPPFLAGS=$ht_save_CPPFLAGS
])

# HDF5 before 1.14, built from source, has no .pc file: look on the compiler's own paths.
AC_DEFUN([HT__HDF5_BY_HAND], [
  ht_save_LIBS=$LIBS
  AC_CHECK_LIB([hdf5], [H5Fopen], [HDF5_CFLAGS= HDF5_LIBS=-lhdf5],
    [AC_MSG_ERROR([HDF5 is needed (Debian: libhdf5-openmpi-dev)])])
  LIBS=$ht_save_LIBS
])
