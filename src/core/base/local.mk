# Errors, memory, objects, scopes, the log, types.
libht_objects_la_SOURCES += \
	src/core/base/at_finalize.c \
	src/core/base/base.h \
	src/core/base/environment.c \
	src/core/base/environment.h \
	src/core/base/environment_check.c \
	src/core/base/error.c \
	src/core/base/grad_mode.c \
	src/core/base/half.h \
	src/core/base/log.c \
	src/core/base/memory.c \
	src/core/base/name.c \
	src/core/base/number.c \
	src/core/base/number.h \
	src/core/base/object.c \
	src/core/base/process.c \
	src/core/base/quarantine.h \
	src/core/base/scope.c \
	src/core/base/site.c \
	src/core/base/site.h \
	src/core/base/stop_signal.c \
	src/core/base/type_info.c \
	src/core/base/types.c \
	src/core/base/version.c

if HT_DEBUG
libht_objects_la_SOURCES += src/core/base/quarantine.c
endif
