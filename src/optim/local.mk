# Optimizers and schedulers.
libht_objects_la_SOURCES += \
	src/optim/adadelta.c \
	src/optim/adam.c \
	src/optim/adamw.c \
	src/optim/average_parameters.c \
	src/optim/average_parameters.h \
	src/optim/broadcast.c \
	src/optim/clip_grad.c \
	src/optim/cosine_annealing_lr.c \
	src/optim/daso.c \
	src/optim/daso_buffers.c \
	src/optim/daso_exchange.c \
	src/optim/daso_groups.c \
	src/optim/daso_impl.h \
	src/optim/daso_model.c \
	src/optim/daso_options.c \
	src/optim/daso_schedule.c \
	src/optim/daso_schedule.h \
	src/optim/exponential_lr.c \
	src/optim/flat_tensors.c \
	src/optim/flat_tensors.h \
	src/optim/group.c \
	src/optim/hierarchical_averager.c \
	src/optim/linear_lr.c \
	src/optim/multi_step_lr.c \
	src/optim/optim_impl.h \
	src/optim/optimizer.c \
	src/optim/plateau_detector.c \
	src/optim/reduce_lr_on_plateau.c \
	src/optim/rmsprop.c \
	src/optim/scheduler.c \
	src/optim/scheduler_state.c \
	src/optim/settings.c \
	src/optim/sgd.c \
	src/optim/state.c \
	src/optim/step_lr.c \
	src/optim/update.c
