# Tensors, communication, autograd, devices. Files of the folder, headers included, in order.
libht_objects_la_SOURCES += \
	src/core/allocator.c \
	src/core/arithmetics.c \
	src/core/autograd.c \
	src/core/backend.c \
	src/core/body.c \
	src/core/check.c \
	src/core/communication.c \
	src/core/communication_abort.c \
	src/core/communication_agree.c \
	src/core/communication_alltoall.c \
	src/core/communication_buffer.c \
	src/core/communication_check.c \
	src/core/communication_collective.c \
	src/core/communication_count.c \
	src/core/communication_exchange.c \
	src/core/communication_exchange_message.c \
	src/core/communication_exchange_shared.c \
	src/core/communication_exchange_sum.c \
	src/core/communication_gather.c \
	src/core/communication_init.c \
	src/core/communication_meta.c \
	src/core/communication_p2p.c \
	src/core/communication_request.c \
	src/core/communication_topology.c \
	src/core/communication_type.c \
	src/core/communication_wait.c \
	src/core/concatenate.c \
	src/core/core.c \
	src/core/core.h \
	src/core/device.c \
	src/core/driver_binary.c \
	src/core/driver_cumulative.c \
	src/core/driver_local.c \
	src/core/driver_reduce.c \
	src/core/engine.c \
	src/core/error.c \
	src/core/exchange.h \
	src/core/exchange_path.h \
	src/core/exponential.c \
	src/core/factories.c \
	src/core/half.h \
	src/core/linalg.c \
	src/core/log.c \
	src/core/loop.c \
	src/core/memory.c \
	src/core/message.h \
	src/core/move.c \
	src/core/node.c \
	src/core/node.h \
	src/core/object.c \
	src/core/printing.c \
	src/core/random.c \
	src/core/relational.c \
	src/core/reshape.c \
	src/core/resplit.c \
	src/core/scope.c \
	src/core/statistics.c \
	src/core/storage.c \
	src/core/tensor.c \
	src/core/types.c \
	src/core/value.c \
	src/core/version.c \
	src/core/views.c

# Included by others, never compiled by itself.
EXTRA_DIST += src/core/exchange_sum.inc.c
