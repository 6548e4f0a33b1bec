/* SPDX-License-Identifier: MIT
 *
 * Parameters lie apart. Two of them on one memory would have two updates of it, which wait for
 * averages that come in another order on every rank, and round in that order. */
#include <stdlib.h>

#include "reducer.h"

#include "module_impl.h"

static void find_memory(const ht_tensor *x, ht_memory_span *span)
{
    const ht_body *body = x->body;
    const char *raw = ht__storage_raw(body->storage);
    int64_t begin = 0, end = 0;

    if (body->lsize > 0)
        ht__body_extent(body, &begin, &end);
    span->begin = (uintptr_t)raw + (uintptr_t)begin;
    span->end = (uintptr_t)raw + (uintptr_t)end;
}

static int compare_begins(const void *a, const void *b)
{
    uintptr_t first = ((const ht_memory_span *)a)->begin;
    uintptr_t second = ((const ht_memory_span *)b)->begin;

    return (first > second) - (first < second);
}

/* Sorted, whoever shares memory with an earlier one does so with the one that ends last. */
static bool find_overlap(ht_memory_span *spans, int count, const char *names[2])
{
    const ht_memory_span *last = NULL;

    if (count > 0)
        qsort(spans, (size_t)count, sizeof *spans, compare_begins);
    for (int i = 0; i < count; i++) {
        if (spans[i].begin == spans[i].end)
            continue;
        if (last != NULL && spans[i].begin < last->end) {
            bool turned = spans[i].place < last->place;

            names[turned] = last->name;
            names[!turned] = spans[i].name;
            return true;
        }
        if (last == NULL || spans[i].end > last->end)
            last = &spans[i];
    }
    return false;
}

struct list {
    ht_memory_span *spans; /* with names of their own */
    int count, room;
};

static void add_trainable(const char *name, ht_tensor *x, void *user)
{
    struct list *list = user;
    ht_memory_span *added;

    if (!ht_tensor_requires_grad(x))
        return;
    if (list->count == list->room) {
        list->room = 2 * list->room + 16;
        list->spans = ht__realloc(list->spans, (size_t)list->room * sizeof *list->spans);
    }
    added = &list->spans[list->count];
    *added = (ht_memory_span){.name = ht__strdup(name), .place = list->count++};
    find_memory(x, added);
}

ht_status ht__module_check_apart(const char *what, ht_module *module)
{
    struct list list = {0};
    const char *names[2];
    ht_status status = HT_SUCCESS;

    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, add_trainable, &list);
    if (find_overlap(list.spans, list.count, names))
        status = ht__error_set(HT_ERR_ARGUMENT,
                               "%s: parameters %s and %s share memory: each would have updates of "
                               "its own; register the one tensor in both modules",
                               what, names[0], names[1]);
    for (int i = 0; i < list.count; i++)
        ht__free((char *)list.spans[i].name);
    ht__free(list.spans);
    return status;
}

/* Asked before every pass and step: mostly nothing has moved since the last time. */
ht_status ht__reducer_check_apart(ht_reducer *reducer, const char *what)
{
    ht_memory_span *spans, now;
    const char *names[2];
    bool moved = false, overlap;

    for (int i = 0; i < reducer->count; i++) {
        ht_reducer_param *param = &reducer->params[i];

        find_memory(param->tensor, &now);
        moved |= now.begin != param->memory.begin || now.end != param->memory.end;
        param->memory.begin = now.begin;
        param->memory.end = now.end;
    }
    if (!moved && !reducer->overlaps)
        return HT_SUCCESS;
    spans = ht__alloc((size_t)reducer->count * sizeof *spans);
    for (int i = 0; i < reducer->count; i++)
        spans[i] = (ht_memory_span){reducer->params[i].memory.begin, reducer->params[i].memory.end,
                                    reducer->params[i].name, i};
    overlap = reducer->overlaps = find_overlap(spans, reducer->count, names);
    ht__free(spans);
    if (!overlap)
        return HT_SUCCESS;
    return HT_FAIL(reducer->comm, HT_ERR_STATE,
                   "%s: %s and %s share memory since ht_tensor_set_: a data-parallel wrapper would "
                   "update it twice; register the one tensor in both modules, before wrapping",
                   what, names[0], names[1]);
}
