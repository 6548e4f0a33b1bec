/* SPDX-License-Identifier: MIT
 *
 * The library's tensors compared with the fuzzer's arrays: each rank looks at its own part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "fuzz/fuzz.h"

/* Global coordinates of a place in this rank's part. */
static void global_place(ht_tensor *t, int64_t index, int64_t at[])
{
    unravel(index, ht_tensor_ndim(t), ht_tensor_lshape(t), at);
    if (ht_tensor_split(t) != HT_NONE)
        at[ht_tensor_split(t)] += ht_tensor_offset(t);
}

/* t, or a copy of it in the scope where the host does not reach its memory. */
ht_tensor *on_host(ht_tensor *t)
{
    long starve;
    bool was;

    if (t == NULL || ht_tensor_lsize(t) == 0 || ht_tensor_data(t) != NULL)
        return t;
    was = ht_set_grad_enabled(false);
    starve = ht__alloc_fail(-1, 0, true); /* the program does not see the copy */
    t = ht_to_device(t, ht_device_get("cpu"));
    if (starve > 0)
        ht__alloc_fail(ht_comm_rank(HT_COMM_WORLD), starve, true);
    ht_set_grad_enabled(was);
    return t;
}

int64_t objects_alive(void)
{
    return ht_live_objects(NULL) - ht_live_objects("device");
}

const void *values_of(ht_tensor *t)
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *dense = t != NULL ? on_host(ht_contiguous(t)) : NULL;

    ht_set_grad_enabled(was);
    return dense != NULL ? ht_tensor_data(dense) : NULL;
}

ht_status set_values(ht_tensor *t, const double values[])
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *from = ht_array(values, ht_tensor_ndim(t), ht_tensor_shape(t), HT_FLOAT64, HT_LOCAL);
    ht_status status = ht_copy_(t, from);

    ht_set_grad_enabled(was);
    return status;
}

static const char *element_at(ht_tensor *t, int64_t index)
{
    const int64_t *stride = ht_tensor_stride(t);
    int64_t at[HT_MAX_NDIM], offset = 0;

    unravel(index, ht_tensor_ndim(t), ht_tensor_lshape(t), at);
    for (int i = 0; i < ht_tensor_ndim(t); i++)
        offset += at[i] * stride[i];
    return (const char *)ht_tensor_data(t) + offset * (int64_t)ht_dtype_size(ht_tensor_dtype(t));
}

/* The parts of a split tensor, one after another, are the complete tensor; on other tensors each
 * part is. */
static bool parts_fit(struct run *run, ht_tensor *t)
{
    int split = ht_tensor_split(t);
    int64_t mine, before = 0, all;

    if (ht_comm_size(ht_tensor_comm(t)) != run->size)
        return true;
    if (split == HT_NONE)
        return ht_tensor_lsize(t) == ht_tensor_size(t) && ht_tensor_offset(t) == 0;
    mine = ht_tensor_lshape(t)[split];
    MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all == ht_tensor_shape(t)[split] &&
           (mine == 0 || (run->rank == 0 ? 0 : before) == ht_tensor_offset(t));
}

static void check_elements(struct run *run, int variable, ht_tensor *t, const struct array *a)
{
    int64_t size = ht_tensor_lsize(t);
    bool fits = parts_fit(run, t); /* collective, so before what one rank alone may see */

    if (ht_tensor_dtype(t) != a->dtype) {
        fail(run, "t%d is %s; %s is right", variable, ht_dtype_name(ht_tensor_dtype(t)),
             ht_dtype_name(a->dtype));
        return;
    }
    if (ht_tensor_ndim(t) != a->ndim ||
        memcmp(ht_tensor_shape(t), a->shape, (size_t)a->ndim * sizeof *a->shape) != 0) {
        fail(run, "t%d is of shape %s; %s is right", variable,
             shape_text(ht_tensor_ndim(t), ht_tensor_shape(t)), shape_text(a->ndim, a->shape));
        return;
    }
    if (!fits)
        fail(run, "t%d: the parts of the ranks are not the whole", variable);
    for (int64_t i = 0; fits && i < size; i++) {
        const char *element = element_at(t, i);
        int64_t at[HT_MAX_NDIM];
        struct number right;

        global_place(t, i, at);
        right = array_at_coords(a, a->ndim, at);
        if (!matches(a->dtype, element, right)) {
            char has[80], wants[80];

            number_text(has, sizeof has, a->dtype, load(a->dtype, element));
            number_text(wants, sizeof wants, a->dtype, right);
            fail(run, "t%d (%s %s, split %d) has %s at %s on rank %d; %s is right", variable,
                 ht_dtype_name(a->dtype), shape_text(a->ndim, a->shape),
                 ht_tensor_split(t) == HT_NONE ? -1 : ht_tensor_split(t), has,
                 shape_text(a->ndim, at), run->rank, wants);
            return;
        }
    }
}

void check_tensor(struct run *run, int variable, ht_tensor *t, const struct array *a)
{
    ht_scope *scope = ht_scope_open();

    check_elements(run, variable, on_host(t), a);
    ht_scope_close(scope);
}

static void gather_host(ht_tensor *t, struct array *a)
{
    size_t width = ht_dtype_size(ht_tensor_dtype(t));
    int64_t size = ht_tensor_size(t);
    unsigned char *bytes = calloc((size_t)size + 1, width), *all = calloc((size_t)size + 1, width);
    bool whole = ht_tensor_split(t) == HT_NONE;

    *a = array_new(ht_tensor_dtype(t), ht_tensor_ndim(t), ht_tensor_shape(t));
    for (int64_t i = 0; i < ht_tensor_lsize(t); i++) {
        int64_t at[HT_MAX_NDIM], index = 0;

        global_place(t, i, at);
        for (int k = 0; k < a->ndim; k++)
            index = index * a->shape[k] + at[k];
        memcpy(bytes + (size_t)index * width, element_at(t, i), width);
    }
    if (!whole) /* every element comes from one rank, the others have zeros there */
        MPI_Allreduce(bytes, all, (int)((size_t)size * width), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    for (int64_t i = 0; i < size; i++)
        array_set(a, i, load(a->dtype, (whole ? bytes : all) + (size_t)i * width));
    free(bytes);
    free(all);
}

void gather(ht_tensor *t, struct array *a)
{
    ht_scope *scope = ht_scope_open();

    gather_host(on_host(t), a);
    ht_scope_close(scope);
}

/* The bytes of the local part, for callers that only compare addresses; false: it has none. */
static bool bytes_of(ht_tensor *t, const char *ends[2])
{
    const int64_t element = (int64_t)ht_dtype_size(ht_tensor_dtype(t));

    if (ht_tensor_lsize(t) == 0)
        return false;
    ends[0] = ends[1] = ht__body_data(t->body);
    for (int i = 0; i < ht_tensor_ndim(t); i++) {
        int64_t reach = (ht_tensor_lshape(t)[i] - 1) * ht_tensor_stride(t)[i] * element;

        ends[reach > 0] += reach;
    }
    ends[1] += element;
    return true;
}

/* 0: no rank's parts share memory, 1: all that have elements do, 2: some. */
int shared_by(ht_tensor *a, ht_tensor *b)
{
    const char *of_a[2], *of_b[2];
    int mine[2] = {0, 0}, all[2];

    if (bytes_of(a, of_a) && bytes_of(b, of_b))
        mine[of_a[0] < of_b[1] && of_b[0] < of_a[1]] = 1;
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all[1] == 0 ? 0 : all[0] == 0 ? 1 : 2;
}

/* --- Gradients --- */

static bool near(const struct run *run, double x, double right, double size, ht_dtype dtype)
{
    double tolerance = SLACK * fmax(run->eps, eps_of(dtype)) * size;

    if (!isfinite(size) || isnan(right) || (isnan(x) && arena_singular))
        return true;
    return fabs(x - right) <= tolerance || x == right || size + tolerance >= max_of(dtype);
}

static void check_leaf(struct run *run, const struct leaf *leaf)
{
    const struct variable *x = &run->vars[leaf->variable];
    ht_tensor *grad = ht_tensor_grad(x->t);
    bool pairs = kind_of(x->a.dtype) == KIND_COMPLEX;

    if (grad == NULL) {
        bool zero = true;

        for (int64_t i = 0; i < array_size(&x->a) * (pairs ? 2 : 1); i++)
            zero = zero && (leaf->size[i] == 0 || !isfinite(leaf->size[i]));
        if (!zero && !leaf->unknown)
            fail(run, "t%d has no gradient", leaf->variable);
        return;
    }
    if (ht_tensor_dtype(grad) != x->a.dtype || ht_tensor_ndim(grad) != x->a.ndim ||
        memcmp(ht_tensor_shape(grad), x->a.shape, (size_t)x->a.ndim * sizeof *x->a.shape) != 0 ||
        ht_tensor_split(grad) != ht_tensor_split(x->t) ||
        ht_tensor_offset(grad) != ht_tensor_offset(x->t)) {
        fail(run, "the gradient of t%d is %s %s, split %d", leaf->variable,
             ht_dtype_name(ht_tensor_dtype(grad)),
             shape_text(ht_tensor_ndim(grad), ht_tensor_shape(grad)), ht_tensor_split(grad));
        return;
    }
    grad = on_host(grad);
    for (int64_t i = 0; i < ht_tensor_lsize(grad) && !leaf->unknown; i++) {
        struct number g = load(x->a.dtype, element_at(grad, i));
        int64_t at[HT_MAX_NDIM], k = 0;

        global_place(grad, i, at);
        for (int axis = 0; axis < x->a.ndim; axis++)
            k = k * x->a.shape[axis] + at[axis];
        k *= pairs ? 2 : 1;
        if (!near(run, g.re, leaf->grad[k], leaf->size[k], x->a.dtype) ||
            (pairs && !near(run, g.im, leaf->grad[k + 1], leaf->size[k + 1], x->a.dtype))) {
            fail(run, "the gradient of t%d at %s is %.12g%+.12gi; %.12g%+.12gi is right",
                 leaf->variable, shape_text(x->a.ndim, at), g.re, g.im, leaf->grad[k],
                 pairs ? leaf->grad[k + 1] : 0);
            return;
        }
    }
}

void check_gradients(struct run *run)
{
    for (int i = 0; i < run->leaf_count; i++) {
        if (run->vars[run->leaves[i].variable].alive)
            check_leaf(run, &run->leaves[i]);
    }
}
