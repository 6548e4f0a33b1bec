/* SPDX-License-Identifier: MIT
 *
 * Agreement on the arguments with which the ranks read or write a file. */
#include "core/io/files/request.h"

ht_status ht__request_agree(const char *what, ht_comm *comm, bool begun, ht_status mine, int count,
                            const ht_agreed_argument asked[])
{
    int64_t ends[2 * HT_REQUEST_MOST];
    ht_status status = ht__agree_end(what, comm, begun, mine);

    for (int i = 0; i < count; i++) {
        ends[2 * i] = asked[i].value;
        ends[2 * i + 1] = -(int64_t)asked[i].value;
    }
    if (status == HT_SUCCESS)
        status = ht__comm_allreduce_i64(comm, ends, 2 * count, HT_OP_MAX, what);
    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        const int high = (int)ends[2 * i], low = (int)-ends[2 * i + 1];

        if (high != low)
            status = HT_FAIL(comm, HT_ERR_ARGUMENT,
                             "%s: %s is %s on one rank and %s on another, expected the same on "
                             "all ranks",
                             what, asked[i].name, ht__int_str(low), ht__int_str(high));
    }
    return status;
}
