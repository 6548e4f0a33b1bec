# A filter by Fourier transforms.
noinst_PROGRAMS += examples/lowpass/lowpass
examples_lowpass_lowpass_SOURCES = examples/lowpass/lowpass.c
examples_lowpass_lowpass_LDADD = libht.la
examples_lowpass_lowpass_LDFLAGS = $(AM_LDFLAGS) -no-install

lowpassdir = $(docdir)/examples/lowpass
dist_lowpass_DATA = examples/lowpass/lowpass.c
