# A Transformer on the characters of a text.
noinst_PROGRAMS += examples/chars/chars
examples_chars_chars_SOURCES = examples/chars/chars.c
examples_chars_chars_LDADD = libht.la
examples_chars_chars_LDFLAGS = $(AM_LDFLAGS) -no-install

charsdir = $(docdir)/examples/chars
dist_chars_DATA = examples/chars/chars.c
