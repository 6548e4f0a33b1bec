# Sums of gradients, bit for bit the same on all ranks.
libht_objects_la_SOURCES += \
	src/core/exchange/engines.c \
	src/core/exchange/exchange.c \
	src/core/exchange/exchange.h \
	src/core/exchange/half.c \
	src/core/exchange/link.c \
	src/core/exchange/link.h \
	src/core/exchange/memory.c \
	src/core/exchange/message.c \
	src/core/exchange/op.c \
	src/core/exchange/order.c \
	src/core/exchange/path.h \
	src/core/exchange/plan.c \
	src/core/exchange/segment.c \
	src/core/exchange/shared.c \
	src/core/exchange/sum.c \
	src/core/exchange/thread.c

# Included by others, never compiled by itself.
EXTRA_DIST += \
	src/core/exchange/sum.inc.c
