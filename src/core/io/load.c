/* SPDX-License-Identifier: MIT
 *
 * Files of any format, which is known from their names. */
#include "core/io/files/parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ht/io.h"
#include "ht/safetensors.h"

typedef struct format {
    const char *suffix;
    bool has_sets; /* a file has several tensors, with names */
    ht_tensor *(*load)(const char *path, const char *dataset, ht_dtype dtype, int split);
    ht_status (*save)(ht_tensor *x, const char *path, const char *dataset);
} format;

static ht_tensor *load_hdf5(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    return ht_load_hdf5(path, dataset, dtype, split);
}

static ht_status save_hdf5(ht_tensor *x, const char *path, const char *dataset)
{
    return ht_save_hdf5(x, path, dataset, "w");
}

static ht_tensor *load_npy(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    (void)dataset;
    return ht_load_npy(path, dtype, split);
}

static ht_status save_npy(ht_tensor *x, const char *path, const char *dataset)
{
    (void)dataset;
    return ht_save_npy(x, path);
}

static ht_tensor *load_csv(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    (void)dataset;
    return ht_load_csv(path, 0, ',', dtype, split);
}

static ht_status save_csv(ht_tensor *x, const char *path, const char *dataset)
{
    (void)dataset;
    return ht_save_csv(x, path, NULL, -1, ',');
}

static const format formats[] = {{".h5", true, load_hdf5, save_hdf5},
                                 {".hdf5", true, load_hdf5, save_hdf5},
                                 {".npy", false, load_npy, save_npy},
                                 {".csv", false, load_csv, save_csv},
                                 {".safetensors", true, ht_load_safetensors, ht_save_safetensors}};
enum { FORMATS = sizeof formats / sizeof *formats };

static ht_status check_set(const char *what, const format *found, const char *path,
                           const char *dataset)
{
    if (found->has_sets && dataset == NULL)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: dataset is NULL, expected the name of one in %s",
                             what, path);
    if (!found->has_sets && dataset != NULL)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: %s holds one tensor without a name, but dataset is "
                             "\"%s\", expected NULL",
                             what, path, dataset);
    return HT_SUCCESS;
}

/* The format that the name indicates; NULL after an error on all ranks. Collective. */
static const format *format_of(const char *what, ht_comm *comm, const char *path,
                               const char *dataset)
{
    const char *dot = path != NULL ? strrchr(path, '.') : NULL;
    bool begun = ht__agree_begin();
    const format *found = NULL;
    ht_status status;

    for (int i = 0; i < FORMATS && dot != NULL; i++) {
        if (strcasecmp(dot, formats[i].suffix) == 0)
            found = &formats[i];
    }
    if (path == NULL)
        status = ht__error_set_null(what, "path");
    else if (found == NULL)
        status = ht__error_set(HT_ERR_ARGUMENT,
                               "%s: path is %s, expected a name that ends in .h5, .hdf5, "
                               ".npy, .csv or .safetensors",
                               what, path);
    else
        status = check_set(what, found, path, dataset);
    ht__begin(comm, (ht_call){.what = what, .refused = status != HT_SUCCESS});
    return ht__agree_end(what, comm, begun, status) == HT_SUCCESS ? found : NULL;
}

ht_tensor *ht_load(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    ht_place place = ht__place_here("ht_load", split);
    HT_NAMED("ht_load");
    const format *found = NULL;
    ht_tensor *x = NULL;

    if (place.comm != NULL)
        found = format_of("ht_load", place.comm, path, dataset);
    if (found != NULL)
        x = found->load(path, dataset, dtype, split);
    return x;
}

ht_status ht_save(ht_tensor *x, const char *path, const char *dataset)
{
    const format *found;

    if (HT_IS_NULL(x, "ht_save", "x"))
        return ht_error_get(NULL);
    found = format_of("ht_save", ht_tensor_comm(x), path, dataset);
    if (found == NULL)
        return ht_error_get(NULL);
    HT_NAMED("ht_save");
    return found->save(x, path, dataset);
}
