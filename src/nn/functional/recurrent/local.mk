# Recurrent networks, and the loss of their sequences.
libht_objects_la_SOURCES += \
	src/nn/functional/recurrent/cells.c \
	src/nn/functional/recurrent/ctc_loss.c \
	src/nn/functional/recurrent/direction.c \
	src/nn/functional/recurrent/direction.h \
	src/nn/functional/recurrent/layer.c \
	src/nn/functional/recurrent/layer.h \
	src/nn/functional/recurrent/recurrent.c
