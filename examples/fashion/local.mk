# The short way to the same job: auto_model, train_step and checkpoints in one file.
noinst_PROGRAMS += examples/fashion/fashion
examples_fashion_fashion_SOURCES = examples/fashion/fashion.c
examples_fashion_fashion_LDADD = libht.la
examples_fashion_fashion_LDFLAGS = $(AM_LDFLAGS) -no-install

# Users find the sources next to the documents.
fashiondir = $(docdir)/examples/fashion
dist_fashion_DATA = examples/fashion/fashion.c
