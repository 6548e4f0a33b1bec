# Training steps: wrappers of optimizers, losses.
libht_objects_la_SOURCES += \
	src/nn/step/auto_model.c \
	src/nn/step/loss_scaler.c \
	src/nn/step/optim_wrapper.c \
	src/nn/step/optim_wrapper.h \
	src/nn/step/parse_losses.c \
	src/nn/step/train_step.c
