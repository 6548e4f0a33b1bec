/* SPDX-License-Identifier: MIT
 *
 * The inside of the optimizer wrapper. */
#ifndef HT_NN_STEP_OPTIM_WRAPPER_H
#define HT_NN_STEP_OPTIM_WRAPPER_H

#include "nn/parallel/data/data_parallel.h"
#include "ht/optim_wrapper.h"

struct ht_optim_wrapper {
    ht_object base;
    ht_optimizer *optimizer; /* retained */
    ht_module *model; /* not owned; of the last begin; NULL before it, or if the module is gone */
    ht_forward_observer observer; /* of the model */
    ht_optim_wrapper_options options;
    ht_value *parameters; /* retained; the optimizer's, to clip; NULL before that */
    int64_t first;  /* losses that had come when a state was loaded: their gradients are lost */
    double scale;   /* of losses now; 1 without mixed precision */
    int64_t streak; /* updates in a row that were not skipped */
    ht_optim_update last;
};

/* Whether an update follows loss number `count`. */
bool ht__optim_wrapper_ends_group(const ht_optim_wrapper *wrapper, int64_t count);

/* ht_optim_wrapper_update_params; errors name the public function `what`. */
ht_status ht__optim_wrapper_update(const char *what, ht_optim_wrapper *wrapper, ht_tensor *loss);

/* loss_scaler.c. Divides the gradients again; *finite, the same on all ranks: they can be used. */
ht_status ht__scaler_unscale(ht_optim_wrapper *wrapper, bool *finite);
/* Whether ranks that miss an update would continue with another scale, or wait for one another. */
bool ht__scaler_needs_all_ranks(const ht_optim_wrapper *wrapper, const ht_data_parallel *dp);
void ht__scaler_adapt(ht_optim_wrapper *wrapper, bool finite);
ht_status ht__scaler_check_options(const char *what, const ht_optim_wrapper_options *options);
ht_value *ht__scaler_state(const ht_optim_wrapper *wrapper);
ht_status ht__scaler_check_state(const char *what, const ht_value *state);
void ht__scaler_load_state(ht_optim_wrapper *wrapper, const ht_value *state);

#endif
