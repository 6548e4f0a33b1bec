# Modules, losses, initialisation, and the data-parallel wrappers.
libht_objects_la_SOURCES += \
	src/nn/address_set.c \
	src/nn/functional/conv2d.c \
	src/nn/functional/dropout.c \
	src/nn/functional/functional_impl.c \
	src/nn/functional/functional_impl.h \
	src/nn/functional/linear.c \
	src/nn/functional/log_softmax.c \
	src/nn/functional/max_pool2d.c \
	src/nn/functional/nll_loss.c \
	src/nn/functional/relu.c \
	src/nn/init.c \
	src/nn/init.h \
	src/nn/layers_activation.c \
	src/nn/layers_conv2d.c \
	src/nn/layers_dropout.c \
	src/nn/layers_linear.c \
	src/nn/layers_sequential.c \
	src/nn/layers_shape.c \
	src/nn/module.c \
	src/nn/module_clone.c \
	src/nn/module_file.c \
	src/nn/module_file.h \
	src/nn/module_forward.c \
	src/nn/module_guard.c \
	src/nn/module_impl.h \
	src/nn/module_load.c \
	src/nn/module_print.c \
	src/nn/module_save.c \
	src/nn/module_state.c \
	src/nn/module_tree.c
