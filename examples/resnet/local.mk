# A ResNet-18 on images, with augmentation.
noinst_PROGRAMS += examples/resnet/resnet
examples_resnet_resnet_SOURCES = examples/resnet/resnet.c
examples_resnet_resnet_LDADD = libht.la
examples_resnet_resnet_LDFLAGS = $(AM_LDFLAGS) -no-install

resnetdir = $(docdir)/examples/resnet
dist_resnet_DATA = examples/resnet/resnet.c
