/* SPDX-License-Identifier: MIT
 *
 * The struct behind the handle of a wrapper. Its type is known by the address of its name. */
#include "nn/parallel/data/data_parallel.h"

const char ht__dp_type_name[] = "DataParallel";

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
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: wrapper is %s, expected a DataParallel wrapper", what,
                wrapper != NULL ? wrapper->type->name : "NULL");
    return NULL;
}

ht_module *ht_data_parallel_module(ht_module *wrapper)
{
    ht_data_parallel *dp = ht__dp_get("ht_data_parallel_module", wrapper);

    return dp != NULL ? dp->module : NULL;
}

ht_status ht_data_parallel_drain(ht_module *wrapper)
{
    ht_data_parallel *dp = ht__dp_get("ht_data_parallel_drain", wrapper);

    return dp != NULL ? ht__reducer_drain(dp->reducer) : ht_error_get(NULL);
}
