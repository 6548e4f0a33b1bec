/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"

#include "ht_test.h"

void ht_test_gradcheck(ht_gradcheck_fn *f, int count, ht_tensor *inputs[], void *user,
                       double tolerance)
{
    ht_gradcheck_options options = ht_gradcheck_options_default();
    const char *message;

    options.eps = 1e-5;
    options.atol = options.rtol = tolerance;
    if (ht_gradcheck(f, count, inputs, user, &options) != HT_SUCCESS) {
        ht_error_get(&message);
        fail_msg("%s", message);
    }
}
