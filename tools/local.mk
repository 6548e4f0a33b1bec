# Installed programs. They find the library by where they are, so that the folder of the installation may be moved.
tools_ldflags = $(AM_LDFLAGS) \
	-Wl,-rpath,"\$$ORIGIN/`realpath -m --relative-to='$(bindir)' '$(libdir)'`"

bin_PROGRAMS += tools/ht-idx2hdf5
tools_ht_idx2hdf5_SOURCES = tools/ht-idx2hdf5.c tools/output.h
tools_ht_idx2hdf5_LDADD = libht.la
tools_ht_idx2hdf5_LDFLAGS = $(tools_ldflags)

bin_PROGRAMS += tools/ht-info
tools_ht_info_SOURCES = tools/ht-info.c tools/output.h
tools_ht_info_LDADD = libht.la
tools_ht_info_LDFLAGS = $(tools_ldflags)

bin_PROGRAMS += tools/ht-run
tools_ht_run_SOURCES = tools/ht-run.c tools/output.h tools/written.c tools/written.h
tools_ht_run_LDADD =

# The module for CUDA with its tests and benchmarks, for a host with a GPU and nothing else: `make gpu-bundle`.
EXTRA_DIST += tools/gpu/bundle.sh tools/gpu/gpu-step tools/gpu/mpirun tools/gpu/run-gpu tools/gpu/start
