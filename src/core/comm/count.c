/* SPDX-License-Identifier: MIT
 *
 * Counts. MPI 3.1 counts in int, tensors in int64_t. This is the only place that converts them: a
 * count that does not fit becomes a derived type, of which 1 is sent. */

#include "core/comm/mpi.h"

static int64_t count_limit = INT_MAX;

int64_t ht__count_limit(void)
{
    return count_limit;
}

void ht__count_set_limit(int64_t limit)
{
    count_limit = limit > 0 && limit < INT_MAX ? limit : INT_MAX;
}

static MPI_Datatype repeat_short(int64_t count, MPI_Aint stride, MPI_Datatype of)
{
    MPI_Datatype type;

    MPI_Type_create_hvector((int)count, 1, stride, of, &type);
    return type;
}

MPI_Datatype ht__type_repeat(int64_t count, int64_t stride, MPI_Datatype of)
{
    int64_t limit = ht__count_limit(), full = count / limit, rest = count % limit;

    if (full == 0)
        return repeat_short(rest, stride, of);

    MPI_Datatype block = repeat_short(limit, stride, of), parts[2], type;

    parts[0] = ht__type_repeat(full, stride * limit, block);
    parts[1] = repeat_short(rest, stride, of);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, stride * limit * full}, parts, &type);
    MPI_Type_free(&block);
    MPI_Type_free(&parts[0]);
    MPI_Type_free(&parts[1]);
    return type;
}

ht_message ht__message(int64_t count, ht_dtype dtype)
{
    MPI_Datatype element = ht__mpi_type(dtype);

    if (count <= ht__count_limit())
        return (ht_message){.type = element, .count = (int)count};

    ht_message message = {.count = 1, .derived = true};

    message.type = ht__type_repeat(count, (int64_t)ht_dtype_size(dtype), element);
    MPI_Type_commit(&message.type);
    return message;
}

void ht__message_free(ht_message *message)
{
    if (message->derived)
        MPI_Type_free(&message->type);
}
