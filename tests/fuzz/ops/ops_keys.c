/* SPDX-License-Identifier: MIT
 *
 * Reading and writing what a key names, and axes turned around. A statement has the items of its
 * key in n[0] ... n[ndim - 1]. */
#include "fuzz/fuzz.h"

enum { OPEN = 1023, WIDE = 2048 }; /* ends and steps are small numbers */

static int64_t encode(ht_index_kind kind, int64_t start, int64_t stop, int64_t step)
{
    return (((step + OPEN) * WIDE + stop + OPEN) * WIDE + start + OPEN) * 4 + kind;
}

static ht_index decode(int64_t code)
{
    ht_index item = {.kind = (ht_index_kind)(code % 4)};

    item.start = code / 4 % WIDE - OPEN;
    item.stop = code / 4 / WIDE % WIDE - OPEN;
    item.step = code / 4 / WIDE / WIDE - OPEN;
    return item;
}

static int64_t end_of(int64_t end)
{
    return end == OPEN ? HT_OPEN : end;
}

static void key_of(const struct statement *s, ht_index key[MAX_NUMBERS])
{
    for (int i = 0; i < s->ndim; i++) {
        key[i] = decode(s->n[i]);
        key[i].start = end_of(key[i].start);
        key[i].stop = end_of(key[i].stop);
    }
}

static void print_end(int64_t end)
{
    if (end != OPEN)
        fprintf(stderr, "%lld", (long long)end);
}

void key_print(const struct statement *s)
{
    for (int i = 0; i < s->ndim; i++) {
        const ht_index item = decode(s->n[i]);

        fputs(i > 0 ? ", " : "[", stderr);
        if (item.kind == HT_INDEX_NEWAXIS)
            fputs("None", stderr);
        if (item.kind == HT_INDEX_ELLIPSIS)
            fputs("...", stderr);
        if (item.kind == HT_INDEX_INTEGER)
            print_end(item.start);
        if (item.kind != HT_INDEX_SLICE)
            continue;
        print_end(item.start);
        fputc(':', stderr);
        print_end(item.stop);
        fprintf(stderr, ":%lld", (long long)item.step);
    }
    fputc(']', stderr);
}

/* --- Random keys --- */

static int64_t random_end(struct run *run, int64_t length)
{
    if (random_chance(&run->random, 45))
        return OPEN;
    return random_below(&run->random, 2 * length + 5) - length - 2;
}

static int64_t random_item(struct run *run, int64_t length)
{
    static const int64_t steps[] = {1, 1, 1, 2, 3, -1, -1, -2, -3, 500};
    int64_t step = steps[random_below(&run->random, 10)], start;

    if (random_chance(&run->random, 35)) {
        start = length > 0 ? random_below(&run->random, 2 * length) - length : 0;
        start += random_chance(&run->random, 1) ? 2 * length : 0;
        return encode(HT_INDEX_INTEGER, start, 0, 1);
    }
    if (random_chance(&run->random, 20))
        return encode(HT_INDEX_SLICE, OPEN, OPEN, 1);
    start = random_end(run, length);
    return encode(HT_INDEX_SLICE, start, random_end(run, length),
                  random_chance(&run->random, 1) ? 0 : step);
}

/* Items for axes of x from the first on; behind an ellipsis for the last ones. */
static void random_key(struct run *run, const struct array *x, struct statement *s)
{
    const int64_t count = random_below(&run->random, (x->ndim < 4 ? x->ndim : 4) + 1);
    const int64_t gap = random_chance(&run->random, 25) ? random_below(&run->random, count + 1)
                                                        : -1;

    s->ndim = 0;
    for (int64_t i = 0; i <= count; i++) {
        if (i == gap && s->ndim < MAX_NUMBERS)
            s->n[s->ndim++] = encode(HT_INDEX_ELLIPSIS, 0, 0, 1);
        if (s->ndim < MAX_NUMBERS && random_chance(&run->random, 10))
            s->n[s->ndim++] = encode(HT_INDEX_NEWAXIS, 0, 0, 1);
        if (s->ndim < MAX_NUMBERS && i < count)
            s->n[s->ndim++] = random_item(run,
                                          x->shape[gap >= 0 && i >= gap ? x->ndim - count + i : i]);
    }
    if (random_chance(&run->random, 1) && s->ndim < MAX_NUMBERS)
        s->n[s->ndim++] = encode(HT_INDEX_ELLIPSIS, 0, 0, 1);
}

/* --- The elements that a key names --- */

/* The first of the indices that a slice goes through, their number, and their step; false: there
 * may be no answer. One after another, as Python's range would. */
static bool slice_of(const ht_index *item, int64_t length, int64_t *first, int64_t *count)
{
    const bool down = item->step < 0;
    int64_t begin = item->start, end = item->stop;

    *count = 0;
    if (item->step == 0)
        return false;
    begin = begin == OPEN ? (down ? length - 1 : 0) : begin < 0 ? begin + length : begin;
    end = end == OPEN ? (down ? -1 : length) : end < 0 ? end + length : end;
    if (!down && begin < 0)
        begin = 0;
    if (down && begin >= length)
        begin = length - 1;
    if (down && end < 0)
        end = -1;
    *first = begin;
    for (int64_t i = begin; i >= 0 && i < length && (down ? i > end : i < end); i += item->step)
        ++*count;
    return true;
}

static void add_axis(struct array *out, int64_t length, int64_t stride)
{
    out->shape[out->ndim] = length;
    out->stride[out->ndim++] = stride;
}

/* *place <- what the key names in x, as a view. *copied: ht_getitem gives a copy, as the split axis
 * is asked for one index or in the other direction. */
static int select_place(const struct array *x, int split, const struct statement *s,
                        struct array *place, bool *copied)
{
    int axis = 0, indices = 0, ellipses = 0, more = 0;

    for (int i = 0; i < s->ndim; i++) {
        ht_index_kind kind = decode(s->n[i]).kind;

        ellipses += kind == HT_INDEX_ELLIPSIS;
        more += kind == HT_INDEX_NEWAXIS;
        indices += kind == HT_INDEX_INTEGER || kind == HT_INDEX_SLICE;
    }
    if (ellipses > 1 || indices > x->ndim)
        return HT_ERR_ARGUMENT;
    if (x->ndim + more > HT_MAX_NDIM)
        return WANT_ANYTHING;
    *place = array_view(x);
    place->ndim = 0;
    *copied = false;
    for (int i = 0; i <= s->ndim; i++) {
        const ht_index item = i < s->ndim ? decode(s->n[i]) : (ht_index){.kind = HT_INDEX_ELLIPSIS};
        int64_t first, count;

        if (item.kind == HT_INDEX_NEWAXIS) {
            add_axis(place, 1, 0);
        } else if (item.kind == HT_INDEX_ELLIPSIS) {
            for (; axis < x->ndim && (indices < x->ndim || i == s->ndim); indices++, axis++)
                add_axis(place, x->shape[axis], x->stride[axis]);
        } else if (item.kind == HT_INDEX_INTEGER) {
            if (item.start < -x->shape[axis] || item.start >= x->shape[axis])
                return HT_ERR_ARGUMENT;
            place->offset += (item.start + (item.start < 0) * x->shape[axis]) * x->stride[axis];
            *copied = *copied || axis == split;
            axis++;
        } else {
            if (!slice_of(&item, x->shape[axis], &first, &count))
                return HT_ERR_ARGUMENT;
            place->offset += count > 0 ? first * x->stride[axis] : 0;
            *copied = *copied || (axis == split && item.step < 0);
            add_axis(place, count, item.step * x->stride[axis++]);
        }
    }
    return WANT_SUCCESS;
}

static struct array without_graph(struct array copy)
{
    for (int64_t i = 0; i < array_size(&copy); i++)
        copy.memory->data[i].d = NULL;
    return copy;
}

/* A view, or the copy that there is instead. */
static struct array view_or_copy(struct run *run, const struct array *x, struct array view,
                                 bool copied)
{
    if (copied && run->recording)
        return array_copy(&view);
    if (copied)
        return without_graph(array_copy(&view));
    view.cut = x->cut || !run->recording;
    view.view = true;
    return view;
}

static bool generate_get(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    if (s->arg[0] < 0)
        return false;
    random_key(run, array_of(run, s, 0), s);
    return true;
}

static struct outcome call_get(struct run *run, const struct statement *s)
{
    ht_index key[MAX_NUMBERS];

    key_of(s, key);
    return made(ht_getitem(tensor_of(run, s, 0), s->ndim, key));
}

static int reference_get(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct array place;
    bool copied;
    int want = select_place(x, ht_tensor_split(tensor_of(run, s, 0)), s, &place, &copied);

    if (want == WANT_SUCCESS)
        *out = view_or_copy(run, x, place, copied);
    return want;
}

/* --- Writing --- */

static const struct array *target;

static bool fits_target(struct run *run, const struct variable *x)
{
    (void)run;
    return broadcasts_to(&x->a, target->ndim, target->shape);
}

static bool generate_set(struct run *run, const struct op *op, struct statement *s)
{
    struct array place;
    bool copied;

    (void)op;
    s->arg[0] = pick(run, is_writable);
    s->number = random_number(run);
    if (s->arg[0] < 0)
        return false;
    random_key(run, array_of(run, s, 0), s);
    if (select_place(array_of(run, s, 0), HT_NONE, s, &place, &copied) != WANT_SUCCESS)
        place = *array_of(run, s, 0);
    target = &place;
    s->arg[1] = pick(run, random_chance(&run->random, 3) ? NULL : fits_target);
    return s->arg[1] >= 0;
}

static struct outcome call_set(struct run *run, const struct statement *s)
{
    ht_index key[MAX_NUMBERS];

    key_of(s, key);
    return done(ht_setitem_(tensor_of(run, s, 0), s->ndim, key, tensor_of(run, s, 1)));
}

static struct outcome call_set_number(struct run *run, const struct statement *s)
{
    ht_index key[MAX_NUMBERS];

    key_of(s, key);
    return done(ht_setitem_(tensor_of(run, s, 0), s->ndim, key, ht_scalar_ext(s->number)));
}

/* The place, where it may be written. */
static int place_of(struct run *run, const struct statement *s, const struct array *values,
                    struct array *place)
{
    const struct array *x = array_of(run, s, 0);
    bool copied;
    int want = select_place(x, HT_NONE, s, place, &copied);

    if (want != WANT_SUCCESS)
        return want;
    place->view = true;
    place->cut = x->cut || !run->recording;
    return check_write_to(run, place, values);
}

/* values less leading axes of length 1 that the place has not. */
static struct array without_leading(const struct array *values, const struct array *place)
{
    struct array view = array_view(values);

    while (view.ndim > place->ndim && view.shape[0] == 1) {
        view.ndim--;
        memmove(view.shape, view.shape + 1, (size_t)view.ndim * sizeof view.shape[0]);
        memmove(view.stride, view.stride + 1, (size_t)view.ndim * sizeof view.stride[0]);
    }
    return view;
}

static int reference_set(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *values = array_of(run, s, 1);
    struct array place, before;
    int want = place_of(run, s, values, &place);

    (void)out;
    if (want == WANT_ANYTHING || want == HT_ERR_ARGUMENT)
        return want;
    before = without_leading(values, &place);
    if (!broadcasts_to(&before, place.ndim, place.shape))
        return want == WANT_SUCCESS ? HT_ERR_SHAPE : WANT_FAILURE;
    if (want != WANT_SUCCESS)
        return want;
    before = array_copy(&before);
    for (int64_t i = 0; i < array_size(&place); i++) {
        int64_t at[HT_MAX_NDIM];
        struct number a;

        unravel(i, place.ndim, place.shape, at);
        a = convert(array_at_coords(&before, place.ndim, at), values->dtype, place.dtype);
        if (kind_of(place.dtype) <= KIND_INT)
            a.d = NULL;
        write_element(run, &place, i, a);
    }
    return WANT_SUCCESS;
}

static int reference_set_number(struct run *run, const struct statement *s, struct array *out)
{
    struct array place;
    int want = place_of(run, s, NULL, &place);

    (void)out;
    if (want != WANT_SUCCESS)
        return want;
    if (!number_fits(place.dtype, s->number))
        return HT_ERR_ARGUMENT;
    for (int64_t i = 0; i < array_size(&place); i++)
        write_element(run, &place, i, number_of(place.dtype, s->number));
    return WANT_SUCCESS;
}

/* --- Other directions --- */

static bool generate_flip(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    if (s->arg[0] < 0 || array_of(run, s, 0)->ndim == 0)
        return false;
    s->n[0] = random_axis(run, array_of(run, s, 0)->ndim);
    s->n[1] = random_axis(run, array_of(run, s, 0)->ndim);
    s->n[2] = 1 + (array_of(run, s, 0)->ndim > 1 && random_chance(&run->random, 40));
    return true;
}

static struct outcome call_flip(struct run *run, const struct statement *s)
{
    const int axes[2] = {(int)s->n[0], (int)s->n[1]};

    return made(ht_flip(tensor_of(run, s, 0), (int)s->n[2], axes));
}

static int reference_flip(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axes[2] = {(int)s->n[0], (int)s->n[1]};
    struct array view = array_view(x);
    bool copied = false, same = true;

    for (int i = 0; i < s->n[2]; i++) {
        if (!axis_of(&axes[i], x->ndim) || (i > 0 && axes[0] == axes[1]))
            return HT_ERR_ARGUMENT;
    }
    for (int i = 0; i < s->n[2]; i++) {
        const int64_t length = x->shape[axes[i]];

        if (length <= 1 && ht_tensor_split(tensor_of(run, s, 0)) != axes[i])
            continue;
        view.offset += length > 0 ? (length - 1) * x->stride[axes[i]] : 0;
        view.stride[axes[i]] = -x->stride[axes[i]];
        copied = copied || ht_tensor_split(tensor_of(run, s, 0)) == axes[i];
        same = false;
    }
    *out = same ? array_view(x) : view_or_copy(run, x, view, copied);
    return WANT_SUCCESS;
}

const struct op ops_keys[] = {
    {"ht_getitem(%t, %k)", 25, generate_get, call_get, reference_get, .rules = RULE_SMOOTH},
    {"ht_setitem_(%t, %k, %t)", 12, generate_set, call_set, reference_set,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_setitem_(%t, %k, ht_scalar_ext(%l))", 6, generate_set, call_set_number,
     reference_set_number, .rules = RULE_SMOOTH | RULE_WRITES | RULE_LONG},
    {"ht_flip(%t, {%n, %n}, %n of them)", 6, generate_flip, call_flip, reference_flip,
     .rules = RULE_SMOOTH},
    {0}};
