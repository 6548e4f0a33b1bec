# HT_BLAS
# Finds CBLAS and LAPACKE (OpenBLAS first) and sets BLAS_CFLAGS and BLAS_LIBS.
AC_DEFUN([HT_BLAS], [
  PKG_CHECK_MODULES([BLAS], [openblas], [],
    [PKG_CHECK_MODULES([BLAS], [cblas], [],
      [BLAS_CFLAGS= BLAS_LIBS=])])

  ht_save_CPPFLAGS=$CPPFLAGS
  ht_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $BLAS_CFLAGS"

  # Some OpenBLAS builds hold LAPACKE themselves, Debian's leaves it to liblapacke.
  LIBS="$BLAS_LIBS $LIBS"
  AC_CHECK_HEADERS([cblas.h lapacke.h], [],
    [AC_MSG_ERROR([cblas.h and lapacke.h are needed (Debian: libopenblas-dev liblapacke-dev)])])
  AC_SEARCH_LIBS([cblas_sgemm], [openblas cblas blas], [],
    [AC_MSG_ERROR([no CBLAS library found (Debian: libopenblas-dev)])])
  AC_SEARCH_LIBS([LAPACKE_dgesv], [lapacke], [],
    [AC_MSG_ERROR([no LAPACKE library found (Debian: liblapacke-dev)])])
  BLAS_LIBS=${LIBS%"$ht_save_LIBS"}

  # OpenBLAS runs its own pool of threads, which must be told how many ranks share the node.
  AC_CHECK_FUNC([openblas_set_num_threads],
    [AC_DEFINE([HT_HAVE_OPENBLAS], [1], [Define to 1 if the BLAS is OpenBLAS.])
     ht_blas_name=OpenBLAS],
    [ht_blas_name=CBLAS])

  CPPFLAGS=$ht_save_CPPFLAGS
  LIBS=$ht_save_LIBS
])
