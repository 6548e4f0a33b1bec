# HT_SIMD_LEVEL(NAME, FLAGS, INTRINSIC-TYPE-AND-USE)
# Whether the kernels can be compiled for a SIMD level of x86-64 beside the baseline. FLAGS go to
# the files of that level only; which level runs is decided when the program starts. It is left out
# with `configure ht_cv_simd_NAME=no`.
# Sets ht_NAME, HT_HAVE_NAME, NAME_CFLAGS and the conditional HT_HAVE_NAME.
AC_DEFUN([HT_SIMD_LEVEL], [
  AC_CACHE_CHECK([whether the compiler can target $1], [ht_cv_simd_$1],
    [ht_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS $2"
     ht_cv_simd_$1=no
     AS_CASE([$host_cpu], [x86_64], [
       AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>]], [[$3]])],
         [ht_cv_simd_$1=yes])])
     CFLAGS=$ht_save_CFLAGS])
  ht_$1=$ht_cv_simd_$1
  AS_IF([test $ht_$1 = yes],
    [AC_DEFINE([HT_HAVE_$1], [1], [Define to 1 if the kernels are compiled for $1.])])
  AM_CONDITIONAL([HT_HAVE_$1], [test $ht_$1 = yes])
  AC_SUBST([$1_CFLAGS], ["$2"])
])
