/* SPDX-License-Identifier: MIT
 *
 * Sets the length of DASO's epochs from a loader. It lies here because optimizers do not know
 * loaders. */
#include "utils/data/data.h"
#include "nn/parallel/daso/daso.h"

ht_status ht_daso_set_loader(ht_daso *daso, const ht_dataloader *loader)
{
    static const char what[] = "ht_daso_set_loader";
    ht_status status = HT_SUCCESS;

    if (HT_IS_NULL(daso, what, "daso"))
        return ht_error_get(NULL);
    if (loader == NULL)
        status = ht_error_get(NULL) != HT_SUCCESS
                     ? ht_error_get(NULL)
                     : ht__error_set(HT_ERR_ARGUMENT, "%s: loader is NULL", what);
    else if (ht_dataloader_batches(loader) < 1)
        status = ht__error_set(HT_ERR_ARGUMENT, "%s: loader is empty, expected at least one batch",
                               what);
    status = ht__agree(what, daso->comm, status);
    return status == HT_SUCCESS ? ht__daso_set_batches(what, daso, ht_dataloader_batches(loader))
                                : status;
}
