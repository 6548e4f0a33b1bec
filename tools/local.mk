# Installed programs.
bin_PROGRAMS += tools/ht-idx2hdf5
tools_ht_idx2hdf5_SOURCES = tools/ht-idx2hdf5.c
tools_ht_idx2hdf5_LDADD = libht.la
