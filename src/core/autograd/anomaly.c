/* SPDX-License-Identifier: MIT
 *
 * Anomaly detection: a backward pass looks for NaN in each gradient that a node has made. A split
 * gradient is searched by one reduction, so that all of its ranks find the same. */
#include "core/autograd/engine.h"

#include "ht/gradient_tools.h"
#include "ht/logical.h"

_Thread_local bool ht__anomaly_on;

bool ht_set_detect_anomaly(bool enabled)
{
    const bool was = ht__anomaly_on;

    ht__anomaly_on = enabled;
    return was;
}

bool ht_is_anomaly_enabled(void)
{
    return ht__anomaly_on;
}

/* The message names the layer whose forward made the node. */
static ht_status fail(const ht_node *node, int index, const ht_tensor *grad)
{
    const char *outer = ht__layer;
    ht_status status;

    ht__layer = node->layer;
    status = HT_FAIL(grad->body->comm, HT_ERR_ARGUMENT,
                     "ht_backward: the gradient of %s for its operand %d, %s, has a NaN, expected "
                     "numbers",
                     node->name, index, ht__body_str(grad->body));
    ht__layer = outer;
    return status;
}

ht_status ht__anomaly_check(const ht_node *node, ht_tensor *const grads[])
{
    for (int i = 0; i < node->input_count; i++) {
        bool found;

        if (grads[i] == NULL || !ht_node_needs(node, i))
            continue;
        found = ht_item(ht_any(ht_isnan(grads[i]), HT_NONE)) != 0;
        if (ht_error_get(NULL) != HT_SUCCESS)
            return ht_error_get(NULL);
        if (found)
            return fail(node, i, grads[i]);
    }
    return HT_SUCCESS;
}
