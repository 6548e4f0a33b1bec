# The rules by which optimizers update.
libht_objects_la_SOURCES += \
	src/optim/rules/adadelta.c \
	src/optim/rules/adafactor.c \
	src/optim/rules/adagrad.c \
	src/optim/rules/adam.c \
	src/optim/rules/adamax.c \
	src/optim/rules/asgd.c \
	src/optim/rules/lbfgs.c \
	src/optim/rules/lbfgs.h \
	src/optim/rules/lbfgs_line.c \
	src/optim/rules/lbfgs_memory.c \
	src/optim/rules/muon.c \
	src/optim/rules/nadam.c \
	src/optim/rules/operations.c \
	src/optim/rules/radam.c \
	src/optim/rules/rmsprop.c \
	src/optim/rules/rprop.c \
	src/optim/rules/rule.h \
	src/optim/rules/sgd.c \
	src/optim/rules/sparse_adam.c
