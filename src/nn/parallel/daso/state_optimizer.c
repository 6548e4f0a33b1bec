/* SPDX-License-Identifier: MIT
 *
 * The optimizer in DASO's state, and its state tensors, of which all ranks have the same ones. A
 * momentum makes its tensor in the first update that uses it. While a schedule sets the momentum to
 * 0, the tensor rests. A rank that had no rows may lack it. */
#include "nn/parallel/daso/daso.h"
#include "nn/parallel/daso/state.h"

#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"

enum { ABSENT, UNUSED, USED }; /* not made; not used by an update yet; used */

static const ht_update_call *settings_of(const ht_optimizer *optimizer, int index)
{
    return &optimizer->groups[optimizer->entries[index].group].settings;
}

static int64_t kind_of(const ht_optimizer *optimizer, int place)
{
    const ht_optimizer_entry *entry = &optimizer->entries[place / HT_OPTIMIZER_STATES];
    int s = place % HT_OPTIMIZER_STATES;

    return entry->state[s] == NULL ? ABSENT : entry->is_new[s] ? UNUSED : USED;
}

static ht_status make_used(ht_optimizer *optimizer)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++)
        status = ht__optimizer_make_state(optimizer, i, settings_of(optimizer, i));
    return status;
}

/* A new one is zeros (or the type's start), and the next update ignores it. */
static ht_status make_place(ht_optimizer *optimizer, int place)
{
    int index = place / HT_OPTIMIZER_STATES, s = place % HT_OPTIMIZER_STATES;
    ht_optimizer_entry *entry = &optimizer->entries[index];
    ht_status status;

    if (entry->state[s] != NULL || optimizer->type->state_names[s] == NULL)
        return HT_SUCCESS;
    status = ht__optimizer_new_state(optimizer, index, s, &entry->state[s]);
    entry->is_new[s] = entry->state[s] != NULL;
    return status;
}

ht_status ht__daso_agree_states(const char *what, ht_daso *daso, bool averaged)
{
    ht_optimizer *optimizer = daso->optimizer;
    int places = optimizer->count * HT_OPTIMIZER_STATES;
    int64_t *kinds = ht__alloc(((size_t)places + 1) * sizeof *kinds); /* last: a failure */
    bool held = ht__error_hold(true);
    ht_status mine = daso->failure != NULL
                         ? ht__error_set(daso->failure->code, "%s", daso->failure->message)
                         : make_used(optimizer),
              status;

    ht__error_hold(held);
    for (int p = 0; p < places; p++)
        kinds[p] = kind_of(optimizer, p);
    kinds[places] = mine != HT_SUCCESS;
    status = ht__comm_allreduce_i64(daso->comm, kinds, places + 1, HT_OP_MAX, what);
    if (status == HT_SUCCESS && kinds[places] != 0)
        status = ht__agree(what, daso->comm, mine);
    for (int p = 0; p < places && status == HT_SUCCESS; p++) {
        ht_optimizer_entry *entry = &optimizer->entries[p / HT_OPTIMIZER_STATES];
        const int s = p % HT_OPTIMIZER_STATES;

        if (kinds[p] != ABSENT)
            status = make_place(optimizer, p);
        entry->used_elsewhere[s] = kinds[p] == USED;
        if (averaged && kinds[p] == USED)
            entry->is_new[s] = false;
    }
    ht__free(kinds);
    return status;
}

void ht__daso_list_states(const ht_optimizer *optimizer, ht_value *list)
{
    for (int p = 0; p < optimizer->count * HT_OPTIMIZER_STATES; p++) {
        if (kind_of(optimizer, p) != ABSENT)
            ht_value_append(
                list,
                ht_value_tensor(
                    optimizer->entries[p / HT_OPTIMIZER_STATES].state[p % HT_OPTIMIZER_STATES]));
    }
}

/* The state tensors at each place: whether they are the same on all ranks, and whether an update of
 * this rank used them. */
static void save_kinds(const ht_daso *daso, ht_value *map)
{
    const ht_optimizer *optimizer = daso->optimizer;
    int64_t places = (int64_t)optimizer->count * HT_OPTIMIZER_STATES;
    double *made = ht__alloc(2 * (size_t)places * sizeof *made), *used = made + places;

    for (int p = 0; p < places; p++) {
        made[p] = kind_of(optimizer, p) != ABSENT;
        used[p] = kind_of(optimizer, p) == USED;
    }
    ht_value_set(map, "optimizer_made",
                 ht_value_tensor(ht_array(made, 1, &places, HT_FLOAT64, HT_LOCAL)));
    ht_value_set(map, "optimizer_used", ht__daso_rows(daso, used, places, HT_FLOAT64));
    ht__free(made);
}

ht_status ht__daso_save_optimizer(ht_daso *daso, ht_value *map)
{
    static const char what[] = "ht_daso_state_dict";
    size_t count = (size_t)daso->optimizer->count;
    double *steps = ht__alloc(count * sizeof *steps), *numbers = ht__alloc(count * sizeof *numbers);
    ht_status status = ht__daso_agree_states(what, daso, false);
    ht_value *list = ht_value_list();
    ht_flat_tensors *flat;

    ht__daso_list_states(daso->optimizer, list);
    flat = ht__flat_new(list, NULL);
    if (status == HT_SUCCESS)
        status = flat != NULL ? ht__flat_gather(what, flat, flat->count, NULL, NULL)
                              : ht_error_get(NULL);
    for (size_t i = 0; i < count; i++) {
        steps[i] = (double)daso->optimizer->entries[i].steps;
        numbers[i] = daso->optimizer->entries[i].number;
    }
    ht_value_set(map, "optimizer_steps", ht__daso_rows(daso, steps, (int64_t)count, HT_FLOAT64));
    if (daso->optimizer->type->number_name != NULL)
        ht_value_set(map, "optimizer_numbers",
                     ht__daso_rows(daso, numbers, (int64_t)count, HT_FLOAT64));
    save_kinds(daso, map);
    if (status == HT_SUCCESS && flat->all->body->lsize > 0)
        ht_value_set(map, "optimizer_state", ht__daso_flat_rows(daso, flat));
    ht__free(steps);
    ht__free(numbers);
    ht__flat_free(flat);
    return status;
}

/* Whether the state has a tensor at each place, as 0 or 1. NULL: states of earlier versions have
 * those that updates use. */
static const double *made_in(const ht_value *state)
{
    ht_tensor *made = ht__daso_whole(state, "optimizer_made");

    return made != NULL ? ht_tensor_data(ht_contiguous(ht_astype(made, HT_FLOAT64))) : NULL;
}

/* Whether updates use the tensor that is at a place here. */
static bool is_used(const ht_optimizer *optimizer, int place)
{
    int index = place / HT_OPTIMIZER_STATES, s = place % HT_OPTIMIZER_STATES;

    return optimizer->entries[index].state[s] != NULL &&
           ht__optimizer_uses(optimizer->type, settings_of(optimizer, index), s);
}

static ht_status refuse_other(const char *what, const ht_optimizer *optimizer, int place)
{
    return ht__error_set(HT_ERR_FORMAT,
                         "%s: the state has tensor %d of parameter %d, which %s lacks; is it of "
                         "another optimizer?",
                         what, place % HT_OPTIMIZER_STATES, place / HT_OPTIMIZER_STATES,
                         optimizer->type->name);
}

/* An update would use a tensor that the state does not have. */
static ht_status refuse_without(const char *what, const ht_optimizer *optimizer, int place)
{
    return ht__error_set(HT_ERR_FORMAT,
                         "%s: the state has no \"%s\" of parameter %d, which the optimizer uses; "
                         "load the optimizer's state first",
                         what, optimizer->type->state_names[place % HT_OPTIMIZER_STATES],
                         place / HT_OPTIMIZER_STATES);
}

/* Adds the tensor at a place that the state has. One that no update here has used stays in the list
 * alone, until the load is certain. */
static ht_status add_place(const char *what, ht_optimizer *optimizer, int place, ht_value *list)
{
    int index = place / HT_OPTIMIZER_STATES, s = place % HT_OPTIMIZER_STATES;
    ht_tensor *x = ht_retain(optimizer->entries[index].state[s]);
    ht_status status = HT_SUCCESS;

    if (x == NULL && optimizer->type->state_names[s] != NULL)
        status = ht__optimizer_new_state(optimizer, index, s, &x);
    if (status == HT_SUCCESS && x == NULL)
        status = refuse_other(what, optimizer, place);
    if (status == HT_SUCCESS)
        ht_value_append(list, ht_value_tensor(x));
    ht_release(x);
    return status;
}

ht_flat_tensors *ht__daso_saved_states(const char *what, ht_daso *daso, const ht_value *state)
{
    ht_optimizer *optimizer = daso->optimizer;
    const double *made = made_in(state);
    ht_status status = make_used(optimizer);
    ht_value *list = ht_value_list();

    for (int p = 0; p < optimizer->count * HT_OPTIMIZER_STATES && status == HT_SUCCESS; p++) {
        if (made != NULL ? made[p] != 0 : is_used(optimizer, p))
            status = add_place(what, optimizer, p, list);
        else if (is_used(optimizer, p))
            status = refuse_without(what, optimizer, p);
    }
    return status == HT_SUCCESS ? ht__flat_new(list, NULL) : NULL;
}

/* The load is certain now. */
static void put_places(ht_optimizer *optimizer, const double *made, const ht_flat_tensors *flat)
{
    int part = 0;

    for (int p = 0; made != NULL && p < optimizer->count * HT_OPTIMIZER_STATES; p++) {
        ht_optimizer_entry *entry = &optimizer->entries[p / HT_OPTIMIZER_STATES];
        int s = p % HT_OPTIMIZER_STATES;

        if (made[p] == 0)
            continue;
        if (entry->state[s] == NULL)
            entry->state[s] = ht_retain(flat->parts[part]);
        part++;
    }
}

/* Each number of the parameters, or of their state tensors: this rank's row. */
static const double *numbers_of(const ht_daso *daso, const ht_value *state, const char *name)
{
    ht_tensor *row = ht__daso_row_of(daso, state, name, true);

    return row != NULL ? ht_tensor_data(ht_contiguous(ht_astype(row, HT_FLOAT64))) : NULL;
}

/* Earlier versions do not save which state tensors were used: those of a parameter that was
 * updated. */
static ht_status load_kinds(ht_daso *daso, const ht_value *state)
{
    ht_optimizer *optimizer = daso->optimizer;
    const double *made = made_in(state), *used = NULL;

    if (made != NULL && (used = numbers_of(daso, state, "optimizer_used")) == NULL)
        return ht_error_get(NULL);
    for (int p = 0; p < optimizer->count * HT_OPTIMIZER_STATES; p++) {
        ht_optimizer_entry *entry = &optimizer->entries[p / HT_OPTIMIZER_STATES];
        int s = p % HT_OPTIMIZER_STATES;

        if (made != NULL && made[p] == 0) {
            ht_release(entry->state[s]);
            entry->state[s] = NULL;
        }
        if (used != NULL || entry->steps > 0)
            entry->is_new[s] = used != NULL && entry->state[s] != NULL && used[p] == 0;
    }
    return HT_SUCCESS;
}

ht_status ht__daso_load_optimizer(const char *what, ht_daso *daso, const ht_value *state,
                                  ht_flat_tensors *flat)
{
    ht_optimizer *optimizer = daso->optimizer;
    const double *steps = numbers_of(daso, state, "optimizer_steps"), *numbers = NULL;
    ht_status status = HT_SUCCESS;

    if (steps == NULL)
        return ht_error_get(NULL);
    if (optimizer->type->number_name != NULL &&
        (numbers = numbers_of(daso, state, "optimizer_numbers")) == NULL)
        return ht_error_get(NULL);
    put_places(optimizer, made_in(state), flat);
    if (flat->all->body->lsize > 0) {
        ht_tensor *mine = ht__daso_row_of(daso, state, "optimizer_state", false);

        status = mine != NULL ? ht_copy_(flat->all, mine) : ht_error_get(NULL);
    }
    if (status == HT_SUCCESS)
        status = ht__flat_scatter(what, flat, flat->count, NULL, NULL);
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++) {
        optimizer->entries[i].steps = (int64_t)steps[i];
        if (numbers != NULL)
            optimizer->entries[i].number = numbers[i];
    }
    return status == HT_SUCCESS ? load_kinds(daso, state) : status;
}
