# HT_ONEDNN
# --with-onednn=yes|no|guess. Sets ONEDNN_LIBS, HT_HAVE_ONEDNN and the conditional of that name.
# Debian's package has no .pc file, so header and library are tried directly.
AC_DEFUN([HT_ONEDNN], [
  AC_ARG_WITH([onednn],
    [AS_HELP_STRING([--with-onednn=yes|no|guess],
      [use oneDNN for convolutions and skinny products [guess]])],
    [], [with_onednn=guess])
  AS_CASE([$with_onednn], [yes|no|guess], [],
    [AC_MSG_ERROR([--with-onednn takes yes, no or guess, not $with_onednn])])

  ONEDNN_LIBS=
  ht_onednn=no
  AS_IF([test "$with_onednn" != no], [
    ht_save_LIBS=$LIBS
    AC_CHECK_HEADER([oneapi/dnnl/dnnl.h],
      [AC_SEARCH_LIBS([dnnl_sgemm], [dnnl], [ht_onednn=yes])])
    LIBS=$ht_save_LIBS
    AS_CASE([$ac_cv_search_dnnl_sgemm], [-l*], [ONEDNN_LIBS=$ac_cv_search_dnnl_sgemm])
    AS_IF([test "$with_onednn $ht_onednn" = "yes no"],
      [AC_MSG_ERROR([--with-onednn was given, but oneDNN was not found (Debian: libdnnl-dev)])])
  ])

  AS_IF([test $ht_onednn = yes],
    [AC_DEFINE([HT_HAVE_ONEDNN], [1], [Define to 1 if oneDNN is used.])])
  AM_CONDITIONAL([HT_HAVE_ONEDNN], [test $ht_onednn = yes])
  AC_SUBST([ONEDNN_LIBS])
])
