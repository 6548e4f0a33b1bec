/* SPDX-License-Identifier: MIT
 *
 * PowerSGD: one step of power iteration for each gradient. M_k is the gradient of rank k (n x m)
 * plus the part that was left out of it in the step before:
 *     round 0   P_k = M_k Q; P = sum of P_k;
 *     round 1   P orthonormal; Q_k = M_k' P; Q = mean of Q_k;
 *     round 2   M = P Q', for all ranks; left out: M_k - M. Where the pass gives no gradient, M is
 *               dropped, and all of M_k is left out.
 * (n + m) r elements travel instead of n m. P and Q of a bucket lie one after another, so that each
 * is one sum. Gradients that are not compressed travel in round 0, uncompressed. */
#include "core/ops/ops.h"
#include "nn/parallel/data/reducer/comm_hook.h"
#include "nn/parallel/data/hooks/orthonormal.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/kernels/random.h"

/* The state of a bucket: flat tensors, owned, NULL where they are not needed. */
typedef struct bucket_memory {
    bool compressed; /* in this pass */
    bool has_q;      /* from an earlier step */
    ht_tensor *p, *q, *whole;
    ht_tensor *input; /* M_k; then the remainder */
    double unit;      /* of it: the scale of the losses it comes from */
} bucket_memory;

struct ht_power_sgd {
    ht_object base;
    ht_power_sgd_options options;
    int64_t iter; /* backward passes so far */
    bucket_memory *buckets;
    int count;
    double before, after; /* elements so far */
};

/* A gradient as a matrix, and the places of its parts in p, q or whole. */
typedef struct matrix {
    ht_tensor *gradient;
    const ht_reducer_param *param;
    uint64_t number; /* of the parameter in the model */
    int64_t n, m;
    int r;
    bool compressed;
    int64_t p, q, whole;
} matrix;

static void drop_memory(bucket_memory *memory)
{
    ht_release(memory->p);
    ht_release(memory->q);
    ht_release(memory->whole);
    ht_release(memory->input);
    *memory = (bucket_memory){0};
}

static void destroy(void *object)
{
    ht_power_sgd *state = object;

    for (int i = 0; i < state->count; i++)
        drop_memory(&state->buckets[i]);
    ht__free(state->buckets);
    ht__object_fini(state);
    ht__free(state);
}

static ht_kind kind = {.name = "PowerSGD", .destroy = destroy};

ht_power_sgd_options ht_power_sgd_options_default(void)
{
    return (ht_power_sgd_options){.size = sizeof(ht_power_sgd_options),
                                  .rank = 1,
                                  .start_iter = 1000,
                                  .min_compression_rate = 2,
                                  .error_feedback = true,
                                  .warm_start = true};
}

static ht_status check(const char *what, const ht_power_sgd_options *o)
{
    int least = o->error_feedback || o->warm_start ? 2 : 0;
    ht_status status = HT_CHECK_OPTIONS(NULL, what, o, ht_power_sgd_options);

    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "rank", o->rank, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "start_iter", o->start_iter, least);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "min_compression_rate", o->min_compression_rate, 0,
                                       INFINITY);
    return status;
}

ht_power_sgd *ht_power_sgd_new(const ht_power_sgd_options *options)
{
    ht_power_sgd_options o = options != NULL ? *options : ht_power_sgd_options_default();
    ht_power_sgd *state;

    if (check("ht_power_sgd_new", &o) != HT_SUCCESS)
        return NULL;
    state = ht__alloc(sizeof *state);
    ht__object_init(state, &kind);
    state->options = o;
    return state;
}

double ht_power_sgd_compression_rate(const ht_power_sgd *state)
{
    return state != NULL && state->after > 0 ? state->before / state->after : 1;
}

/* The gradients of the bucket; the last, empty one has the lengths of p, q and whole. */
static matrix *matrices_of(const ht_power_sgd *state, ht_grad_bucket *bucket)
{
    int count = ht_grad_bucket_count(bucket);
    const ht_reducer *reducer = bucket->reducer;
    const int *order = reducer->order + reducer->buckets[bucket->number].first;
    matrix *list = ht__alloc(((size_t)count + 1) * sizeof *list);

    for (int i = 0; i < count; i++) {
        matrix *x = &list[i];
        const ht_body *body;

        x->gradient = ht_grad_bucket_gradient(bucket, i);
        x->number = (uint64_t)order[i];
        x->param = &reducer->params[order[i]];
        body = x->gradient->body;
        x->n = body->ndim > 0 ? body->shape[0] : 1;
        x->m = x->n > 0 ? body->lsize / x->n : 0;
        x->r = (int)(x->n < x->m ? x->n : x->m);
        x->r = x->r < state->options.rank ? x->r : state->options.rank;
        x->compressed = (double)(x->n + x->m) * x->r * state->options.min_compression_rate <
                        (double)x->n * (double)x->m;
        x[1].p = x->p + (x->compressed ? x->n * x->r : 0);
        x[1].q = x->q + (x->compressed ? x->m * x->r : 0);
        x[1].whole = x->whole + (x->compressed ? 0 : x->n * x->m);
    }
    return list;
}

static ht_tensor *flat(int64_t length, const ht_tensor *like)
{
    return ht_retain(ht_empty_ext(1, &length, like->body->dtype, HT_NONE,
                                  like->body->storage->device, HT_COMM_SELF));
}

static ht_tensor *part(ht_tensor *x, int64_t start, int64_t rows, int64_t columns)
{
    int64_t shape[] = {rows, columns};

    return ht_reshape(ht_narrow(x, 0, start, start + rows * columns), 2, shape);
}

static ht_tensor *as_matrix(const matrix *x)
{
    int64_t shape[] = {x->n, x->m};

    return ht_reshape(x->gradient, 2, shape);
}

static ht_tensor *p_of(bucket_memory *memory, const matrix *x)
{
    return part(memory->p, x->p, x->n, x->r);
}

static ht_tensor *q_of(bucket_memory *memory, const matrix *x)
{
    return part(memory->q, x->q, x->m, x->r);
}

/* On the host, for a bucket on any device. */
static ht_status orthonormalize(ht_tensor *x)
{
    ht_tensor *host = ht__on_host("ht_comm_hook_power_sgd", x, x->body->dtype);

    if (host == NULL)
        return ht_error_get(NULL);
    ht__orthonormalize(x->body->dtype, ht__body_data(host->body), x->body->shape[0],
                       (int)x->body->shape[1]);
    return host != x ? ht_copy_(x, ht_to_device(host, x->body->storage->device)) : HT_SUCCESS;
}

static bucket_memory *memory_of(ht_power_sgd *state, int number)
{
    if (number >= state->count) {
        state->buckets = ht__realloc(state->buckets, ((size_t)number + 1) * sizeof *state->buckets);
        while (state->count <= number)
            state->buckets[state->count++] = (bucket_memory){0};
    }
    return &state->buckets[number];
}

/* Memory for this layout of the bucket. A different one than in the step before starts from
 * zero. */
static ht_status make_memory(const ht_power_sgd *state, bucket_memory *memory, ht_tensor *buffer,
                             const matrix *end)
{
    if (memory->input != NULL && memory->input->body->lsize != buffer->body->lsize)
        drop_memory(memory);
    if (memory->p == NULL && end->p > 0)
        memory->p = flat(end->p, buffer);
    if (memory->q == NULL && end->q > 0)
        memory->q = flat(end->q, buffer);
    if (memory->whole == NULL && end->whole > 0)
        memory->whole = flat(end->whole, buffer);
    if (memory->input == NULL && state->options.error_feedback) {
        memory->input = ht_retain(ht_zeros_like(buffer));
        memory->unit = 1;
        if (memory->input == NULL)
            return ht_error_get(NULL);
    }
    return (memory->p == NULL && end->p > 0) || (memory->q == NULL && end->q > 0) ||
                   (memory->whole == NULL && end->whole > 0)
               ? ht_error_get(NULL)
               : HT_SUCCESS;
}

/* The same for each parameter, in any bucket. */
static ht_status first_q(const ht_power_sgd *state, ht_tensor *q, const matrix *x)
{
    uint64_t draw = ((uint64_t)state->iter << 32) + x->number;

    return ht__random_fill("PowerSGD", q, HT_KERNEL_RANDOM_NORMAL, state->options.seed, draw, 0, 1);
}

static ht_status compress(const ht_power_sgd *state, bucket_memory *memory, const matrix *x)
{
    ht_tensor *q = q_of(memory, x);
    ht_status status = HT_SUCCESS;

    if (!memory->has_q || !state->options.warm_start)
        status = first_q(state, q, x);
    if (status != HT_SUCCESS)
        return status;
    status = orthonormalize(q);
    return status == HT_SUCCESS ? ht_copy_(p_of(memory, x), ht_matmul(as_matrix(x), q)) : status;
}

/* The gradient of this rank as a share of a mean: mean over ranks of what stands there = average.
 */
static ht_status take_input(const ht_power_sgd *state, bucket_memory *memory,
                            ht_grad_bucket *bucket)
{
    ht_tensor *x = ht_grad_bucket_buffer(bucket);
    double share = ht_grad_bucket_scale(bucket) * ht_grad_bucket_comm(bucket)->size;
    ht_status status = share != 1 ? ht_mul_scalar_(x, share) : HT_SUCCESS;

    if (status != HT_SUCCESS || !state->options.error_feedback)
        return status;
    status = ht_add_(x, memory->input, ht_grad_bucket_loss_scale(bucket) / memory->unit);
    memory->unit = ht_grad_bucket_loss_scale(bucket);
    return status != HT_SUCCESS ? status : ht_copy_(memory->input, x);
}

static ht_status start(ht_power_sgd *state, bucket_memory *memory, ht_grad_bucket *bucket,
                       const matrix *list)
{
    int count = ht_grad_bucket_count(bucket);
    ht_dtype dtype = ht_tensor_dtype(ht_grad_bucket_buffer(bucket));
    ht_status status = make_memory(state, memory, ht_grad_bucket_buffer(bucket), &list[count]);

    if (status == HT_SUCCESS)
        status = take_input(state, memory, bucket);
    for (const matrix *x = list; x < list + count && status == HT_SUCCESS; x++) {
        state->before += (double)x->n * (double)x->m;
        state->after += x->compressed ? (double)(x->n + x->m) * x->r : (double)x->n * (double)x->m;
        if (x->compressed)
            status = compress(state, memory, x);
        else if (x->n * x->m > 0)
            status = ht_copy_(part(memory->whole, x->whole, x->n, x->m), as_matrix(x));
    }
    memory->has_q = true;
    if (status == HT_SUCCESS && memory->p != NULL)
        status = ht_grad_bucket_sum(bucket, memory->p, 1, dtype);
    if (status == HT_SUCCESS && memory->whole != NULL)
        status = ht_grad_bucket_sum(bucket, memory->whole, 1.0 / ht_grad_bucket_comm(bucket)->size,
                                    dtype);
    return status;
}

static ht_status project(bucket_memory *memory, ht_grad_bucket *bucket, const matrix *list)
{
    int count = ht_grad_bucket_count(bucket);
    ht_status status = HT_SUCCESS;

    for (const matrix *x = list; x < list + count && status == HT_SUCCESS; x++) {
        if (!x->compressed)
            continue;
        status = orthonormalize(p_of(memory, x));
        if (status == HT_SUCCESS)
            status = ht_copy_(q_of(memory, x),
                              ht_matmul(ht_transpose(as_matrix(x), 0, 1), p_of(memory, x)));
    }
    if (status != HT_SUCCESS || memory->q == NULL)
        return status;
    return ht_grad_bucket_sum(bucket, memory->q, 1.0 / ht_grad_bucket_comm(bucket)->size,
                              ht_tensor_dtype(memory->q));
}

/* Whether the sums of x are: 0 x is 0 but for infinities and NaN, and a sum keeps their NaN. */
static ht_status check_finite(ht_tensor *x, bool *finite)
{
    double zero = 0;
    ht_status status = HT_SUCCESS;

    if (x != NULL)
        status = ht_tensor_item(ht_sum(ht_mul_scalar(x, 0), HT_NONE), &zero);
    *finite &= !isnan(zero);
    return status;
}

/* After a gradient that was infinite or NaN on some rank nothing of it may stay: the unsent part
 * would stay NaN, and so would the next Q. All ranks have the same sums, and decide in the same
 * way.
 */
static ht_status keep_what_is_left_out(const ht_power_sgd *state, bucket_memory *memory,
                                       ht_grad_bucket *bucket)
{
    bool finite = true;
    ht_status status = check_finite(memory->q, &finite);

    if (status == HT_SUCCESS)
        status = check_finite(memory->whole, &finite);
    memory->has_q &= finite;
    if (status != HT_SUCCESS || !state->options.error_feedback)
        return status;
    return finite ? ht_add_(memory->input, ht_grad_bucket_buffer(bucket), -1)
                  : ht_fill_(memory->input, 0);
}

static ht_status finish(const ht_power_sgd *state, bucket_memory *memory, ht_grad_bucket *bucket,
                        const matrix *list)
{
    const ht_bucket *inside = &bucket->reducer->buckets[bucket->number];
    int count = ht_grad_bucket_count(bucket);
    ht_status status = HT_SUCCESS;

    for (const matrix *x = list; x < list + count && status == HT_SUCCESS; x++) {
        const ht_body *body = x->gradient->body;
        ht_tensor *mean;

        if (x->n * x->m == 0)
            continue;
        if (!ht__reducer_gives(inside, x->param)) {
            status = ht_fill_(x->gradient, 0);
            continue;
        }
        mean = x->compressed ? ht_matmul(p_of(memory, x), ht_transpose(q_of(memory, x), 0, 1))
                             : part(memory->whole, x->whole, x->n, x->m);
        status = ht_copy_(x->gradient, ht_reshape(mean, body->ndim, body->shape));
    }
    return status == HT_SUCCESS ? keep_what_is_left_out(state, memory, bucket) : status;
}

/* Rounds without compression are those of the plain average. */
ht_status ht_comm_hook_power_sgd(ht_grad_bucket *bucket, int round, void *user)
{
    ht_power_sgd *state = user;
    bucket_memory *memory;
    ht_status status;
    matrix *list;

    if (HT_IS_NULL(state, "ht_comm_hook_power_sgd", "state"))
        return ht_error_get(NULL);
    memory = memory_of(state, ht_grad_bucket_index(bucket));
    if (round == 0)
        memory->compressed = state->iter >= state->options.start_iter;
    if (!memory->compressed) {
        status = ht_comm_hook_allreduce(bucket, round, NULL);
    } else {
        list = matrices_of(state, bucket);
        if (round == 0)
            status = start(state, memory, bucket, list);
        else if (round == 1 && memory->q != NULL)
            status = project(memory, bucket, list);
        else
            status = finish(state, memory, bucket, list);
        ht__free(list);
    }
    if (round == 0 && ht_grad_bucket_is_last(bucket))
        state->iter++;
    return status;
}
