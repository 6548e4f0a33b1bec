/* SPDX-License-Identifier: MIT
 *
 * Checks of indices, rows scaled to a largest norm, and gradients scaled by frequency. */
#include "nn/functional/embedding/checks.h"
#include "nn/functional/embedding/lookup.h"

#include <inttypes.h>
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/key.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/sorting.h"
#include "ht/statistics.h"

static bool check_padding(const char *what, const ht_tensor *weight, int64_t *padding_idx)
{
    const int64_t rows = weight->body->shape[0];

    if (*padding_idx == HT_NO_PADDING)
        return true;
    if (*padding_idx >= -rows && *padding_idx < rows) {
        *padding_idx += *padding_idx < 0 ? rows : 0;
        return true;
    }
    HT_FAIL(weight->body->comm, HT_ERR_ARGUMENT,
            "%s: padding_idx is %" PRId64 ", expected %" PRId64 " to %" PRId64, what, *padding_idx,
            -rows, rows - 1);
    return false;
}

static bool check_indices(const char *what, ht_tensor *indices, const ht_tensor *weight)
{
    const int64_t rows = weight->body->shape[0];
    ht_number low, high;
    int64_t wrong;

    if (ht_tensor_size(indices) == 0)
        return true;
    if (ht_tensor_item_ext(ht_min(indices, HT_NONE), &low) != HT_SUCCESS ||
        ht_tensor_item_ext(ht_max(indices, HT_NONE), &high) != HT_SUCCESS)
        return false;
    if (low.integer >= 0 && high.integer < rows)
        return true;
    wrong = low.integer < 0 ? low.integer : high.integer;
    HT_FAIL(indices->body->comm, HT_ERR_ARGUMENT,
            "%s: index %" PRId64 " is out of range for %" PRId64 " rows", what, wrong, rows);
    return false;
}

/* Rows that are looked up, with a norm above max_norm, become w max_norm / norm. PyTorch divides by
 * norm + 1e-7. */
static ht_status scale_rows(ht_tensor *indices, ht_tensor *weight, double max_norm,
                            double norm_type)
{
    ht_tensor *rows, *values, *norms, *factors;

    if (ht_unique(indices, &rows, NULL, NULL) != HT_SUCCESS)
        return ht_error_get(NULL);
    rows = ht_resplit(rows, HT_NONE);
    values = ht_take(weight, rows, 0);
    norms = ht_vector_norm(values, norm_type, 1, true);
    factors = ht_where(ht_gt(norms, ht_scalar(max_norm)),
                       ht_div(ht_full_like(norms, max_norm), ht_add_scalar(norms, 1e-7)),
                       ht_scalar(1));
    values = ht_mul(values, factors);
    return values != NULL ? ht_setitem_(weight, HT_KEY(rows), values) : ht_error_get(NULL);
}

bool ht__lookup_check_norm(const char *what, const ht_tensor *x, double max_norm, double norm_type)
{
    return ht__check_parameter(what, x, max_norm >= 0, "max_norm", max_norm, "at least 0") &&
           ht__check_parameter(what, x, norm_type > 0, "norm_type", norm_type, "a number above 0");
}

bool ht__lookup_begin(const char *what, ht_tensor *indices, ht_tensor *weight, int64_t *padding_idx,
                      double max_norm, double norm_type)
{
    ht_status status = HT_SUCCESS;

    if (!ht__lookup_check_norm(what, weight, max_norm, norm_type) ||
        !check_padding(what, weight, padding_idx) || !check_indices(what, indices, weight))
        return false;
    if (max_norm < INFINITY && ht_tensor_size(indices) > 0) {
        ht_scope *scope = ht_scope_open();
        bool was = ht_set_grad_enabled(false);

        status = scale_rows(indices, weight, max_norm, norm_type);
        ht_set_grad_enabled(was);
        ht_scope_close(scope);
    }
    return status == HT_SUCCESS;
}

static void scale_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *scale = ht_node_saved(node, 0);

    if (scale != NULL)
        gin[0] = ht_mul(g, scale);
}

ht_tensor *ht__scale_gradient(const char *what, ht_tensor *x, ht_tensor *scale)
{
    ht_tensor *y;
    ht_node *node;

    if (x == NULL || scale == NULL)
        return NULL;
    node = ht_node_new(what, scale_backward, HT_LIST(ht_tensor *, x));
    if (node == NULL)
        return x;
    y = ht__tensor_new(ht_retain(x->body)); /* no view: it may be written */
    ht_node_save(node, scale);
    return ht_node_set_output(node, y);
}

ht_tensor *ht__inverse_frequency(ht_tensor *indices, ht_tensor *counted, ht_tensor *weight)
{
    ht_tensor *counts = ht_bincount(ht_flatten(counted, 0), NULL, weight->body->shape[0]);

    counts = ht_astype(ht_take(counts, indices, 0), weight->body->dtype);
    return ht_expand_dims(ht_div(ht_scalar(1), counts), -1);
}
