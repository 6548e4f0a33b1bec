/* SPDX-License-Identifier: MIT
 *
 * Refusals of test_operands.c: normalisation. */
#ifndef HT_NN_FUNCTIONAL_REFUSALS_NORM_H
#define HT_NN_FUNCTIONAL_REFUSALS_NORM_H

/* clang-format off */
/* A parameter of the shape `shape`, and of `more` and `longer` where it is not as it should be. */
#define REFUSED_AS_LAST_AXES(function, name, shape, more, longer, last) \
    {function, name, OTHER_DTYPE, "x is float64, " name " is float32"}, \
    {function, name, ONE_MORE, name " is " more ", expected the normalised shape " shape}, \
    {function, name, LONGER, name " is " longer ", expected the normalised shape " shape}, \
    {function, name, SPLIT, name " is split along axis " last ", expected a replicated tensor"}
#define REFUSED_AS_CHANNELS(function, name, x, channels, more, longer) \
    {function, name, OTHER_DTYPE, "x is float64, " name " is float32"}, \
    {function, name, ONE_MORE, name " is " more ", expected (C)"}, \
    {function, name, LONGER, "x is " x ", " name " is " longer ", expected (N, C, ...) and (C)"}, \
    {function, name, SPLIT, name " is split along axis 0, expected a replicated tensor"}
#define NORM_REFUSALS \
    {"ht_layer_norm", "x", ONE_MORE, "x is (4, 3, 2, 1), expected last axes of (3, 2)"}, \
    {"ht_layer_norm", "x", SPLIT, "x is split along axis 2, expected a split of an axis that is not normalised"}, \
    REFUSED_AS_LAST_AXES("ht_layer_norm", "weight", "(3, 2)", "(3, 2, 1)", "(4, 2)", "1"), \
    REFUSED_AS_LAST_AXES("ht_layer_norm", "bias", "(3, 2)", "(3, 2, 1)", "(4, 2)", "1"), \
    {"ht_group_norm", "x", SPLIT, "x is split along axis 2; only the batch axis (0) may be split"}, \
    REFUSED_AS_CHANNELS("ht_group_norm", "weight", "(4, 6, 2)", "(6,)", "(6, 1)", "(7,)"), \
    REFUSED_AS_CHANNELS("ht_group_norm", "bias", "(4, 6, 2)", "(6,)", "(6, 1)", "(7,)"), \
    {"ht_instance_norm", "x", SPLIT, "x is split along axis 3; only the batch axis (0) may be split"}, \
    REFUSED_AS_CHANNELS("ht_instance_norm", "running_mean", "(4, 3, 2, 2)", "(3,)", "(3, 1)", "(4,)"), \
    REFUSED_AS_CHANNELS("ht_instance_norm", "running_var", "(4, 3, 2, 2)", "(3,)", "(3, 1)", "(4,)"), \
    REFUSED_AS_CHANNELS("ht_instance_norm", "weight", "(4, 3, 2, 2)", "(3,)", "(3, 1)", "(4,)"), \
    REFUSED_AS_CHANNELS("ht_instance_norm", "bias", "(4, 3, 2, 2)", "(3,)", "(3, 1)", "(4,)"), \
    {"ht_rms_norm", "x", ONE_MORE, "x is (4, 3, 2, 1), expected last axes of (3, 2)"}, \
    {"ht_rms_norm", "x", SPLIT, "x is split along axis 2, expected a split of an axis that is not normalised"}, \
    REFUSED_AS_LAST_AXES("ht_rms_norm", "weight", "(3, 2)", "(3, 2, 1)", "(4, 2)", "1"), \
    {"ht_local_response_norm", "x", SPLIT, "x is split along axis 2; only the batch axis (0) may be split"}
/* clang-format on */

#endif
