/* SPDX-License-Identifier: MIT
 *
 * Printing tensors as NumPy does, summarised above 1000 elements, after a line of their attributes:
 *
 *     ht_tensor(shape=(2, 2), dtype=float32, device=cpu:0, split=none)
 *     [[1.0000, 0.0000],
 *      [0.0000, 1.0000]]
 *
 * Source: heat.printing. */
#ifndef HT_PRINTING_H
#define HT_PRINTING_H

#include <stdio.h>

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Writes the text of x and a newline to stream on rank 0 of its communicator.
 *
 * A process-local tensor is written by every rank that calls this, after "[rank/ranks] ", like
 * Heat's local printing. Inside if (ht_comm_rank(HT_COMM_WORLD) == 0) one rank alone writes it.
 *
 * stream: not NULL on any rank.
 * Collective, agrees, if x is split; only the elements that are shown travel.
 * Errors: HT_ERR_ARGUMENT for a NULL x or stream. */
HT_API ht_status ht_print(ht_tensor *x, FILE *stream);

/* Returns the text of x that ht_print writes, on every rank; without "[rank/ranks] " and the
 * newline at its end.
 *
 * Collective if x is split.
 * Result: owned; the caller passes it to free(). NULL after an error. */
HT_API char *ht_tensor_str(ht_tensor *x);

/* Sets how the process prints tensors.
 *
 * precision: digits after the point, at most 100; 4 by default.
 * threshold: a tensor with more elements is summarised; 1000 by default.
 * edgeitems: the items at each end of an axis that a summary shows; 3 by default.
 * Not collective; ranks that print a split tensor use the same threshold and edgeitems.
 * Errors: HT_ERR_ARGUMENT (ht_error_get) if a number is below 0 or precision is above 100; then
 * none is set. */
HT_API void ht_set_printoptions(int precision, int threshold, int edgeitems);

/* Writes the current options to *precision, *threshold and *edgeitems; NULL skips one. Not
 * collective. */
HT_API void ht_get_printoptions(int *precision, int *threshold, int *edgeitems);

/* Writes the features of the library and of the machine, as ht-info prints them.
 *
 * They are libraries, SIMD level, threads, nodes with their ranks, and devices.
 *
 * file: rank 0 of comm writes to it; may be NULL on the other ranks.
 * Collective over comm.
 * Errors: HT_ERR_ARGUMENT if comm is NULL, or file is NULL on rank 0.
 * Source: numpy.show_config. */
HT_API ht_status ht_show_config(ht_comm *comm, FILE *file);

HT_END_DECLS
#endif
