# The heat equation with halos.
noinst_PROGRAMS += examples/diffusion/diffusion
examples_diffusion_diffusion_SOURCES = examples/diffusion/diffusion.c
examples_diffusion_diffusion_LDADD = libht.la
examples_diffusion_diffusion_LDFLAGS = $(AM_LDFLAGS) -no-install

diffusiondir = $(docdir)/examples/diffusion
dist_diffusion_DATA = examples/diffusion/diffusion.c
