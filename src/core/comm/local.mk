# The world, its topology, waiting with deadlines, agreement. Of the core, only this folder, exchange and collective call MPI.
libht_objects_la_SOURCES += \
	src/core/comm/abort.c \
	src/core/comm/agree.c \
	src/core/comm/children.c \
	src/core/comm/clock.c \
	src/core/comm/comm.c \
	src/core/comm/comm.h \
	src/core/comm/compare.c \
	src/core/comm/compare_call.c \
	src/core/comm/count.c \
	src/core/comm/deadline.c \
	src/core/comm/errors.c \
	src/core/comm/header.c \
	src/core/comm/meta.c \
	src/core/comm/mpi.h \
	src/core/comm/mpi_end.c \
	src/core/comm/raise.c \
	src/core/comm/start.c \
	src/core/comm/topology.c \
	src/core/comm/topology_map.c \
	src/core/comm/topology_map.h \
	src/core/comm/type.c \
	src/core/comm/wait.c \
	src/core/comm/watch.c \
	src/core/comm/watchdog.c \
	src/core/comm/watchdog_ask.c
