/* SPDX-License-Identifier: MIT
 *
 * The memory of L-BFGS between steps, and its place in states. */
#include "optim/rules/lbfgs.h"

#include <math.h>

#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/types.h"

double ht__lbfgs_item(ht_lbfgs *memory, ht_tensor *x)
{
    double value = NAN;
    const ht_status status = ht_tensor_item(x, &value);

    if (memory->failure == HT_SUCCESS)
        memory->failure = status;
    return value;
}

double ht__lbfgs_dot(ht_lbfgs *memory, ht_tensor *a, ht_tensor *b)
{
    return ht__lbfgs_item(memory, ht_vdot(a, b));
}

static void forget(ht_lbfgs *memory, int index)
{
    ht_release(memory->grads[index]);
    ht_release(memory->steps[index]);
    for (int i = index + 1; i < memory->count; i++) {
        memory->grads[i - 1] = memory->grads[i];
        memory->steps[i - 1] = memory->steps[i];
        memory->inverse[i - 1] = memory->inverse[i];
    }
    memory->count--;
}

static void append(ht_lbfgs *memory, ht_tensor *grads, ht_tensor *steps, double dot)
{
    const size_t count = (size_t)memory->count + 1;

    memory->grads = ht__realloc(memory->grads, count * sizeof *memory->grads);
    memory->steps = ht__realloc(memory->steps, count * sizeof *memory->steps);
    memory->inverse = ht__realloc(memory->inverse, count * sizeof *memory->inverse);
    memory->grads[memory->count] = ht_retain(grads);
    memory->steps[memory->count] = ht_retain(steps);
    memory->inverse[memory->count++] = 1 / dot;
}

ht_status ht__lbfgs_remember(ht_lbfgs *memory, ht_tensor *grads, ht_tensor *steps, int most)
{
    const double dot = ht__lbfgs_dot(memory, grads, steps);
    const double square = ht__lbfgs_dot(memory, grads, grads);

    if (memory->failure != HT_SUCCESS)
        return memory->failure;
    if (!(dot > 1e-10))
        return HT_SUCCESS;
    if (memory->count > 0 && memory->count >= most)
        forget(memory, 0);
    if (most > 0)
        append(memory, grads, steps, dot);
    memory->diagonal = dot / square;
    return HT_SUCCESS;
}

void ht__lbfgs_clear(void *of)
{
    ht_lbfgs *memory = of;

    while (memory->count > 0)
        forget(memory, memory->count - 1);
    ht_release(memory->direction);
    ht_release(memory->grad);
    ht__free(memory->grads);
    ht__free(memory->steps);
    ht__free(memory->inverse);
    *memory = (ht_lbfgs){0};
}

/* The numbers by torch's names. */
static const struct {
    const char *name;
    size_t at;
} numbers[] = {{"n_iter", offsetof(ht_lbfgs, iterations)},
               {"func_evals", offsetof(ht_lbfgs, evaluations)},
               {"t", offsetof(ht_lbfgs, t)},
               {"H_diag", offsetof(ht_lbfgs, diagonal)},
               {"prev_loss", offsetof(ht_lbfgs, loss)}};
enum { COUNTS = 2, NUMBERS = sizeof numbers / sizeof *numbers };

ht_value *ht__lbfgs_save(const void *of)
{
    const ht_lbfgs *memory = of;
    ht_value *map = ht_value_map();

    for (int i = 0; i < NUMBERS; i++)
        ht_value_set(
            map, numbers[i].name,
            ht_value_number(*(const double *)(const void *)((const char *)memory + numbers[i].at)));
    if (memory->direction == NULL)
        return map;
    ht_value_set(map, "d", ht_value_tensor(memory->direction));
    ht_value_set(map, "prev_flat_grad", ht_value_tensor(memory->grad));
    ht_value_set(map, "old_dirs", ht_value_tensors(memory->count, memory->grads));
    ht_value_set(map, "old_stps", ht_value_tensors(memory->count, memory->steps));
    return map;
}

static ht_status check_vector(const char *what, const char *name, const ht_value *value,
                              int64_t size)
{
    ht_tensor *x = ht_value_as_tensor(value);

    if (x != NULL && ht_tensor_ndim(x) == 1 && ht_tensor_size(x) == size &&
        ht_dtype_is_floating(ht_tensor_dtype(x)))
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_FORMAT,
                   "%s: the state has no vector \"%s\" of %lld floating elements", what, name,
                   (long long)size);
}

ht_status ht__lbfgs_check(const char *what, const ht_optimizer *optimizer, const ht_value *state)
{
    const ht_value *grads = ht_value_get(state, "old_dirs"),
                   *steps = ht_value_get(state, "old_stps");
    ht_status status = HT_SUCCESS;
    int64_t size = 0;

    for (int i = 0; i < COUNTS && status == HT_SUCCESS; i++)
        status = ht__optim_check_state(what, state, &(ht_optim_number){.name = numbers[i].name});
    for (int i = COUNTS; i < NUMBERS && status == HT_SUCCESS; i++) { /* NaN after a NaN loss */
        if (ht_value_get_kind(ht_value_get(state, numbers[i].name)) != HT_VALUE_NUMBER)
            status = HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state has no number \"%s\"", what,
                             numbers[i].name);
    }
    if (status == HT_SUCCESS && ht_value_get(state, "d") == NULL &&
        ht_value_as_number(ht_value_get(state, "n_iter")) > 0)
        status = HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state has iterations, but no vector \"d\"",
                         what);
    if (status != HT_SUCCESS || ht_value_get(state, "d") == NULL)
        return status;
    for (int i = 0; i < optimizer->count; i++)
        size += ht_tensor_size(optimizer->entries[i].parameter);
    if (ht_value_count(grads) != ht_value_count(steps))
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: \"old_dirs\" has %d entries, \"old_stps\" %d",
                       what, ht_value_count(grads), ht_value_count(steps));
    status = check_vector(what, "d", ht_value_get(state, "d"), size);
    if (status == HT_SUCCESS)
        status = check_vector(what, "prev_flat_grad", ht_value_get(state, "prev_flat_grad"), size);
    for (int i = 0; i < ht_value_count(grads) && status == HT_SUCCESS; i++) {
        status = check_vector(what, "old_dirs", ht_value_at(grads, i), size);
        if (status == HT_SUCCESS)
            status = check_vector(what, "old_stps", ht_value_at(steps, i), size);
    }
    return status;
}

/* A vector of the state, with the dtype and the device of the parameters. Scoped. */
static ht_tensor *vector_for(const ht_optimizer *optimizer, const ht_value *value)
{
    const ht_tensor *first = optimizer->entries[0].parameter;
    ht_dtype dtype = ht_tensor_dtype(first);

    for (int i = 1; i < optimizer->count; i++)
        dtype = ht_promote_types(dtype, ht_tensor_dtype(optimizer->entries[i].parameter));
    return ht_copy(
        ht_astype(ht_to_device(ht_value_as_tensor(value), ht_tensor_device(first)), dtype));
}

ht_status ht__lbfgs_load(ht_optimizer *optimizer, const ht_value *state)
{
    const ht_value *grads = ht_value_get(state, "old_dirs"),
                   *steps = ht_value_get(state, "old_stps");
    ht_lbfgs *memory = optimizer->memory;

    ht__lbfgs_clear(memory);
    if (ht_value_get(state, "d") != NULL) {
        memory->direction = ht_retain(vector_for(optimizer, ht_value_get(state, "d")));
        memory->grad = ht_retain(vector_for(optimizer, ht_value_get(state, "prev_flat_grad")));
        if (memory->direction == NULL || memory->grad == NULL)
            memory->failure = ht_error_get(NULL);
    }
    for (int i = 0; i < ht_value_count(grads) && memory->failure == HT_SUCCESS; i++) {
        ht_tensor *grad = vector_for(optimizer, ht_value_at(grads, i));
        ht_tensor *step = vector_for(optimizer, ht_value_at(steps, i));
        const double dot = ht__lbfgs_dot(memory, grad, step);

        if (memory->failure == HT_SUCCESS)
            append(memory, grad, step, dot);
    }

    const ht_status status = memory->failure;

    if (status != HT_SUCCESS) { /* as before the first step */
        ht__lbfgs_clear(memory);
        return status;
    }
    for (int i = 0; i < NUMBERS; i++)
        *(double *)(void *)((char *)memory + numbers[i].at) = ht_value_as_number(
            ht_value_get(state, numbers[i].name));
    return HT_SUCCESS;
}
