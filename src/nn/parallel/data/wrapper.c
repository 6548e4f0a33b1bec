/* SPDX-License-Identifier: MIT
 *
 * The struct behind the handle of a wrapper. Its type is known by the address of its name. And the
 * wrappers that ran forward on this thread. */
#include "nn/parallel/data/data_parallel.h"

const char ht__dp_type_name[] = "DataParallel";

/* In the order of their first time. */
static _Thread_local ht_data_parallel *known;

ht_data_parallel *ht__dp_of(ht_module *module)
{
    return module != NULL && module->type->name == ht__dp_type_name ? ht_module_data(module) : NULL;
}

ht_data_parallel *ht__dp_get(const char *what, ht_module *wrapper)
{
    ht_data_parallel *dp = ht__dp_of(wrapper);

    if (dp != NULL)
        return dp;
    if (wrapper != NULL || ht_error_get(NULL) == HT_SUCCESS)
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the module is %s, not a DataParallel wrapper", what,
                wrapper != NULL ? wrapper->type->name : "NULL");
    return NULL;
}

ht_data_parallel *ht__dp_known(void)
{
    return known;
}

/* The link that points to it, or the one at the end. */
static ht_data_parallel **link_to(const ht_data_parallel *dp)
{
    ht_data_parallel **link = &known;

    while (*link != NULL && *link != dp)
        link = &(*link)->next;
    return link;
}

void ht__dp_get_known(ht_data_parallel *dp)
{
    *link_to(dp) = dp;
}

void ht__dp_leave_known(ht_data_parallel *dp)
{
    ht_data_parallel **link = link_to(dp);

    if (*link == dp)
        *link = dp->next;
}
