# HT_FFTW
# --with-fftw=yes|no|guess. Sets FFTW_LIBS, HT_HAVE_FFTW and the conditional of that name. Both
# precisions are needed: libfftw3 and libfftw3f.
AC_DEFUN([HT_FFTW], [
  AC_ARG_WITH([fftw],
    [AS_HELP_STRING([--with-fftw=yes|no|guess], [use FFTW 3 for Fourier transforms [guess]])],
    [], [with_fftw=guess])
  AS_CASE([$with_fftw], [yes|no|guess], [],
    [AC_MSG_ERROR([--with-fftw takes yes, no or guess, not $with_fftw])])

  FFTW_LIBS=
  ht_fftw=no
  AS_IF([test "$with_fftw" != no], [
    ht_save_LIBS=$LIBS
    AC_CHECK_HEADER([fftw3.h],
      [AC_CHECK_LIB([fftw3], [fftw_plan_guru64_dft],
        [AC_CHECK_LIB([fftw3f], [fftwf_plan_guru64_dft], [ht_fftw=yes], [], [-lm])], [], [-lm])])
    LIBS=$ht_save_LIBS
    AS_IF([test "$with_fftw $ht_fftw" = "yes no"],
      [AC_MSG_ERROR([--with-fftw was given, but FFTW was not found (Debian: libfftw3-dev)])])
  ])

  AS_IF([test $ht_fftw = yes],
    [FFTW_LIBS="-lfftw3 -lfftw3f"
     AC_DEFINE([HT_HAVE_FFTW], [1], [Define to 1 if FFTW is used.])])
  AM_CONDITIONAL([HT_HAVE_FFTW], [test $ht_fftw = yes])
  AC_SUBST([FFTW_LIBS])
])
