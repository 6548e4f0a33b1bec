# Statistics of a CSV file.
noinst_PROGRAMS += examples/table/table
examples_table_table_SOURCES = examples/table/table.c
examples_table_table_LDADD = libht.la
examples_table_table_LDFLAGS = $(AM_LDFLAGS) -no-install

tabledir = $(docdir)/examples/table
dist_table_DATA = examples/table/table.c
