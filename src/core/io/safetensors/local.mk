# safetensors files.
libht_objects_la_SOURCES += \
	src/core/io/safetensors/header.c \
	src/core/io/safetensors/json.c \
	src/core/io/safetensors/json.h \
	src/core/io/safetensors/json_mark.c \
	src/core/io/safetensors/json_string.c \
	src/core/io/safetensors/load_safetensors.c \
	src/core/io/safetensors/make_header.c \
	src/core/io/safetensors/read_header.c \
	src/core/io/safetensors/safetensors.h \
	src/core/io/safetensors/save_safetensors.c
