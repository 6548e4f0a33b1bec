# HT_DEPFILES
# Makes the empty files that make reads dependencies from in a fresh build, before automake's own command does, which
# starts three processes for each of them: half of the time of configure. It must stand before AM_INIT_AUTOMAKE.
AC_DEFUN([HT_DEPFILES], [
  AC_CONFIG_COMMANDS([empty-depfiles],
    [AS_IF([test "x$AMDEP_TRUE" = x],
      [[ht_files=$(sed -n '/^am__depfiles_remade = /,/[^\\]$/p' Makefile | tr ' \t' '\n\n' | sed -n "s/.(DEPDIR)/$DEPDIR/p")
        mkdir -p $(echo "$ht_files" | sed 's|/[^/]*$||' | sort -u)
        for ht_file in $ht_files; do
          test -f "$ht_file" || echo '# dummy' >"$ht_file"
        done]])],
    [AMDEP_TRUE="$AMDEP_TRUE" DEPDIR="$DEPDIR"])
])
