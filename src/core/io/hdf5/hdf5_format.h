/* SPDX-License-Identifier: MIT
 *
 * HDF5 files as parts of a tensor (load_hdf5.c). */
#ifndef HT_CORE_IO_HDF5_HDF5_FORMAT_H
#define HT_CORE_IO_HDF5_HDF5_FORMAT_H

#include "core/io/files/parts.h"

extern const ht_part_format ht__hdf5_format;

#endif
