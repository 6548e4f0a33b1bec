/* SPDX-License-Identifier: MIT
 *
 * Libraries that are loaded when they are needed: a machine without them has the module all the
 * same. */
#ifndef HT_BACKENDS_CUDA_LIBRARY_LIBRARY_H
#define HT_BACKENDS_CUDA_LIBRARY_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a macro of the library's headers, in the name of a file. */
#define HT_CUDA_TEXT_OF(x)  HT_CUDA_TEXT_OF_(x)
#define HT_CUDA_TEXT_OF_(x) #x

/* A function of a library, and where in the caller's struct its pointer is; {NULL} ends a table. */
typedef struct ht_cuda_symbol {
    const char *name;
    size_t offset;
} ht_cuda_symbol;

/* Loads the first of the files (NULL ends the list) that there is, and sets the pointers in
 * `functions`. Otherwise false, and `missing` says what there is not. The library stays loaded: it
 * may have threads and handlers. */
bool ht_cuda_library_load(const char *const files[], const ht_cuda_symbol symbols[],
                          void *functions, char *missing, size_t room);

#endif
