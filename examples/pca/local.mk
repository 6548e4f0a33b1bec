# Principal components by the singular value decomposition.
noinst_PROGRAMS += examples/pca/pca
examples_pca_pca_SOURCES = examples/pca/pca.c
examples_pca_pca_LDADD = libht.la
examples_pca_pca_LDFLAGS = $(AM_LDFLAGS) -no-install

pcadir = $(docdir)/examples/pca
dist_pca_DATA = examples/pca/pca.c
