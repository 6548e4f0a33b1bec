/* SPDX-License-Identifier: MIT
 *
 * Checks that parameters do not share memory. Two parameters on one memory would have two updates
 * of it. The updates wait for averages that come in another order on every rank, and round in that
 * order. The check runs when parameters are wrapped, and whenever one of them is to get other
 * memory later. */
#include <stdlib.h>

#include "nn/module/module.h"
#include "nn/parallel/data/reducer/reducer.h"
#include "nn/parallel/data/reducer/reducer_disjoint.h"

/* Where a parameter lies. */
typedef struct span {
    uintptr_t begin, end;
    char *name; /* owned */
    int place;  /* in the order of the walk */
} span;

static void find_memory(const ht_body *body, span *at)
{
    const char *raw = ht__storage_raw(body->storage);
    int64_t begin = 0, end = 0;

    if (body->lsize > 0)
        ht__body_extent(body, &begin, &end);
    at->begin = (uintptr_t)raw + (uintptr_t)begin;
    at->end = (uintptr_t)raw + (uintptr_t)end;
}

static int compare_begins(const void *a, const void *b)
{
    uintptr_t first = ((const span *)a)->begin;
    uintptr_t second = ((const span *)b)->begin;

    return (first > second) - (first < second);
}

/* After sorting, a tensor that shares memory with an earlier one shares it with the one that ends
 * last. */
static bool find_overlap(span *spans, int count, const char *names[2])
{
    const span *last = NULL;

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
    span *spans; /* owned */
    int count, room;
};

static void add_trainable(const char *name, ht_tensor *x, void *user)
{
    struct list *list = user;
    span *added;

    if (!ht_tensor_requires_grad(x))
        return;
    if (list->count == list->room) {
        list->room = 2 * list->room + 16;
        list->spans = ht__realloc(list->spans, (size_t)list->room * sizeof *list->spans);
    }
    added = &list->spans[list->count];
    *added = (span){.name = ht__strdup(name), .place = list->count++};
    find_memory(x->body, added);
}

ht_status ht__module_check_disjoint(const char *what, ht_module *module)
{
    struct list list = {0};
    const char *names[2];
    ht_status status = HT_SUCCESS;

    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, add_trainable, &list);
    if (find_overlap(list.spans, list.count, names))
        status = ht__error_set(HT_ERR_ARGUMENT,
                               "%s: parameters %s and %s share memory, and each would get its "
                               "own updates; register one tensor in both modules",
                               what, names[0], names[1]);
    for (int i = 0; i < list.count; i++)
        ht__free(list.spans[i].name);
    ht__free(list.spans);
    return status;
}

static ht_reducer *all; /* that there are, in no order */

void ht__reducer_enter(ht_reducer *reducer)
{
    reducer->next = all;
    all = reducer;
}

void ht__reducer_leave(ht_reducer *reducer)
{
    ht_reducer **at = &all;

    while (*at != NULL && *at != reducer)
        at = &(*at)->next;
    if (*at != NULL)
        *at = reducer->next;
}

ht_reducer *ht__reducers_all(void)
{
    return all;
}

bool ht__parameter_is_wrapped(const ht_tensor *parameter)
{
    for (const ht_reducer *reducer = all; reducer != NULL; reducer = reducer->next) {
        for (int i = 0; i < reducer->count; i++) {
            if (reducer->params[i].tensor == parameter)
                return true;
        }
    }
    return false;
}

/* Another parameter that lies there; NULL: none. Wrappers of one model may hold a part of it each.
 */
static const ht_reducer_param *find_neighbour(const ht_tensor *leaf, const ht_body *to)
{
    span mine, other;

    find_memory(to, &mine);
    for (const ht_reducer *reducer = all; reducer != NULL; reducer = reducer->next) {
        for (int i = 0; i < reducer->count; i++) {
            const ht_reducer_param *param = &reducer->params[i];

            find_memory(param->tensor->body, &other);
            if (param->tensor != leaf && mine.begin < other.end && other.begin < mine.end)
                return param;
        }
    }
    return NULL;
}

ht_status ht__reducer_moving(const char *what, const ht_tensor *leaf, const ht_body *to, void *user)
{
    const ht_reducer_param *param = user, *other;

    if (!ht__body_fits(leaf->body, to))
        return HT_FAIL(leaf->body->comm, HT_ERR_STATE,
                       "%s: x is %s and would become %s, expected the same because a "
                       "data-parallel wrapper averages the gradient of x",
                       what, ht__body_str(leaf->body), ht__body_str(to));
    other = find_neighbour(leaf, to);
    if (other == NULL)
        return HT_SUCCESS;
    return HT_FAIL(leaf->body->comm, HT_ERR_STATE,
                   "%s: parameter %s would share memory with %s, and data-parallel wrappers "
                   "update each by itself; register one tensor in both modules, and then wrap",
                   what, param->name, other->name);
}
