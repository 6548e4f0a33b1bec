/* SPDX-License-Identifier: MIT
 *
 * The CSV files of a folder, one after another, concatenated. All ranks read each file, because the
 * number of its rows is known only after reading. */
#include "core/io/files/parts.h"

#include <string.h>

#include "ht/autograd.h"
#include "ht/io.h"
#include "ht/manipulations.h"

static const char what[] = "ht_load_csv_from_folder";

static ht_tensor *load(const char *folder, int header_lines, char separator, ht_dtype dtype,
                       int axis, ht_place place)
{
    static const char *const suffixes[] = {".csv", NULL};
    int count = 0, loaded = 0;
    char *list = ht__folder_list(what, place.comm, folder, suffixes, &count);
    const char *path = list;
    ht_tensor **xs, *all = NULL;

    if (list == NULL)
        return NULL;
    xs = ht__alloc((size_t)count * sizeof *xs);
    for (; loaded < count; loaded++, path += strlen(path) + 1) {
        xs[loaded] = ht_load_csv_ext(path, header_lines, separator, dtype, axis, place.device,
                                     place.comm);
        if (xs[loaded] == NULL)
            break;
    }
    if (loaded == count)
        all = ht_resplit(ht_concatenate(count, xs, axis), axis);
    ht__free(xs);
    ht__free(list);
    return all;
}

ht_tensor *ht_load_csv_from_folder(const char *path, int header_lines, char separator,
                                   ht_dtype dtype, int axis)
{
    ht_place place = ht__place_here(what, HT_NONE);
    bool grad;
    ht_tensor *x;

    if (place.comm == NULL)
        return NULL;
    ht__begin(place.comm, (ht_call){.what = what, .dtype = dtype});

    ht_scope *scope = ht_scope_open();

    grad = ht_set_grad_enabled(false);
    HT_NAMED(what);
    x = load(path, header_lines, separator, dtype, axis == HT_NONE ? 0 : axis, place);
    ht_set_grad_enabled(grad);
    return ht_scope_return(scope, x);
}
