# Least squares and their residual.
noinst_PROGRAMS += examples/fit/fit
examples_fit_fit_SOURCES = examples/fit/fit.c
examples_fit_fit_LDADD = libht.la
examples_fit_fit_LDFLAGS = $(AM_LDFLAGS) -no-install

fitdir = $(docdir)/examples/fit
dist_fit_DATA = examples/fit/fit.c
