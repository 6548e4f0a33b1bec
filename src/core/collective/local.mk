# Communication of tensors.
libht_objects_la_SOURCES += \
	src/core/collective/alike.c \
	src/core/collective/alltoall.c \
	src/core/collective/alltoallv.c \
	src/core/collective/alltoallw.c \
	src/core/collective/bsend.c \
	src/core/collective/buffer.c \
	src/core/collective/call.h \
	src/core/collective/check.c \
	src/core/collective/collective.c \
	src/core/collective/collective.h \
	src/core/collective/deal.c \
	src/core/collective/gather.c \
	src/core/collective/gather.h \
	src/core/collective/gather_open.c \
	src/core/collective/igather.c \
	src/core/collective/p2p.c \
	src/core/collective/post.c \
	src/core/collective/posted.c \
	src/core/collective/reduce_scatter.c \
	src/core/collective/request.c \
	src/core/collective/sum.c

# Included by others, never compiled by itself.
EXTRA_DIST += \
	src/core/collective/moments.inc.c \
	src/core/collective/sum.inc.c
