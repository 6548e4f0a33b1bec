/* SPDX-License-Identifier: MIT
 *
 * A map of losses to one loss and a log: mmengine's parse_losses. */
#include <math.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/statistics.h"
#include "ht/train_step.h"

static const char what[] = "ht_parse_losses";

static ht_tensor *average(ht_tensor *x)
{
    return x->body->ndim > 0 ? ht_mean(x, HT_NONE) : x;
}

/* NULL after an error. */
static ht_tensor *sum_of_averages(const char *name, const ht_value *list)
{
    ht_tensor *sum = NULL;

    for (int i = 0; i < ht_value_count(list); i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_at(list, i));

        if (x == NULL) {
            HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: item %d of \"%s\" is %s, expected a tensor", what,
                    i, name, ht__value_kind_name(ht_value_at(list, i)));
            return NULL;
        }
        x = average(x);
        sum = sum != NULL ? ht_add(sum, x) : x;
        if (sum == NULL)
            return NULL;
    }
    if (sum == NULL)
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: list \"%s\" is empty, expected at least one tensor",
                what, name);
    return sum;
}

/* One entry's average; NULL after an error. */
static ht_tensor *entry_average(const char *name, const ht_value *entry)
{
    ht_value_kind kind = ht_value_get_kind(entry);

    if (kind == HT_VALUE_TENSOR)
        return average(ht_value_as_tensor(entry));
    if (kind == HT_VALUE_LIST)
        return sum_of_averages(name, entry);
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: \"%s\" is %s, expected a tensor or a list of tensors", what,
            name, ht__value_kind_name(entry));
    return NULL;
}

/* Adds one entry to the total and the log. */
static ht_status take_entry(const char *name, ht_value *entry, ht_tensor **total, ht_value *log)
{
    bool is_loss = strstr(name, "loss") != NULL;
    ht_tensor *x;

    if (ht_value_get_kind(entry) == HT_VALUE_NUMBER && !is_loss)
        return ht_value_set(log, name, entry);
    x = entry_average(name, entry);
    if (x == NULL)
        return ht_error_get(NULL);
    if (is_loss)
        *total = *total != NULL ? ht_add(*total, x) : x;
    if (is_loss && *total == NULL)
        return ht_error_get(NULL);
    return ht_value_set(log, name, ht_value_tensor(ht_detach(x)));
}

ht_status ht_parse_losses(ht_value *losses, ht_tensor **total, ht_value **log)
{
    ht_value *entries = ht_value_map();
    ht_tensor *sum = NULL;
    ht_status status = HT_SUCCESS;

    if (HT_IS_NULL(total, what, "total"))
        return ht_error_get(NULL);
    *total = NULL;
    if (log != NULL)
        *log = NULL;
    if (HT_IS_NULL(losses, what, "losses"))
        return ht_error_get(NULL);
    if (ht_value_as_tensor(losses) != NULL) {
        ht_value *map = ht_value_map();

        ht_value_set(map, "loss", losses);
        losses = map;
    }
    if (ht_value_get_kind(losses) != HT_VALUE_MAP)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the losses are %s, expected a map or a tensor",
                       what, ht__value_kind_name(losses));
    ht_value_set(entries, "loss", ht_value_number(0)); /* comes first in the log */
    HT_NAMED(what);
    for (int i = 0; i < ht_value_count(losses) && status == HT_SUCCESS; i++)
        status = take_entry(ht_value_key(losses, i), ht_value_at(losses, i), &sum, entries);
    if (status != HT_SUCCESS)
        return status;
    if (sum == NULL && ht_error_get(NULL) != HT_SUCCESS) /* it left no loss to put there */
        return ht_error_get(NULL);
    if (sum == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: no entry has a name that contains \"loss\", so there is nothing to "
                       "train",
                       what);
    ht_value_set(entries, "loss", ht_value_tensor(ht_detach(sum)));
    *total = sum;
    if (log != NULL)
        *log = entries;
    return HT_SUCCESS;
}

double ht_log_number(const ht_value *log, const char *key)
{
    const ht_value *entry = ht_value_get(log, key);

    if (ht_value_get_kind(entry) == HT_VALUE_NUMBER)
        return ht_value_as_number(entry);
    return ht_value_as_tensor(entry) != NULL ? ht_item(ht_value_as_tensor(entry)) : NAN;
}
