# The main job. -no-install makes it a plain program in build/, not a script that finds libht first.
noinst_PROGRAMS += examples/mnist/mnist
examples_mnist_mnist_SOURCES = \
	examples/mnist/curves.c \
	examples/mnist/curves.h \
	examples/mnist/digest.c \
	examples/mnist/digest.h \
	examples/mnist/files.c \
	examples/mnist/files.h \
	examples/mnist/images.c \
	examples/mnist/images.h \
	examples/mnist/job.c \
	examples/mnist/job.h \
	examples/mnist/json.c \
	examples/mnist/mnist.c \
	examples/mnist/net.c \
	examples/mnist/net.h \
	examples/mnist/options.c \
	examples/mnist/options.h \
	examples/mnist/parallel.c \
	examples/mnist/parallel.h \
	examples/mnist/report.c \
	examples/mnist/report.h \
	examples/mnist/sha256.c \
	examples/mnist/sha256.h
examples_mnist_mnist_LDADD = libht.la
examples_mnist_mnist_LDFLAGS = $(AM_LDFLAGS) -no-install

mnistdir = $(docdir)/examples/mnist
dist_mnist_DATA = $(examples_mnist_mnist_SOURCES)
