/* SPDX-License-Identifier: MIT
 *
 * Printing tensors as NumPy does, summarised above 1000 elements. Source: heat.printing. */
#ifndef HT_PRINTING_H
#define HT_PRINTING_H

#include <stdio.h>

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Writes x to `stream` on rank 0 of its communicator. A process-local tensor is written by every
 * rank that calls this, after "[rank/ranks] " as Heat's local printing does it; one rank alone
 * writes it inside if (ht_comm_rank(HT_COMM_WORLD) == 0). Collective if x is split; only the shown
 * elements travel. */
HT_API ht_status ht_print(ht_tensor *x, FILE *stream);

/* The text of ht_print on every rank, to be freed with free(). Collective if x is split. */
HT_API char *ht_tensor_str(ht_tensor *x);

HT_API void ht_set_printoptions(int precision, int threshold, int edgeitems); /* 4, 1000, 3 */
/* NULL: not wanted. */
HT_API void ht_get_printoptions(int *precision, int *threshold, int *edgeitems);

/* Writes what the library was built with and what it sees, as ht-info prints it: libraries, SIMD
 * level, threads, nodes with their ranks, devices. Rank 0 of `comm` writes to `file`, which may be
 * NULL on the others. Collective over `comm`. Errors: HT_ERR_ARGUMENT. Source:
 * numpy.show_config. */
HT_API ht_status ht_show_config(ht_comm *comm, FILE *file);

HT_END_DECLS
#endif
