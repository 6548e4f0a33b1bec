/* SPDX-License-Identifier: MIT
 *
 * The options of the data-parallel wrapper: their defaults, and the values that are refused. */
#include "ht/log.h"
#include "nn/parallel/data/data_parallel.h"

static const char what[] = "ht_nn_data_parallel";

ht_data_parallel_options ht_data_parallel_options_default(void)
{
    return (ht_data_parallel_options){
        .size = sizeof(ht_data_parallel_options),
        .averaging = HT_AVERAGE_WEIGHTED,
        .init_sync = true,
        .broadcast_buffers = true,
        .bucket_cap_mb = 25,
        .first_bucket_mb = 1,
        .gradient_as_bucket_view = true,
        .accumulation_steps = 1,
        .output_device = -1,
    };
}

static ht_status check_devices(const ht_data_parallel_options *o)
{
    if (o->device_id_count < 0 || (o->device_id_count > 0 && o->device_ids == NULL))
        return ht__error_set(
            HT_ERR_ARGUMENT,
            "%s: device_ids is NULL or device_id_count is negative (%d), expected an array of "
            "that length",
            what, o->device_id_count);
    if (o->device_id_count > 1)
        return ht__error_set(
            HT_ERR_UNSUPPORTED,
            "%s: device_ids has %d entries; each rank drives one device: start a rank "
            "for each, or leave device_ids out",
            what, o->device_id_count);
    if (o->output_device != -1 && (o->device_id_count == 0 || o->output_device != o->device_ids[0]))
        return ht__error_set(
            HT_ERR_UNSUPPORTED,
            "%s: output_device is %d; each rank drives one device, and outputs stay on "
            "it: expected -1%s",
            what, o->output_device, o->device_id_count > 0 ? " or device_ids[0]" : "");
    return HT_SUCCESS;
}

ht_status ht__dp_check_options(const ht_data_parallel_options *o)
{
    if (HT_CHECK_OPTIONS(NULL, what, o, ht_data_parallel_options) != HT_SUCCESS)
        return HT_ERR_ARGUMENT;
    if (!(o->bucket_cap_mb > 0) || !(o->first_bucket_mb > 0))
        return ht__error_set(HT_ERR_ARGUMENT, "%s: buckets of %g and %g MB, expected sizes above 0",
                             what, o->first_bucket_mb, o->bucket_cap_mb);
    if (o->averaging < HT_AVERAGE_MEAN || o->averaging > HT_AVERAGE_WEIGHTED)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: averaging is %d, expected 0 to 2", what,
                             (int)o->averaging);
    if (o->accumulation_steps < 1)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: accumulation_steps is %d, expected 1 or more",
                             what, o->accumulation_steps);
    if (o->optimizer_count < 0 || (o->optimizer_count > 0 && o->optimizers == NULL))
        return ht__error_set(
            HT_ERR_ARGUMENT,
            "%s: optimizers is NULL or optimizer_count is negative (%d), expected an array of "
            "that length",
            what, o->optimizer_count);
    for (int i = 0; i < o->optimizer_count; i++) {
        if (o->optimizers[i] == NULL)
            return ht__error_set(HT_ERR_ARGUMENT, "%s: optimizers[%d] is NULL", what, i);
    }
    if (o->check_reduction)
        ht_log_write0(HT_LOG_INFO, "%s: check_reduction does nothing: every pass is checked", what);
    return check_devices(o);
}
