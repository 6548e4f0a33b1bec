/* SPDX-License-Identifier: MIT
 *
 * Files. Source: heat.io. */
#ifndef HT_IO_H
#define HT_IO_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* As the dtype of a loader: the file's own, or of several files what theirs promote to. */
#define HT_DTYPE_OF_FILE HT_DTYPE_COUNT

/* The data set `dataset` of an HDF5 file as a tensor of `dtype` (HT_DTYPE_OF_FILE: of the file's
 * own). Each rank opens the file by itself and reads its slab along `split` in the file's own type;
 * split, and the long form, as in ht/factories.h. uint16 is read as int32, uint32 as int64, half
 * precision as float32, and uint64 as int64 if its values fit. Complex elements are read as a
 * complex dtype only (HT_ERR_DTYPE). An enumeration is a bool if it is {FALSE = 0, TRUE = 1}, and
 * an error otherwise. `path` must be a regular file. Collective, agrees: dtype and split must be
 * the same on all ranks. Errors name file and data set: HT_ERR_IO, HT_ERR_FORMAT. */
HT_API ht_tensor *ht_load_hdf5(const char *path, const char *dataset, ht_dtype dtype, int split);
HT_API ht_tensor *ht_load_hdf5_ext(const char *path, const char *dataset, ht_dtype dtype, int split,
                                   ht_device *device, ht_comm *comm);

/* Writes x as `dataset`, each rank its slab (it is split along an outer axis meanwhile where
 * slabs of its own split would be many short runs of the file), in x's dtype (bool as uint8;
 * float16 and bfloat16 as float32; complex as a compound {r, i}). mode "w" makes the file anew, "a"
 * adds to it or replaces the data set. Space is reserved first, so that a full disk is HT_ERR_IO on
 * all ranks; what could not be finished is removed, and a file that was to be replaced or added to
 * is as it was. Permissions of a file that is replaced stay; what a symbolic link leads to is
 * replaced.
 *
 * A process-local tensor is saved by its rank alone. Where ranks that each save one name the same
 * file with "w", the file is that of the last one, whole; give each rank a file of its own, save on
 * one rank, or save one tensor of all ranks (ht_array_from_local). "a" to one file is for one rank
 * at a time, with a barrier in between. Rank 0's path counts. Collective over x's communicator,
 * agrees. */
HT_API ht_status ht_save_hdf5(ht_tensor *x, const char *path, const char *dataset,
                              const char *mode);

/* The data set `dataset` of each .h5 and .hdf5 file of a folder, in the order of their names,
 * concatenated along axis 0 and split along it, or as the long form says. Shapes may differ along
 * the axis alone (HT_ERR_SHAPE); each rank opens the files that its slab lies in. HT_DTYPE_OF_FILE:
 * what their dtypes promote to. Collective, agrees. Source: heat.load_multiple_hdf5. */
HT_API ht_tensor *ht_load_multiple_hdf5(const char *folder, const char *dataset, ht_dtype dtype);
HT_API ht_tensor *ht_load_multiple_hdf5_ext(const char *folder, const char *dataset, ht_dtype dtype,
                                            int axis, int split, ht_device *device, ht_comm *comm);

/* NumPy's file of one array (.npy, versions 1 to 3, C and Fortran order, either byte order) as a
 * tensor of `dtype` (HT_DTYPE_OF_FILE: of the file's own), each rank reading its slab by itself;
 * split, and the long form, as in ht/factories.h. uint16 is read as int32, uint32 as int64, and
 * uint64 as int64 if its values fit; complex elements are read as a complex dtype only
 * (HT_ERR_DTYPE). Longer floats, texts, times, records and objects are HT_ERR_FORMAT, as is a file
 * that is damaged or too short. Collective, agrees. Errors name the file: HT_ERR_IO,
 * HT_ERR_FORMAT. Source: numpy.load. */
HT_API ht_tensor *ht_load_npy(const char *path, ht_dtype dtype, int split);
HT_API ht_tensor *ht_load_npy_ext(const char *path, ht_dtype dtype, int split, ht_device *device,
                                  ht_comm *comm);

/* All .npy files of a folder, in the order of their names, concatenated along an axis: `split` of
 * the short form, along which the result is split, too. Shapes may differ along it alone; each rank
 * reads what its slab needs, whatever the number of files. HT_DTYPE_OF_FILE: what their dtypes
 * promote to. A folder without such a file is HT_ERR_IO, shapes that do not fit are HT_ERR_SHAPE.
 * Collective, agrees. Source: heat.load_npy_from_path. */
HT_API ht_tensor *ht_load_npy_from_path(const char *path, ht_dtype dtype, int split);
HT_API ht_tensor *ht_load_npy_from_path_ext(const char *path, ht_dtype dtype, int axis, int split,
                                            ht_device *device, ht_comm *comm);

/* Writes x as a .npy file of version 1.0 in row-major order, each rank its slab, in x's dtype
 * (bfloat16 as float32). The file gets its name when it is whole, as ht_save_hdf5's with "w":
 * space, permissions, links and process-local tensors as there. Collective over x's communicator,
 * agrees. Errors: HT_ERR_IO. Source: numpy.save. */
HT_API ht_status ht_save_npy(ht_tensor *x, const char *path);

/* A table of numbers as text, (rows, columns), of a dtype that is not complex (HT_DTYPE_OF_FILE:
 * float64), each rank reading a range of bytes. The first `header_lines` lines are skipped, and
 * lines with nothing in them. A field may be in quotes, with separators, lines and doubled quotes
 * inside; blanks around it do not count; lines end in LF or CR LF. Numbers are decimal ones, nan,
 * inf and infinity, whatever the locale, and read exactly; of bool also true and false. An empty
 * field is NaN in floating dtypes, and an error in others, as are 2.5 for an integer and numbers
 * out of the dtype's range. All records have as many fields as the first. Errors name file, line
 * and column (HT_ERR_FORMAT). A file without records is (0, 0). Split, and the long form, as in
 * ht/factories.h. Collective, agrees. Source: heat.load_csv. */
HT_API ht_tensor *ht_load_csv(const char *path, int header_lines, char separator, ht_dtype dtype,
                              int split);
HT_API ht_tensor *ht_load_csv_ext(const char *path, int header_lines, char separator,
                                  ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* All .csv files of a folder, in the order of their names, concatenated along an axis and split
 * along it. Collective, agrees. Source: heat.load_csv_from_folder, which skips one line of each. */
HT_API ht_tensor *ht_load_csv_from_folder(const char *path, int header_lines, char separator,
                                          ht_dtype dtype, int axis);

/* Writes x, of one axis (a number a line) or two, not complex, as text: first the header (NULL:
 * none; a line's end is added unless it has one), then a line for each row. `decimals` digits
 * follow the point, up to 60; fewer than 0: as many digits as it takes to read the same numbers
 * again. Whatever the locale. The file gets its name when it is whole, as ht_save_hdf5's with "w".
 * Collective over x's communicator, agrees. Source: heat.save_csv, whose header is lines and whose
 * columns are as wide as the widest. */
HT_API ht_status ht_save_csv(ht_tensor *x, const char *path, const char *header, int decimals,
                             char separator);

/* The file of this name, whose end tells the format (in letters of either case): .h5 and .hdf5
 * (ht_load_hdf5, ht_save_hdf5 with "w"), which need the name of a data set, .npy (ht_load_npy,
 * ht_save_npy) and .csv (ht_load_csv and ht_save_csv, commas, no header), which have none: NULL.
 * Any other end is HT_ERR_ARGUMENT. Collective, agrees. Source: heat.load, heat.save. */
HT_API ht_tensor *ht_load(const char *path, const char *dataset, ht_dtype dtype, int split);
HT_API ht_status ht_save(ht_tensor *x, const char *path, const char *dataset);

/* HDF5 is not thread-safe and the library reads on threads of its own: a program that calls HDF5
 * itself while loaders are alive holds this lock around its calls. Not collective. */
HT_API void ht_hdf5_lock(void);
HT_API void ht_hdf5_unlock(void);

HT_END_DECLS
#endif
