/* SPDX-License-Identifier: MIT
 *
 * Normalisation: the calls of PyTorch's functions. */
#include "replay.h"

#define IN(key)                replay_in(r, key)
#define NUMBER(key, otherwise) replay_number(r, key, otherwise)

static ht_tensor *call_batch_norm(replay_run *r)
{
    return ht_batch_norm(IN("input"), IN("running_mean"), IN("running_var"), IN("weight"),
                         IN("bias"), NUMBER("training", 0) != 0, NUMBER("momentum", 0.1),
                         NUMBER("eps", 1e-5));
}

static ht_tensor *call_instance_norm(replay_run *r)
{
    return ht_instance_norm(IN("input"), IN("running_mean"), IN("running_var"), IN("weight"),
                            IN("bias"), NUMBER("use_input_stats", 1) != 0, NUMBER("momentum", 0.1),
                            NUMBER("eps", 1e-5));
}

static ht_tensor *call_group_norm(replay_run *r)
{
    return ht_group_norm(IN("input"), (int64_t)NUMBER("num_groups", 1), IN("weight"), IN("bias"),
                         NUMBER("eps", 1e-5));
}

static ht_tensor *call_layer_norm(replay_run *r)
{
    int64_t shape[REPLAY_AXES];
    const int ndim = replay_list(r, "normalized_shape", REPLAY_AXES, shape);

    return ht_layer_norm(IN("input"), ndim, shape, IN("weight"), IN("bias"), NUMBER("eps", 1e-5));
}

static ht_tensor *call_rms_norm(replay_run *r)
{
    int64_t shape[REPLAY_AXES];
    const int ndim = replay_list(r, "normalized_shape", REPLAY_AXES, shape);
    const double eps = NUMBER("eps", -1);

    if (eps < 0 && eps != -1)
        return replay_leave(r, "a negative eps of ht_rms_norm stands for that of the dtype");
    return ht_rms_norm(IN("input"), ndim, shape, IN("weight"), eps);
}

static ht_tensor *call_local_response_norm(replay_run *r)
{
    return ht_local_response_norm(IN("input"), (int64_t)NUMBER("size", 1), NUMBER("alpha", 1e-4),
                                  NUMBER("beta", 0.75), NUMBER("k", 1));
}

const replay_function replay_norms[] = {
    {"batch_norm", call_batch_norm, NULL},
    {"instance_norm", call_instance_norm, NULL},
    {"group_norm", call_group_norm, NULL},
    {"layer_norm", call_layer_norm, NULL},
    {"rms_norm", call_rms_norm, NULL},
    {"local_response_norm", call_local_response_norm, NULL},
    {.name = NULL},
};
