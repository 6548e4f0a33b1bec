# Installed programs.
bin_PROGRAMS += tools/ht-idx2hdf5
tools_ht_idx2hdf5_SOURCES = tools/ht-idx2hdf5.c tools/output.h
tools_ht_idx2hdf5_LDADD = libht.la

# It shows what is inside the library, so it is linked with the objects, not with the shared library.
bin_PROGRAMS += tools/ht-info
tools_ht_info_SOURCES = tools/ht-info.c tools/output.h
tools_ht_info_LDADD = libht_objects.la

bin_PROGRAMS += tools/ht-run
tools_ht_run_SOURCES = tools/ht-run.c tools/output.h tools/written.c tools/written.h
tools_ht_run_LDADD =
