/* SPDX-License-Identifier: MIT
 *
 * Communication of tensors, for the library's own parts. */
#ifndef HT_CORE_COLLECTIVE_COLLECTIVE_H
#define HT_CORE_COLLECTIVE_COLLECTIVE_H

#include "core/comm/comm.h"
#include "core/tensor/tensor.h"

/* The public calls without their names, for tensors of the library's own making: their content is
 * the same on all ranks, so no agreement is needed. */
ht_status ht__comm_bcast(ht_comm *comm, ht_tensor *buffer, int root);
ht_status ht__comm_reduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                          int root);
ht_status ht__comm_allreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* x <- the sum of the ranks' x / divisor, in place (collective/sum.c): of all ranks, or of those
 * before or after this one (0 where there is none; the divisor does not count there). Added in the
 * order of the ranks, from the last for those after, for any size. x is of the dtype in which
 * partial sums are kept: int64, float32 (added up in float64), float64, complex. Its local part is
 * of one size everywhere. Collective. */
typedef enum ht_sum_of { HT_SUM_ALL, HT_SUM_BEFORE, HT_SUM_AFTER } ht_sum_of;
ht_status ht__comm_sum(ht_comm *comm, ht_tensor *x, ht_sum_of which, double divisor,
                       const char *what);

/* Records of HT_REDUCE_MOMENTS of all ranks, each of ht__moments_record() numbers: the first number
   of each <- the sum of |x - mean|^2 of all elements / divisor. Merged in the order of the ranks.
   Collective. */
static inline int ht__moments_record(bool is_complex)
{
    return is_complex ? 6 : 4;
}

ht_status ht__comm_moments(ht_comm *comm, ht_tensor *records, bool is_complex, double divisor,
                           const char *what);

/* Begins one Alltoall of blocks between local parts of any strides. Block r of `send` lies between
 * the edges send_start[r] and send_start[r + 1] of its local axis `send_axis`, which go up or down.
 * The same applies to `recv`. Owned; for ht_wait. */
ht_request *ht__comm_alltoall_axis(ht_comm *comm, ht_tensor *send, int send_axis,
                                   const int64_t *send_start, ht_tensor *recv, int recv_axis,
                                   const int64_t *recv_start, const char *what);

/* Deals out rows (indices along axis 0) of a process-local tensor: rows edges[r] ... edges[r + 1] -
 * 1 go to rank r, by size + 1 ascending edges. Received rows are in the order of the ranks, those of
 * rank r from came[r] on. A caller that does not know the places where the parts meet asks for them
 * first. Answers to received rows go back by the same call with edges and came swapped. Collective.
 */
ht_status ht__comm_ask_edges(ht_comm *comm, const int64_t edges[], int64_t came[],
                             const char *what);
/* A new process-local tensor, scoped; NULL after an error. */
ht_tensor *ht__comm_deal(ht_comm *comm, ht_tensor *send, const int64_t edges[],
                         const int64_t came[], const char *what);

/* A number that must be equal on all ranks: an option, a size. */
typedef struct ht_alike {
    const char *name;
    enum { HT_ALIKE_WHOLE, HT_ALIKE_UNSIGNED, HT_ALIKE_REAL } kind;
    union {
        int64_t whole;
        uint64_t unsigned_whole;
        double real;
    } value;
} ht_alike;

static inline ht_alike ht__alike_whole(const char *name, int64_t value)
{
    return (ht_alike){.name = name, .kind = HT_ALIKE_WHOLE, .value.whole = value};
}

static inline ht_alike ht__alike_unsigned(const char *name, uint64_t value)
{
    return (ht_alike){.name = name, .kind = HT_ALIKE_UNSIGNED, .value.unsigned_whole = value};
}

static inline ht_alike ht__alike_real(const char *name, double value)
{
    return (ht_alike){.name = name, .kind = HT_ALIKE_REAL, .value.real = value};
}

/* Compares each row with rank 0's. HT_ERR_ARGUMENT on all ranks names the first that differs:
 * "what: name is 1 on rank 0 and 2 on rank 3, expected the same on all ranks". All ranks pass the
 * same number of rows. Collective, agrees. */
ht_status ht__agree_alike(const char *what, ht_comm *comm, const ht_alike rows[], int count);

#endif
