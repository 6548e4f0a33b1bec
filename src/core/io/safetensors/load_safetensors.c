/* SPDX-License-Identifier: MIT
 *
 * Loading safetensors files. Rank 0 reads the header, and every rank its part of the elements. They
 * are read, not mapped: touching a mapping of a file that another program has shortened would end
 * the process. */
#include "core/io/safetensors/safetensors.h"

#include <string.h>

#include "ht/autograd.h"
#include "ht/devices.h"
#include "ht/safetensors.h"

enum { NOTE_OFFSET, NOTE_TYPE };

static ht_status describe_entry(const char *what, const ht_safetensors *header,
                                const ht_safetensors_entry *entry, ht_file_part *part)
{
    const ht_safetensors_type *type = &ht__safetensors_types[entry->type];

    if (type->stored.dtype == HT_DTYPE_COUNT)
        return ht__error_set(HT_ERR_DTYPE, "%s: %s: %s has the dtype %s, which libht lacks", what,
                             part->path, entry->name, type->name);
    part->dtype = type->stored.dtype;
    part->ndim = entry->ndim;
    memcpy(part->shape, entry->shape, sizeof part->shape);
    part->note[NOTE_OFFSET] = header->start + entry->begin;
    part->note[NOTE_TYPE] = entry->type;
    return HT_SUCCESS;
}

static ht_status describe(const char *what, const char *dataset, ht_file_part *part)
{
    const ht_safetensors_entry *entry;
    ht_safetensors header = {0};
    ht_safetensors_raw text;
    ht_status status = ht__safetensors_read(what, part->path, &text);

    if (status != HT_SUCCESS)
        return status;
    status = ht__safetensors_parse(what, part->path, &text, &header);
    if (status == HT_SUCCESS) {
        entry = ht__safetensors_find(&header, dataset);
        status = entry != NULL ? describe_entry(what, &header, entry, part)
                               : ht__error_set(HT_ERR_FORMAT, "%s: %s has no tensor \"%s\"", what,
                                               part->path, dataset);
    }
    ht__safetensors_free(&header);
    ht__free(text.text);
    return status;
}

static ht_status read_slab(const char *what, const char *dataset, const ht_file_part *part,
                           const ht_slab *slab, void *memory)
{
    const ht_stored stored = {.type = &ht__safetensors_types[part->note[NOTE_TYPE]].stored,
                              .swapped = ht__stored_swapped(true),
                              .offset = part->note[NOTE_OFFSET]};

    (void)dataset;
    return ht__stored_read(what, part, &stored, slab, memory);
}

static const ht_part_format safetensors_format = {
    {".safetensors", NULL, NULL}, "safetensors", true, describe, read_slab};

static ht_tensor *load(const char *what, const char *path, const char *dataset, ht_dtype dtype,
                       ht_place place)
{
    return ht__parts_load(&(ht_file_parts){.what = what,
                                           .format = &safetensors_format,
                                           .path = path,
                                           .dataset = dataset,
                                           .dtype = dtype,
                                           .place = place});
}

ht_tensor *ht_load_safetensors(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    static const char what[] = "ht_load_safetensors";

    return load(what, path, dataset, dtype, ht__place_here(what, split));
}

ht_tensor *ht_load_safetensors_ext(const char *path, const char *dataset, ht_dtype dtype, int split,
                                   ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_load_safetensors_ext";
    ht_place place = {.comm = comm, .device = device, .split = split};

    return !HT_IS_NULL(comm, what, "comm") ? load(what, path, dataset, dtype, place) : NULL;
}

/* A complete tensor of this rank alone, on the current device. */
static ht_tensor *load_entry(const char *what, const char *path, const ht_safetensors *header,
                             const ht_safetensors_entry *entry, ht_device *device)
{
    ht_file_part part = {.path = path};
    ht_tensor *x;
    ht_slab slab;

    if (describe_entry(what, header, entry, &part) != HT_SUCCESS)
        return NULL;
    x = ht__tensor_new(ht__body_new(what, ht_comm_self(), ht__device_cpu(), part.dtype, part.ndim,
                                    part.shape, HT_NONE, NULL));
    if (x == NULL)
        return NULL;
    slab = ht__slab_of(x->body);
    if (x->body->lsize > 0 &&
        read_slab(what, NULL, &part, &slab, ht__body_data(x->body)) != HT_SUCCESS)
        return NULL;
    return ht_to_device(x, device);
}

/* Not collective: this rank reads all elements, because each rank has a copy. */
static ht_value *load_entries(const char *what, const char *path, const ht_safetensors *header)
{
    const ht_place place = ht__place_here(what, HT_LOCAL);
    ht_value *map = ht_value_map();

    for (int i = 0; i < header->count && place.comm != NULL; i++) {
        ht_tensor *x = load_entry(what, path, header, &header->entries[i], place.device);

        if (x == NULL)
            return NULL;
        ht_value_set(map, header->entries[i].name, ht_value_tensor(x));
    }
    return place.comm != NULL ? map : NULL;
}

static ht_status check_path(const char *what, const char *path, const void *visit, ht_comm *comm)
{
    bool begun;
    ht_status status = HT_SUCCESS;

    if (HT_IS_NULL(comm, what, "comm"))
        return ht_error_get(NULL);
    begun = ht__agree_begin();
    if (HT_IS_NULL(path, what, "path") || HT_IS_NULL(visit, what, "visit"))
        status = ht_error_get(NULL);
    ht__begin(comm, (ht_call){.what = what, .refused = status != HT_SUCCESS});
    return ht__agree_end(what, comm, begun, status);
}

/* The header of rank 0 on all ranks. Collective, agrees. */
static ht_status share_header(const char *what, const char *path, ht_comm *comm,
                              ht_safetensors *header)
{
    ht_safetensors_raw text;
    ht_status status = ht__safetensors_share(what, comm, path, &text);
    bool begun;

    if (status != HT_SUCCESS)
        return status;
    begun = ht__agree_begin();
    status = ht__safetensors_parse(what, path, &text, header);
    ht__free(text.text);
    return ht__agree_end(what, comm, begun, status);
}

ht_value *ht__safetensors_load(const char *what, const char *path, ht_comm *comm)
{
    ht_safetensors header = {0};
    ht_value *map = NULL;
    ht_scope *scope = ht_scope_open();
    bool grad = ht_set_grad_enabled(false);

    if (share_header(what, path, comm, &header) == HT_SUCCESS) {
        ht_comm *outer = ht__together(comm);
        bool begun = ht__agree_begin();

        map = load_entries(what, path, &header);
        ht__together_end(outer);
        if (ht__agree_end(what, comm, begun, map != NULL ? HT_SUCCESS : ht_error_get(NULL)) !=
            HT_SUCCESS)
            map = NULL;
    }
    ht__safetensors_free(&header);
    ht_set_grad_enabled(grad);
    return ht_scope_return(scope, map);
}

ht_value *ht_safetensors_load(const char *path, ht_comm *comm)
{
    static const char what[] = "ht_safetensors_load";
    HT_NAMED(what);

    return check_path(what, path, what, comm) == HT_SUCCESS ? ht__safetensors_load(what, path, comm)
                                                            : NULL;
}

ht_status ht_safetensors_metadata(const char *path, ht_safetensors_visit_fn *visit, void *user,
                                  ht_comm *comm)
{
    static const char what[] = "ht_safetensors_metadata";
    ht_safetensors header = {0};
    ht_status status = check_path(what, path, visit != NULL ? what : NULL, comm);

    if (status == HT_SUCCESS)
        status = share_header(what, path, comm, &header);
    for (int i = 0; i < header.metadata_count && status == HT_SUCCESS; i++)
        visit(header.metadata[i].key, header.metadata[i].value, user);
    ht__safetensors_free(&header);
    return status;
}
