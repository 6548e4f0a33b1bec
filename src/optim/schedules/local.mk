# Schedules of learning rates.
libht_objects_la_SOURCES += \
	src/optim/schedules/constant_lr.c \
	src/optim/schedules/cosine_annealing_lr.c \
	src/optim/schedules/cosine_annealing_warm_restarts.c \
	src/optim/schedules/cyclic_lr.c \
	src/optim/schedules/exponential_lr.c \
	src/optim/schedules/lambda_lr.c \
	src/optim/schedules/linear_lr.c \
	src/optim/schedules/momentum.c \
	src/optim/schedules/multi_step_lr.c \
	src/optim/schedules/one_cycle_lr.c \
	src/optim/schedules/polynomial_lr.c \
	src/optim/schedules/reduce_lr_on_plateau.c \
	src/optim/schedules/scheduler.c \
	src/optim/schedules/scheduler_state.c \
	src/optim/schedules/sequential_lr.c \
	src/optim/schedules/step_lr.c \
	src/optim/schedules/swa_lr.c
