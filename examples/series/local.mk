# An LSTM on a time series.
noinst_PROGRAMS += examples/series/series
examples_series_series_SOURCES = examples/series/series.c
examples_series_series_LDADD = libht.la
examples_series_series_LDFLAGS = $(AM_LDFLAGS) -no-install

seriesdir = $(docdir)/examples/series
dist_series_DATA = examples/series/series.c
