/* SPDX-License-Identifier: MIT
 *
 * NCCL as a transport between the devices of ranks. nccl.c calls the library, which is loaded when
 * it is first needed; tests link a small replacement, which needs no GPU. Each call that returns an
 * int returns 0 or an error of NCCL, which ht_cuda_nccl_text() puts into words. */
#ifndef HT_BACKENDS_CUDA_LIBRARY_NCCL_H
#define HT_BACKENDS_CUDA_LIBRARY_NCCL_H

#include "ht/backend.h"

HT_BEGIN_DECLS

enum { HT_CUDA_NCCL_ROOM = 256 };

/* Returns false if the library cannot be loaded, and writes the reason to `missing`, which has
 * HT_CUDA_NCCL_ROOM characters. version: 22809 is 2.28.9. */
bool ht_cuda_nccl_load(int *version, char *missing);
const char *ht_cuda_nccl_text(int error);

/* The id of a new communicator, made by one rank for all. join: the device of the thread; all ranks
 * call it, and it waits for them. */
int ht_cuda_nccl_id(unsigned char id[HT_LINK_ID]);
int ht_cuda_nccl_join(void **comm, const unsigned char id[HT_LINK_ID], int rank, int size);

/* Between begin and end: messages that leave together, as one piece of work of the stream. */
int ht_cuda_nccl_begin(void);
int ht_cuda_nccl_send(void *comm, const void *data, size_t bytes, int to, void *stream);
int ht_cuda_nccl_receive(void *comm, void *data, size_t bytes, int from, void *stream);
int ht_cuda_nccl_end(void);

int ht_cuda_nccl_error(void *comm); /* of messages that have left */

/* aborts: messages that are under way end, whatever they wait for. */
void ht_cuda_nccl_free(void *comm, bool aborts);

HT_END_DECLS
#endif
