# k-means on an HDF5 data set.
noinst_PROGRAMS += examples/kmeans/kmeans
examples_kmeans_kmeans_SOURCES = examples/kmeans/kmeans.c
examples_kmeans_kmeans_LDADD = libht.la
examples_kmeans_kmeans_LDFLAGS = $(AM_LDFLAGS) -no-install

kmeansdir = $(docdir)/examples/kmeans
dist_kmeans_DATA = examples/kmeans/kmeans.c
