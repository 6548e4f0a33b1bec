/* SPDX-License-Identifier: MIT
 *
 * The parts of a tensor along axis 0, in the order of the ranks, and the complete tensor. */
#ifndef HT_CORE_COLLECTIVE_GATHER_H
#define HT_CORE_COLLECTIVE_GATHER_H

#include "core/collective/call.h"

/* The sizes of each rank's part and its first element in the complete tensor; `size` of each, one
 * block. */
typedef struct ht_parts {
    int64_t *counts; /* owned, with starts */
    int64_t *starts;
    int64_t total;
} ht_parts;
ht_parts ht__parts_new(const ht_comm *comm);
void ht__parts_place(const ht_comm *comm, ht_parts *p); /* starts and total, by the counts */

/* The same in int, kept by the request; NULL when int is too small. */
int *ht__parts_small(ht_request *request, const ht_parts *p);

/* The buffers of both sides, and the operation. */
ht_status ht__open_allgather(ht_request *request, ht_tensor *send, ht_tensor *recv,
                             const ht_parts *p);
/* whole: NULL except on the root. */
ht_status ht__open_rooted(ht_request *request, ht_tensor *part, ht_tensor *whole, const ht_parts *p,
                          int root, bool gather);

bool ht__allgather_valid(const ht_check *check, const ht_tensor *send, const ht_tensor *recv);
bool ht__rooted_valid(const ht_check *check, const ht_tensor *part, const ht_tensor *whole,
                      int root, bool gather);

/* The ranks exchange their arguments and faults: the call begins on all of them or on none, and *p
 * says which. whole: NULL on ranks without one. */
ht_status ht__ask_parts(const ht_check *check, const ht_call *call, bool valid,
                        const ht_tensor *part, const ht_tensor *whole, ht_parts *p);

#endif
