# Rows of operations element by element, a file for each topic.
libht_objects_la_SOURCES += \
	src/core/ops/elementwise/arithmetics.c \
	src/core/ops/elementwise/bitwise.c \
	src/core/ops/elementwise/complex_math.c \
	src/core/ops/elementwise/conj.c \
	src/core/ops/elementwise/division.c \
	src/core/ops/elementwise/exponential.c \
	src/core/ops/elementwise/logical.c \
	src/core/ops/elementwise/relational.c \
	src/core/ops/elementwise/rounding.c \
	src/core/ops/elementwise/trigonometrics.c \
	src/core/ops/elementwise/where.c
