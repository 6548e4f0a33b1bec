# HT_SIMD
# --with-simd=LIST: the SIMD levels that kernels are compiled for in addition to the baseline. Sets with_simd.
AC_DEFUN([HT_SIMD], [
  AC_ARG_WITH([simd],
    [AS_HELP_STRING([--with-simd=LIST],
      [kernels for these levels of x86-64 in addition to the baseline: all, native (those that this machine can run), best
      (the best of these), no, or names, as avx2,avx512 @<:@all@:>@])],
    [], [with_simd=all])
  AS_IF([test "$with_simd" = yes], [with_simd=all])
  ht_wider_level=no
  AS_CASE([$with_simd], [all|native|best|no|avx2|avx512|avx2,avx512|avx512,avx2], [],
    [AC_MSG_ERROR([--with-simd takes all, native, best, no, or a list of avx2 and avx512, not $with_simd])])
])

# HT_SIMD_LEVEL(NAME, FLAGS, FEATURES, INTRINSIC-TYPE-AND-USE)
# Whether the kernels are compiled for a SIMD level of x86-64 in addition to the baseline: --with-simd names it and the compiler
# can target it. The best level comes first. FLAGS go to the files of that level only. Which level runs is decided when the program starts, by the
# FEATURES of the processor.
# Sets ht_NAME, HT_HAVE_NAME, HT_RUNS_NAME, NAME_CFLAGS and the conditional HT_HAVE_NAME.
AC_DEFUN([HT_SIMD_LEVEL], [
  AC_REQUIRE([HT_SIMD])
  m4_pushdef([ht_runs], [m4_map_args_w([$3], [__builtin_cpu_supports("], [")], [ && ])])
  AC_CACHE_CHECK([whether the compiler can target $1], [ht_cv_simd_$1],
    [ht_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS $2"
     ht_cv_simd_$1=no
     AS_CASE([$host_cpu], [x86_64], [
       AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>]], [[$4]])],
         [ht_cv_simd_$1=yes])])
     CFLAGS=$ht_save_CFLAGS])
  ht_$1=$ht_cv_simd_$1
  AS_CASE([$with_simd-$ht_$1], [native-yes|best-yes],
    [AC_CACHE_CHECK([whether this machine can run $1], [ht_cv_simd_runs_$1],
      [AC_RUN_IFELSE([AC_LANG_PROGRAM([], [return !(ht_runs);])],
        [ht_cv_simd_runs_$1=yes], [ht_cv_simd_runs_$1=no],
        [AC_MSG_ERROR([--with-simd=$with_simd is for builds on the machine that runs them])])])
     ht_$1=$ht_cv_simd_runs_$1])
  AS_CASE([,$with_simd,], [,all,|,native,|,best,|*,m4_tolower([$1]),*], [], [ht_$1=no])
  AS_IF([test "$with_simd $ht_wider_level" = "best yes"], [ht_$1=no])
  AS_IF([test $ht_$1 = yes], [ht_wider_level=yes])
  AS_IF([test $ht_$1 = yes],
    [AC_DEFINE([HT_HAVE_$1], [1], [Define to 1 if the kernels are compiled for $1.])
     AC_DEFINE([HT_RUNS_$1], [(ht_runs)], [Whether the processor has $1.])])
  AM_CONDITIONAL([HT_HAVE_$1], [test $ht_$1 = yes])
  AC_SUBST([$1_CFLAGS], ["$2"])
  m4_popdef([ht_runs])
])
