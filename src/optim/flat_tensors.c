/* SPDX-License-Identifier: MIT
 *
 * Copies tensors to one contiguous piece of memory and back. Tensors without a conversion are
 * copied in pieces, others by a view of each. Strides and dtypes may be any. */
#include "core/ops/ops.h"
#include "optim/flat_tensors.h"

#include <inttypes.h>
#include <string.h>

#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"

static ht_dtype widest(const ht_value *tensors)
{
    for (int i = 0; i < ht_value_count(tensors); i++) {
        if (ht_value_as_tensor(ht_value_at(tensors, i))->body->dtype == HT_FLOAT64)
            return HT_FLOAT64;
    }
    return HT_FLOAT32;
}

static int64_t total(const ht_value *tensors)
{
    int64_t n = 0;

    for (int i = 0; i < ht_value_count(tensors); i++)
        n += ht_value_as_tensor(ht_value_at(tensors, i))->body->lsize;
    return n;
}

int64_t ht__flat_size(const ht_value *tensors, ht_dtype *dtype)
{
    *dtype = widest(tensors);
    return total(tensors);
}

/* The next part, and its view of the elements from `start`. */
static bool add_part(ht_flat_tensors *flat, ht_tensor *part, int64_t start)
{
    const ht_body *body = part->body;
    ht_tensor *view = ht_reshape(ht_narrow(flat->all, 0, start, start + body->lsize), body->ndim,
                                 body->shape);

    if (view == NULL)
        return false;
    flat->parts[flat->count] = ht_retain(part);
    flat->views[flat->count++] = ht_retain(view);
    return true;
}

/* Zeroed. */
static ht_tensor *new_memory(int64_t n, ht_dtype dtype, ht_exchange *exchange)
{
    ht_tensor *memory = ht_full_ext(1, exchange != NULL ? &(int64_t){0} : &n, HT_NUM(0), dtype,
                                    HT_NONE, ht__device_cpu(), HT_COMM_SELF);
    ht_storage *storage;
    ht_body *body;

    if (exchange == NULL)
        return memory;
    storage = ht__exchange_storage(exchange, ht__device_cpu(), (size_t)n * ht_dtype_size(dtype));
    if (storage == NULL || memory == NULL) {
        ht_release(storage);
        HT_FAIL_HERE(
            HT_COMM_SELF, HT_ERR_MEMORY,
            "ht_hierarchical_averager_average_parameters: out of memory: %" PRId64 " elements", n);
        return NULL;
    }
    body = ht__body_metadata(memory->body);
    body->storage = storage;
    body->shape[0] = n;
    ht__body_settle(body);
    ht__body_lay_row_major(body);
    return ht__tensor_new(body);
}

ht_flat_tensors *ht__flat_new(const ht_value *tensors, ht_exchange *exchange)
{
    size_t count = (size_t)ht_value_count(tensors);
    ht_flat_tensors *flat = ht__alloc(sizeof *flat);
    int64_t n = total(tensors), start = 0;
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false), good;

    flat->parts = ht__alloc(count * sizeof(void *));
    flat->views = ht__alloc(count * sizeof(void *));
    flat->all = ht_retain(new_memory(n, widest(tensors), exchange));
    good = flat->all != NULL;
    for (int i = 0; i < (int)count && good; i++) {
        ht_tensor *part = ht_value_as_tensor(ht_value_at(tensors, i));

        good = add_part(flat, part, start);
        start += part->body->lsize;
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    if (good)
        return flat;
    ht__flat_free(flat);
    return NULL;
}

void ht__flat_free(ht_flat_tensors *flat)
{
    if (flat == NULL)
        return;
    for (int i = 0; i < flat->count; i++) {
        ht_release(flat->parts[i]);
        ht_release(flat->views[i]);
    }
    ht_release(flat->all);
    ht__free(flat->parts);
    ht__free(flat->views);
    ht__free(flat);
}

/* A piece of a part: small enough to stay in the cache from one pass over it to the next. */
enum { PIECE = 64 * 1024 };

typedef struct piece {
    int part;
    int64_t first;      /* among the elements of the part */
    int64_t begin, end; /* in the memory */
} piece;

/* The first one follows {0}. */
static bool next_piece(const ht_flat_tensors *flat, int count, piece *p)
{
    int64_t left;

    p->first += p->end - p->begin;
    p->begin = p->end;
    while (p->part < count && p->first == flat->views[p->part]->body->lsize) {
        p->part++;
        p->first = 0;
    }
    if (p->part == count)
        return false;
    left = flat->views[p->part]->body->lsize - p->first;
    p->end = p->begin + (left < PIECE ? left : PIECE);
    return true;
}

/* Whether elements can be copied as they lie. Other parts are copied completely, by their views. */
static bool is_plain(const ht_flat_tensors *flat, const ht_body *part)
{
    return part->dtype == flat->all->body->dtype && part->storage->device == ht__device_cpu() &&
           ht__body_is_contiguous(part);
}

/* For any dtypes, strides and devices. */
static ht_status copy_whole(const char *what, ht_tensor *to, ht_tensor *from)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *there = ht_to_device(from, to->body->storage->device);
    ht_status status = ht__copy_into(what, to, there);

    ht_scope_close(scope);
    return status;
}

/* For dense tensors: element `begin`, once the elements before `end` are up to date. */
static void *element(const ht_body *body, int64_t begin, int64_t end)
{
    return (char *)ht__body_first(body, end) + (size_t)begin * ht_dtype_size(body->dtype);
}

static size_t bytes_of(const ht_flat_tensors *flat, const piece *p)
{
    return (size_t)(p->end - p->begin) * ht_dtype_size(flat->all->body->dtype);
}

static ht_status gather_piece(const char *what, ht_flat_tensors *flat, const piece *p)
{
    ht_tensor *part = flat->parts[p->part];
    int64_t last = p->first + p->end - p->begin;

    if (!is_plain(flat, part->body))
        return p->first == 0 ? copy_whole(what, flat->views[p->part], part) : HT_SUCCESS;
    memcpy(element(flat->all->body, p->begin, p->end), element(part->body, p->first, last),
           bytes_of(flat, p));
    return HT_SUCCESS;
}

static ht_status scatter_piece(const char *what, ht_flat_tensors *flat, const piece *p)
{
    ht_tensor *part = flat->parts[p->part];
    int64_t last = p->first + p->end - p->begin;

    if (!is_plain(flat, part->body))
        return last == part->body->lsize ? copy_whole(what, part, flat->views[p->part])
                                         : HT_SUCCESS;
    if (ht__check_in_place(what, "x", part, NULL) != HT_SUCCESS)
        return ht_error_get(NULL);
    ht__body_await(part->body); /* all of it: no pending value may follow */
    ht__storage_touch(part->body->storage);
    memcpy(element(part->body, p->first, last), element(flat->all->body, p->begin, p->end),
           bytes_of(flat, p));
    return HT_SUCCESS;
}

ht_status ht__flat_gather(const char *what, ht_flat_tensors *flat, int count, ht_flat_visit *visit,
                          void *user)
{
    bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;
    piece p = {0};

    while (status == HT_SUCCESS && next_piece(flat, count, &p)) {
        status = gather_piece(what, flat, &p);
        if (status == HT_SUCCESS && visit != NULL)
            status = visit(user, p.begin, p.end);
    }
    ht_set_grad_enabled(was);
    return status;
}

ht_status ht__flat_scatter(const char *what, ht_flat_tensors *flat, int count, ht_flat_visit *visit,
                           void *user)
{
    bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;
    piece p = {0};

    while (status == HT_SUCCESS && next_piece(flat, count, &p)) {
        if (visit != NULL)
            status = visit(user, p.begin, p.end);
        if (status == HT_SUCCESS)
            status = scatter_piece(what, flat, &p);
    }
    ht_set_grad_enabled(was);
    return status;
}

struct average {
    const ht_flat_average *how;
    ht_exchange_op *op;
};

static ht_status leave(void *user, int64_t begin, int64_t end)
{
    const struct average *average = user;
    const ht_flat_average *how = average->how;
    ht_status status = how->leave != NULL ? how->leave(how->user, begin, end) : HT_SUCCESS;

    ht__exchange_fill(how->exchange, average->op, end);
    return status;
}

static ht_status arrive(void *user, int64_t begin, int64_t end)
{
    const struct average *average = user;
    const ht_flat_average *how = average->how;
    ht_status status = ht__exchange_wait_part(how->exchange, average->op, end, how->what);

    return status == HT_SUCCESS && how->arrive != NULL ? how->arrive(how->user, begin, end)
                                                       : status;
}

ht_status ht__flat_average(ht_flat_tensors *flat, const ht_flat_average *how)
{
    const ht_body *all = flat->all->body;
    struct average average = {.how = how};
    ht_status status;

    average.op = ht__exchange_open(how->exchange, ht__flat_data(flat), all->lsize, all->dtype,
                                   how->wire, 1.0 / how->ranks, 0);
    if (average.op == NULL)
        return ht_error_get(NULL);
    status = ht__flat_gather(how->what, flat, flat->count, leave, &average);
    if (status != HT_SUCCESS) /* the other ranks wait for it all the same */
        ht__exchange_fill(how->exchange, average.op, all->lsize);
    else
        status = ht__flat_scatter(how->what, flat, flat->count, arrive, &average);
    ht__exchange_release(how->exchange, average.op);
    return status;
}

int64_t ht__flat_elements(const ht_flat_tensors *flat, int count)
{
    int64_t n = 0;

    for (int i = 0; i < count; i++)
        n += flat->parts[i]->body->lsize;
    return n;
}
