/* SPDX-License-Identifier: MIT
 *
 * A device's handle of a library, which is made when it is first asked for. */
#ifndef HT_BACKENDS_CUDA_LIBRARY_HANDLE_H
#define HT_BACKENDS_CUDA_LIBRARY_HANDLE_H

#include "ht/types.h"

HT_BEGIN_DECLS

enum { HT_CUDA_MISSING_ROOM = 256 };

/* Makes a handle for a stream: 0 or an error of the runtime, and NULL for both if there is none.
 * `missing`, of HT_CUDA_MISSING_ROOM characters, says then why, or is left empty. */
typedef int ht_cuda_make_handle(void **made, void *stream, char *missing);

struct ht_cuda_device;
struct ht_cuda_handle;

/* users: what runs by the library. NULL: no memory on the host. release: destroys the handle. */
struct ht_cuda_handle *ht_cuda_handle_new(const char *name, const char *users,
                                          ht_cuda_make_handle *make, void (*release)(void *made));
void ht_cuda_handle_free(struct ht_cuda_handle *handle);

/* NULL if the library is missing. Also NULL if it finds too little memory; the next call tries again
 * then. The log tells each outcome once. */
void *ht_cuda_handle_get(struct ht_cuda_handle *handle, const struct ht_cuda_device *device);

HT_END_DECLS
#endif
