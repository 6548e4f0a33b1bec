# CSV files.
libht_objects_la_SOURCES += \
	src/core/io/csv/csv.h \
	src/core/io/csv/csv_job.h \
	src/core/io/csv/csv_number.c \
	src/core/io/csv/csv_records.c \
	src/core/io/csv/csv_text.c \
	src/core/io/csv/load_csv.c \
	src/core/io/csv/load_csv_folder.c \
	src/core/io/csv/save_csv.c
