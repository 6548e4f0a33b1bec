/* SPDX-License-Identifier: MIT
 *
 * Splits inputs into parts: tensors are cut, lists and maps are walked, and everything else is
 * shared. */
#include <inttypes.h>

#include "nn/parallel/device/device_parallel.h"
#include "ht/manipulations.h"

/* How the tensors of a value are cut; `parts` 0 until the first of them was seen. */
struct cut {
    const char *what;
    const ht_device_layout *layout;
    int parts;
    int64_t length; /* of the tensor that decided */
};

static int64_t part_length(int64_t length, int64_t devices)
{
    return length / devices + (length % devices != 0);
}

static bool see_tensor(struct cut *cut, ht_tensor *x)
{
    int axis = cut->layout->dim, parts = 1;
    int64_t length;

    if (x->body->comm->size > 1 || x->body->ndim == 0) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: an input %s; expected process-local tensors with an axis %d", cut->what,
                x->body->ndim == 0 ? "is a scalar" : "is on a communicator of several ranks", axis);
        return false;
    }
    if (!ht__check_axis_of(cut->what, "dim", "an input", x, &axis))
        return false;
    length = x->body->shape[axis];
    if (length > 0)
        parts = (int)part_length(length, part_length(length, cut->layout->count));
    if (cut->parts == 0) {
        cut->parts = parts;
        cut->length = length;
    }
    if (parts == cut->parts)
        return true;
    HT_FAIL(NULL, HT_ERR_SHAPE,
            "%s: inputs of %" PRId64 " and %" PRId64
            " elements along axis %d make %d and %d parts on %d devices",
            cut->what, cut->length, length, axis, cut->parts, parts, cut->layout->count);
    return false;
}

static bool see(struct cut *cut, ht_value *value)
{
    if (ht_value_get_kind(value) == HT_VALUE_TENSOR)
        return see_tensor(cut, ht_value_as_tensor(value));
    for (int i = 0; i < ht_value_count(value); i++) {
        if (!see(cut, ht_value_at(value, i)))
            return false;
    }
    return true;
}

static ht_value *take_tensor(const struct cut *cut, ht_tensor *x, int part)
{
    int axis = cut->layout->dim < 0 ? cut->layout->dim + x->body->ndim : cut->layout->dim;
    int64_t length = x->body->shape[axis], size = part_length(length, cut->layout->count);
    int64_t start = part * size, stop = start + size < length ? start + size : length;
    ht_tensor *own = cut->parts > 1 ? ht_narrow(x, axis, start, stop) : x;

    return ht_value_tensor(ht_to_device(own, cut->layout->devices[part]));
}

static ht_value *take(const struct cut *cut, ht_value *value, int part);

static ht_value *take_items(const struct cut *cut, ht_value *value, int part)
{
    bool is_map = ht_value_get_kind(value) == HT_VALUE_MAP;
    ht_value *items = is_map ? ht_value_map() : ht_value_list();

    for (int i = 0; i < ht_value_count(value); i++) {
        ht_value *item = take(cut, ht_value_at(value, i), part);
        ht_status status = is_map ? ht_value_set(items, ht_value_key(value, i), item)
                                  : ht_value_append(items, item);

        if (status != HT_SUCCESS)
            return NULL;
    }
    return items;
}

static ht_value *take(const struct cut *cut, ht_value *value, int part)
{
    switch (ht_value_get_kind(value)) {
    case HT_VALUE_TENSOR:
        return take_tensor(cut, ht_value_as_tensor(value), part);
    case HT_VALUE_LIST:
    case HT_VALUE_MAP:
        return take_items(cut, value, part);
    default:
        return value;
    }
}

int ht__device_scatter(const char *what, ht_value *inputs, const ht_device_layout *layout,
                       ht_value *parts[])
{
    struct cut cut = {.what = what, .layout = layout};

    if (!see(&cut, inputs))
        return 0;
    if (cut.parts == 0) /* no tensor: all devices get the same */
        cut.parts = layout->count;
    for (int i = 0; i < cut.parts; i++) {
        parts[i] = take(&cut, inputs, i);
        if (parts[i] == NULL)
            return 0;
    }
    return cut.parts;
}
