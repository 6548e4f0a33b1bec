/* SPDX-License-Identifier: MIT
 *
 * Calls that find too little memory are made again, after the pool of the thread's device has given
 * back what it keeps. */
#ifndef HT_BACKENDS_CUDA_RETRY_H
#define HT_BACKENDS_CUDA_RETRY_H

#include "ht/types.h"

HT_BEGIN_DECLS

/* Whether to make the call again that returned this error. */
bool ht_cuda_try_again(int error, void *stream);

/* ht_cuda_malloc, and again: memory that the pool keeps may lie in pieces that are too short. */
int ht_cuda_allocate(void **memory, size_t bytes, void *stream);

/* Whether no earlier launch has failed with an error that is still to be reported; and after the
 * first launch of a kernel, or the second, whether to launch it again. */
bool ht_cuda_may_launch(void);
bool ht_cuda_launch_again(void *stream, int launches);

/* Whether the thread's call has given the device work, since ht_cuda_begin: then libht cannot make
 * it again. Launches set it by themselves. */
void ht_cuda_set_work(bool has);
bool ht_cuda_has_work(void);

HT_END_DECLS
#endif
