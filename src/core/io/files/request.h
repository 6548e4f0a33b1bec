/* SPDX-License-Identifier: MIT
 *
 * Agreement on the arguments with which the ranks read or write a file. */
#ifndef HT_CORE_IO_FILES_REQUEST_H
#define HT_CORE_IO_FILES_REQUEST_H

#include "core/comm/comm.h"

enum { HT_REQUEST_MOST = 5 };

typedef struct ht_agreed_argument {
    const char *name; /* of an argument that must be the same on all ranks */
    int value;
} ht_agreed_argument;

/* As ht__agree_end, and an error on all ranks if they pass different values. Collective. */
ht_status ht__request_agree(const char *what, ht_comm *comm, bool begun, ht_status mine, int count,
                            const ht_agreed_argument asked[]);

#endif
