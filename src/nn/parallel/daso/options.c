/* SPDX-License-Identifier: MIT
 *
 * DASO's options: their defaults, their ranges, and the check that all ranks have the same. */
#include "core/collective/collective.h"
#include "nn/parallel/daso/daso.h"

#include <inttypes.h>
#include <math.h>

ht_daso_options ht_daso_options_default(void)
{
    return (ht_daso_options){
        .size = sizeof(ht_daso_options),
        .warmup_epochs = 4,
        .cooldown_epochs = 4,
        .stability_level = 0.05,
        .max_global_skips = 8,
        .sending_chunk_size = 10000000,
        .downcast_type = HT_BFLOAT16,
        .skip_reduction_factor = 2,
        .local_skip_factor = 4,
        .outer_momentum = 0.9,
    };
}

static ht_status check_counts(const char *what, const ht_daso_options *o, int64_t total_epochs)
{
    const struct {
        const char *name;
        int64_t value, low;
    } counts[] = {
        {"total_epochs", total_epochs, 1},
        {"warmup_epochs", o->warmup_epochs, 0},
        {"cooldown_epochs", o->cooldown_epochs, 0},
        {"max_global_skips", o->max_global_skips, 1},
        {"sending_chunk_size", o->sending_chunk_size, 1},
        {"skip_reduction_factor", o->skip_reduction_factor, 2},
        {"local_skip_factor", o->local_skip_factor, 1},
    };
    ht_status status = HT_SUCCESS;

    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == HT_SUCCESS; i++)
        status = ht__optim_check_count(what, counts[i].name, counts[i].value, counts[i].low);
    if (status != HT_SUCCESS || o->warmup_epochs <= total_epochs - o->cooldown_epochs)
        return status;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: %" PRId64 " epochs of warm-up and %" PRId64 " of cool-down are more than "
                   "all %" PRId64 " epochs",
                   what, o->warmup_epochs, o->cooldown_epochs, total_epochs);
}

static ht_status check_values(const char *what, const ht_optimizer *optimizer,
                              const ht_daso_options *o, int64_t total_epochs)
{
    ht_dtype wire = o->downcast_type;
    ht_status status;

    if (HT_IS_NULL(optimizer, what, "optimizer"))
        return ht_error_get(NULL);
    status = HT_CHECK_OPTIONS(NULL, what, o, ht_daso_options);
    if (status == HT_SUCCESS)
        status = check_counts(what, o, total_epochs);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "stability_level", o->stability_level, 0, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "outer_lr", o->outer_lr, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "outer_momentum", o->outer_momentum, 0, 1);
    if (status != HT_SUCCESS)
        return status;
    if (wire != HT_BFLOAT16 && wire != HT_FLOAT16 && wire != HT_FLOAT32)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: downcast_type is %s, expected bfloat16, float16 or float32", what,
                       ht_dtype_name(wire));
    if (wire == HT_FLOAT16 && o->exchange_momentum)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: downcast_type is float16, in which squares of small gradients are 0; "
                       "exchange_momentum expects bfloat16 or float32",
                       what);
    return HT_SUCCESS;
}

static ht_status check_alike(const char *what, ht_comm *comm, const ht_daso_options *o,
                             int64_t total_epochs)
{
    const ht_alike rows[] = {
        ht__alike_whole("total_epochs", total_epochs),
        ht__alike_whole("warmup_epochs", o->warmup_epochs),
        ht__alike_whole("cooldown_epochs", o->cooldown_epochs),
        ht__alike_real("stability_level", o->stability_level),
        ht__alike_whole("max_global_skips", o->max_global_skips),
        ht__alike_whole("sending_chunk_size", o->sending_chunk_size),
        ht__alike_whole("downcast_type", o->downcast_type),
        ht__alike_whole("skip_reduction_factor", o->skip_reduction_factor),
        ht__alike_whole("local_skip_factor", o->local_skip_factor),
        ht__alike_whole("downcast_asynchronous", o->downcast_asynchronous),
        ht__alike_whole("exchange_momentum", o->exchange_momentum),
        ht__alike_real("outer_lr", o->outer_lr),
        ht__alike_real("outer_momentum", o->outer_momentum),
    };

    return ht__agree_alike(what, comm, rows, sizeof rows / sizeof *rows);
}

ht_status ht__daso_check_options(const char *what, const ht_optimizer *optimizer, ht_comm *comm,
                                 const ht_daso_options *options, int64_t total_epochs)
{
    bool held;
    ht_status status;

    if (HT_IS_NULL(comm, what, "comm"))
        return ht_error_get(NULL);
    held = ht__agree_begin();
    status = check_values(what, optimizer, options, total_epochs);
    status = ht__agree_end(what, comm, held, status);
    return status == HT_SUCCESS ? check_alike(what, comm, options, total_epochs) : status;
}
