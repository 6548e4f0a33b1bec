/* SPDX-License-Identifier: MIT
 *
 * The graph of a tensor as a file. All ranks have the same graph, and rank 0 writes it. */
#define _GNU_SOURCE /* open_memstream */
#include <stdio.h>
#include <stdlib.h>

#include "core/autograd/autograd.h"
#include "core/io/files/joint.h"
#include "ht/gradient_tools.h"

static const char what[] = "ht_graph_dot";

static ht_status check(ht_tensor *x, const ht_value *names, const char *path)
{
    if (HT_IS_NULL(path, what, "path"))
        return ht_error_get(NULL);
    if (names != NULL && ht_value_get_kind(names) != HT_VALUE_MAP)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: names is %s, expected a map from names to tensors", what,
                       ht__value_kind_name(names));
    if (!ht__needs_grad(x))
        return HT_FAIL(x->body->comm, HT_ERR_STATE,
                       "%s: x depends on nothing that requires a gradient, expected a graph", what);
    return HT_SUCCESS;
}

static ht_status write_graph(const ht_joint *joint, ht_tensor *x, const ht_value *names)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    ht_status status = HT_SUCCESS;

    if (file == NULL)
        return ht__error_set(HT_ERR_MEMORY, "%s: out of memory for the text", what);
    ht__graph_write_dot(x, names, file);
    if (fclose(file) != 0)
        status = ht__error_set(HT_ERR_MEMORY, "%s: out of memory for the text", what);
    if (status == HT_SUCCESS)
        status = ht__joint_write(joint, text, (int64_t)bytes, 0);
    free(text);
    return status;
}

ht_status ht_graph_dot(ht_tensor *x, const ht_value *names, const char *path)
{
    ht_joint joint;
    ht_status status;
    bool begun;

    if (HT_IS_NULL(x, what, "x") || (!ht__is_current(x) && !ht__catch_up(what, "x", x)))
        return ht_error_get(NULL);
    begun = ht__agree_begin();
    status = ht__agree_end(what, x->body->comm, begun, check(x, names, path));
    if (status == HT_SUCCESS)
        status = ht__joint_begin(&joint, what, path, x->body->comm);
    if (status != HT_SUCCESS)
        return status;
    if (joint.comm->rank == 0)
        status = write_graph(&joint, x, names);
    return ht__joint_end(&joint, status);
}
