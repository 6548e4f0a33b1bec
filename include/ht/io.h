/* SPDX-License-Identifier: MIT
 *
 * Files of tensors: HDF5, .npy and CSV. Source: heat.io. Every loader and saver *agrees*: after an
 * error on one rank it fails on all.
 *
 * Loaders. Each rank opens the file and reads its slab, in the dtype of the file, and converts it.
 * path: a regular file. A loader of a folder takes the path of rank 0. NULL is HT_ERR_ARGUMENT.
 * dtype: the dtype of the result. HT_DTYPE_OF_FILE takes that of the file; for several files, the
 *   one that theirs promote to. uint16 is read as int32 and uint32 as int64. uint64 is read as
 *   int64, and is HT_ERR_FORMAT if a value does not fit. A file of complex numbers needs a complex
 *   dtype. HT_ERR_DTYPE for another dtype; HT_ERR_ARGUMENT for one that does not exist.
 * split, device, comm: as in ht/factories.h, with HT_LOCAL in the short forms. Loaders are
 *   collective over comm, which is ht_get_comm() in the short forms.
 * Result: scoped, without a history. NULL on all ranks after an error on one.
 * Slabs are canonical. Files of a folder are those with the ending, in letters of either case, in
 * the byte order of their names. Folders inside it are left out.
 * Errors: HT_ERR_ARGUMENT if ranks differ in dtype, split or axis. HT_ERR_IO if a file is missing
 * or cannot be read. HT_ERR_FORMAT if its content is wrong, if it has more than HT_MAX_NDIM axes,
 * or if no dtype holds its elements: text, records, longer floats. Messages name the file.
 *
 * Savers. They are collective over the communicator of x, which may have any split and device, and
 * stays as it is. They take the path of rank 0 as it is: unlike numpy.save, they add no ending to
 * it.
 * A new file NAME is written as NAME.part, and renamed when it is complete. An existing file of the
 * name NAME.part is removed. Space is reserved first, so that a full disk is HT_ERR_IO on all
 * ranks. After an error the new file is removed, and the file that it was to replace is intact. A
 * file that is replaced keeps its permissions. A symbolic link stays: the file that it leads to is
 * replaced.
 * A process-local tensor is saved by its rank alone. If several ranks save one each to the same
 * file, the last rank's complete file remains. Instead, give each rank its own file, save on one
 * rank, or save one tensor of all ranks (ht_array_from_local). */
#ifndef HT_IO_H
#define HT_IO_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The dtype of a loader that takes the dtype of the file. */
#define HT_DTYPE_OF_FILE HT_DTYPE_COUNT

/* Loads the data set `dataset` of the HDF5 file path into a tensor of dtype and split.
 *
 * Half precision is read as float32, and a compound {r, i} as complex. An enumeration {FALSE = 0,
 * TRUE = 1} is read as bool; any other is HT_ERR_FORMAT. Messages name the data set, too.
 *
 * Collective, agrees.
 * Errors: also HT_ERR_FORMAT if the file is not HDF5, or if the name belongs to nothing or to an
 * object that is not a data set. The message lists some names of the file. HT_ERR_ARGUMENT if
 * dataset is NULL. Sizes, chunks, filters and the index of the chunks are compared before HDF5 uses
 * them, because HDF5 1.10 reads out of bounds if they do not match. HDF5's older formats have no
 * checksum: changed elements, addresses or element types may load, except by fletcher32. */
HT_API ht_tensor *ht_load_hdf5(const char *path, const char *dataset, ht_dtype dtype, int split);

/* ht_load_hdf5 on device and comm, with the same path, dataset, dtype and split. Collective over
 * comm, agrees. */
HT_API ht_tensor *ht_load_hdf5_ext(const char *path, const char *dataset, ht_dtype dtype, int split,
                                   ht_device *device, ht_comm *comm);

/* Writes x to the HDF5 file path as the data set `dataset`.
 *
 * Each rank writes its slab. If slabs of the split of x would be many short runs of the file, x is
 * resplit along an outer axis for the write. The data set has the dtype of x with these exceptions:
 * bool is stored as uint8, float16 and bfloat16 as float32, and complex as a compound {r, i}.
 *
 * dataset: groups on the way to the name are made.
 * mode: "w" replaces the file. "a" adds to the file, or replaces the data set. If adding fails, the
 *   file is as it was before. Only one rank at a time may add to a file, with a barrier in between.
 * Collective over the communicator of x, agrees.
 * Errors: HT_ERR_ARGUMENT if mode is another, or a name is empty or too long, or dataset has an
 * empty part or ".". HT_ERR_IO if the write fails, or the name in the file belongs to an object
 * that is not a data set. */
HT_API ht_status ht_save_hdf5(ht_tensor *x, const char *path, const char *dataset,
                              const char *mode);

/* Loads the data set `dataset` of every .h5 and .hdf5 file of a folder as one tensor of dtype.
 *
 * The data sets are concatenated along axis 0 in the order of the file names. Each rank opens the
 * files that its slab lies in.
 *
 * folder: the path of the folder.
 * Collective, agrees.
 * Result: split along axis 0.
 * Errors: those of ht_load_hdf5 for each file. HT_ERR_SHAPE if shapes differ along another axis.
 * HT_ERR_IO if the folder has no such file. HT_ERR_ARGUMENT for data sets without axes.
 * Source: heat.load_multiple_hdf5. */
HT_API ht_tensor *ht_load_multiple_hdf5(const char *folder, const char *dataset, ht_dtype dtype);

/* ht_load_multiple_hdf5 of folder, dataset and dtype with any axis and split, on device and comm.
 *
 * axis: the data sets are concatenated along it. HT_ERR_ARGUMENT if they lack it.
 * split: of the result; it may be another axis, or HT_NONE.
 * Collective over comm, agrees. */
HT_API ht_tensor *ht_load_multiple_hdf5_ext(const char *folder, const char *dataset, ht_dtype dtype,
                                            int axis, int split, ht_device *device, ht_comm *comm);

/* Loads NumPy's array in the .npy file path into a tensor of dtype and split.
 *
 * Versions 1 to 3, C and Fortran order, and either byte order are read.
 *
 * Collective, agrees.
 * Errors: HT_ERR_FORMAT also for times and objects, and for a file that is damaged or too short.
 * Source: numpy.load. */
HT_API ht_tensor *ht_load_npy(const char *path, ht_dtype dtype, int split);

/* ht_load_npy on device and comm, with the same path, dtype and split. Collective over comm,
 * agrees. */
HT_API ht_tensor *ht_load_npy_ext(const char *path, ht_dtype dtype, int split, ht_device *device,
                                  ht_comm *comm);

/* Loads all .npy files of a folder as one tensor of dtype.
 *
 * The arrays are concatenated along split in the order of the file names. Each rank reads what its
 * slab needs, for any number of files.
 *
 * path: the path of the folder.
 * split: the axis of the concatenation, and the split of the result.
 * Collective, agrees.
 * Errors: HT_ERR_SHAPE if shapes differ along another axis, or in the number of axes. HT_ERR_IO if
 * the folder has no such file. HT_ERR_ARGUMENT if split is not an axis of them, HT_NONE and
 * HT_LOCAL included.
 * Source: heat.load_npy_from_path. */
HT_API ht_tensor *ht_load_npy_from_path(const char *path, ht_dtype dtype, int split);

/* ht_load_npy_from_path of path and dtype with any split, on device and comm.
 *
 * axis: the arrays are concatenated along it. HT_ERR_ARGUMENT if they lack it.
 * split: of the result; it may be another axis, or HT_NONE.
 * Collective over comm, agrees. */
HT_API ht_tensor *ht_load_npy_from_path_ext(const char *path, ht_dtype dtype, int axis, int split,
                                            ht_device *device, ht_comm *comm);

/* Writes x to the .npy file path, version 1.0, in row-major order.
 *
 * Each rank writes its slab. If slabs of the split of x would be many short runs of the file, x is
 * resplit along an outer axis for the write. The file has the dtype of x, except that bfloat16 is
 * stored as float32.
 *
 * Collective over the communicator of x, agrees.
 * Errors: HT_ERR_IO if the write fails.
 * Source: numpy.save. */
HT_API ht_status ht_save_npy(ht_tensor *x, const char *path);

/* Loads a table of numbers from the CSV file path into a (rows, columns) tensor.
 *
 * Each rank reads a range of bytes. All records have as many fields as the first. Lines end in LF
 * or CR LF; empty lines are skipped. Blanks around a field are ignored. A field may be in quotes,
 * with separators, line ends and doubled quotes inside.
 * Numbers are decimal ones, nan, inf and infinity; the locale does not matter. A bool may also be
 * true or false. A number becomes the nearest one of dtype; float16 and bfloat16 are rounded from
 * the nearest float64. An empty field is NaN in a floating dtype.
 *
 * header_lines: the number of lines to skip at the start of the file; at least 0.
 * separator: not a letter, a digit, a quote, a line end, NUL or one of + - and the point.
 * dtype: not complex; HT_DTYPE_OF_FILE is float64.
 * split: of the result.
 * Collective, agrees.
 * Result: (0, 0) for a file without records.
 * Errors: HT_ERR_FORMAT for a field that is not a number of dtype, or another number of fields; the
 * message has line and column. Integers and bool do not allow an empty field, a fraction (2.5) or a
 * number out of range. HT_ERR_ARGUMENT for another header_lines or separator, or if ranks differ in
 * them. HT_ERR_DTYPE for a complex dtype.
 * Source: heat.load_csv. */
HT_API ht_tensor *ht_load_csv(const char *path, int header_lines, char separator, ht_dtype dtype,
                              int split);

/* ht_load_csv on device and comm, with the same path, header_lines, separator, dtype and split.
 * Collective over comm, agrees. */
HT_API ht_tensor *ht_load_csv_ext(const char *path, int header_lines, char separator,
                                  ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* Loads all .csv files of a folder as one tensor: ht_load_csv of each, in the order of their names.
 *
 * path: the path of the folder.
 * header_lines, separator, dtype: those of ht_load_csv, for each file.
 * axis: the tables are concatenated along it, and the result is split along it; HT_NONE is 0.
 * Collective, agrees.
 * Errors: those of ht_load_csv for each file. HT_ERR_SHAPE if tables differ along the other axis.
 * HT_ERR_IO if the folder has no such file. HT_ERR_ARGUMENT for another axis.
 * Source: heat.load_csv_from_folder, which skips one line of each file. */
HT_API ht_tensor *ht_load_csv_from_folder(const char *path, int header_lines, char separator,
                                          ht_dtype dtype, int axis);

/* Writes x to the CSV file path: the header, and then a line for each row.
 *
 * The locale does not matter. Bool is written as 1 or 0, and non-finite values as nan, inf or -inf.
 *
 * x: one axis (one number a line) or two, not complex.
 * header: the text before the rows; a line end is added unless it has one. NULL or "": no header.
 * decimals: the digits after the point of a floating dtype, up to 60. A negative value writes as
 *   many digits as are needed to read the same numbers again.
 * separator: stands between the numbers of a row; ht_load_csv has the rules.
 * Collective over the communicator of x, agrees.
 * Errors: HT_ERR_SHAPE or HT_ERR_DTYPE if x does not fit. HT_ERR_ARGUMENT if decimals or separator
 * is invalid. HT_ERR_IO if the write fails. HT_ERR_MEMORY if the text of a rank is too large.
 * Source: heat.save_csv, whose header is a list of lines and whose columns are all as wide as the
 * widest number. */
HT_API ht_status ht_save_csv(ht_tensor *x, const char *path, const char *header, int decimals,
                             char separator);

/* Loads the file path with the loader that the end of its name tells.
 *
 * .h5 and .hdf5: ht_load_hdf5. .npy: ht_load_npy. .csv: ht_load_csv with commas and no header
 * lines. .safetensors: ht_load_safetensors. Letters of either case are accepted.
 *
 * dataset: the name of the tensor in an HDF5 or safetensors file; NULL for the other formats.
 * dtype, split: as for that loader.
 * Collective, agrees.
 * Errors: those of that loader. HT_ERR_ARGUMENT for any other end, or if dataset does not fit the
 * format.
 * Source: heat.load. */
HT_API ht_tensor *ht_load(const char *path, const char *dataset, ht_dtype dtype, int split);

/* Writes x to the file path with the saver that the end of its name tells.
 *
 * .h5 and .hdf5: ht_save_hdf5 with "w". .npy: ht_save_npy. .csv: ht_save_csv with commas, no header
 * and as many digits as needed. .safetensors: ht_save_safetensors. Letters of either case are
 * accepted.
 *
 * dataset: the name of the tensor in an HDF5 or safetensors file; NULL for the other formats.
 * Collective over the communicator of x, agrees.
 * Errors: those of that saver. HT_ERR_ARGUMENT for any other end, or if dataset does not fit the
 * format.
 * Source: heat.save. */
HT_API ht_status ht_save(ht_tensor *x, const char *path, const char *dataset);

/* Locks HDF5 for the calling thread.
 *
 * HDF5 is not thread-safe, and the library reads on further threads. A program that calls HDF5
 * itself while loaders are alive takes this lock around its calls. A thread may take it again.
 *
 * Not collective. */
HT_API void ht_hdf5_lock(void);

/* Releases one ht_hdf5_lock of the calling thread, which must hold it. Not collective. */
HT_API void ht_hdf5_unlock(void);

HT_END_DECLS
#endif
