/* SPDX-License-Identifier: MIT
 *
 * The header of a safetensors file: its entries, all of whose fields are checked. */
#include "core/io/safetensors/json.h"
#include "core/io/safetensors/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE HT_DTYPE_COUNT

const ht_safetensors_type ht__safetensors_types[] = {
    {"BOOL", {'b', 1, HT_BOOL, 1}},     {"U8", {'u', 1, HT_UINT8, 1}},
    {"I8", {'i', 1, HT_INT8, 1}},       {"I16", {'i', 2, HT_INT16, 2}},
    {"I32", {'i', 4, HT_INT32, 4}},     {"I64", {'i', 8, HT_INT64, 8}},
    {"U16", {'u', 2, HT_INT32, 2}},     {"U32", {'u', 4, HT_INT64, 4}},
    {"U64", {'u', 8, HT_INT64, 8}},     {"F16", {'f', 2, HT_FLOAT16, 2}},
    {"BF16", {'f', 2, HT_BFLOAT16, 2}}, {"F32", {'f', 4, HT_FLOAT32, 4}},
    {"F64", {'f', 8, HT_FLOAT64, 8}},   {"C64", {'c', 8, HT_COMPLEX64, 4}},
    {"F8_E4M3", {'f', 1, NONE, 1}},     {"F8_E5M2", {'f', 1, NONE, 1}},
    {"F8_E8M0", {'f', 1, NONE, 1}},     {"F8_E4M3FNUZ", {'f', 1, NONE, 1}},
    {"F8_E5M2FNUZ", {'f', 1, NONE, 1}},
};

enum { TYPES = sizeof ht__safetensors_types / sizeof *ht__safetensors_types };

const ht_safetensors_type *ht__safetensors_type_for(ht_dtype dtype)
{
    for (int i = 0; i < TYPES; i++) {
        if (ht__safetensors_types[i].stored.dtype == dtype)
            return &ht__safetensors_types[i];
    }
    return NULL;
}

/* Room for one more of the items; all of them are zeroed or set by the caller. */
static void *grow(void *items, int count, int *capacity, size_t bytes)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity > 0 ? 2 * *capacity : 32;
    return ht__realloc(items, (size_t)*capacity * bytes);
}

static bool take_dtype(ht_json *json, ht_safetensors_entry *entry)
{
    char *name = ht__json_string(json);

    for (int i = 0; name != NULL && i < TYPES; i++) {
        if (strcmp(ht__safetensors_types[i].name, name) == 0)
            entry->type = i;
    }
    ht__free(name);
    return json->why == NULL && (entry->type >= 0 || ht__json_fail(json, "a dtype is unknown"));
}

static bool take_shape(ht_json *json, ht_safetensors_entry *entry)
{
    if (!ht__json_take(json, '['))
        return ht__json_fail(json, "a shape is not an array");
    for (int64_t i = 0; ht__json_item(json, i); i++) {
        if (i == HT_MAX_NDIM)
            return ht__json_fail(json, "a tensor has more than 8 axes");
        if (!ht__json_integer(json, &entry->shape[i]))
            return false;
        entry->ndim = (int)i + 1;
    }
    return json->why == NULL;
}

static bool take_offsets(ht_json *json, ht_safetensors_entry *entry)
{
    if (!ht__json_take(json, '['))
        return ht__json_fail(json, "data_offsets is not an array");
    if (!ht__json_integer(json, &entry->begin))
        return false;
    if (!ht__json_take(json, ',') || !ht__json_integer(json, &entry->end) ||
        !ht__json_take(json, ']'))
        return ht__json_fail(json, "data_offsets is not a pair of integers");
    return true;
}

/* Whether the range is as long as shape and dtype say, without an overflow. */
static bool check_range(ht_json *json, const ht_safetensors_entry *entry)
{
    int64_t bytes = ht__safetensors_types[entry->type].stored.bytes;
    bool empty = false;

    for (int i = 0; i < entry->ndim; i++)
        empty |= entry->shape[i] == 0;
    for (int i = 0; i < entry->ndim && !empty; i++) {
        if (bytes > INT64_MAX / entry->shape[i])
            return ht__json_fail(json, "a shape has more bytes than a file can have");
        bytes *= entry->shape[i];
    }
    if (entry->end < entry->begin || entry->end - entry->begin != (empty ? 0 : bytes))
        return ht__json_fail(json, "a range of bytes does not fit its shape and dtype");
    return true;
}

/* The value of a tensor's name. Members that the format does not know are passed over. */
static bool take_entry(ht_json *json, ht_safetensors_entry *entry)
{
    static bool (*const takers[])(ht_json *, ht_safetensors_entry *) = {take_dtype, take_shape,
                                                                        take_offsets};
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    bool seen[3] = {false};
    char *key;

    if (!ht__json_take(json, '{'))
        return ht__json_fail(json, "the value of a tensor's name is not an object");
    for (int64_t i = 0; ht__json_member(json, i, &key); i++) {
        int k = 0;

        while (k < 3 && strcmp(key, names[k]) != 0)
            k++;
        ht__free(key);
        if (k == 3) {
            ht__json_skip(json);
            continue;
        }
        if (seen[k])
            return ht__json_fail(json, "a field of a tensor comes twice");
        seen[k] = true;
        takers[k](json, entry);
    }
    if (json->why != NULL)
        return false;
    if (!seen[0] || !seen[1] || !seen[2])
        return ht__json_fail(json, "a tensor lacks dtype, shape or data_offsets");
    return check_range(json, entry);
}

static bool take_metadata(ht_json *json, ht_safetensors *header)
{
    char *key;

    if (!ht__json_take(json, '{'))
        return ht__json_fail(json, HT_SAFETENSORS_METADATA " is not an object");
    for (int64_t i = 0; ht__json_member(json, i, &key); i++) {
        char *value = ht__json_string(json);

        header->metadata = grow(header->metadata, header->metadata_count,
                                &header->metadata_capacity, sizeof *header->metadata);
        header->metadata[header->metadata_count++] = (ht_safetensors_pair){key, value};
        if (value == NULL)
            return false;
    }
    return json->why == NULL;
}

static void take_header(ht_json *json, ht_safetensors *header)
{
    bool has_metadata = false;
    char *key;

    if (!ht__json_take(json, '{'))
        ht__json_fail(json, "its header is not an object");
    for (int64_t i = 0; ht__json_member(json, i, &key); i++) {
        if (strcmp(key, HT_SAFETENSORS_METADATA) == 0) {
            ht__free(key);
            if (has_metadata)
                ht__json_fail(json, HT_SAFETENSORS_METADATA " comes twice");
            has_metadata = true;
            take_metadata(json, header);
            continue;
        }
        header->entries = grow(header->entries, header->count, &header->capacity,
                               sizeof *header->entries);
        ht_safetensors_entry *entry = &header->entries[header->count++];

        *entry = (ht_safetensors_entry){.name = key, .type = -1};
        take_entry(json, entry);
    }
    ht__json_end(json);
}

static int by_bytes(const void *a, const void *b)
{
    const ht_safetensors_entry *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const ht_safetensors_entry *const *)a)->name,
                  (*(const ht_safetensors_entry *const *)b)->name);
}

static bool names_differ(const ht_safetensors *header)
{
    const ht_safetensors_entry **sorted = ht__alloc(((size_t)header->count + 1) * sizeof *sorted);
    bool differ = true;

    for (int i = 0; i < header->count; i++)
        sorted[i] = &header->entries[i];
    if (header->count > 0)
        qsort(sorted, (size_t)header->count, sizeof *sorted, by_name);
    for (int i = 1; i < header->count; i++)
        differ &= strcmp(sorted[i - 1]->name, sorted[i]->name) != 0;
    ht__free(sorted);
    return differ;
}

/* Sorts the entries, and finds names and bytes that are there twice or not at all. */
static const char *check_together(ht_safetensors *header, int64_t bytes)
{
    int64_t end = 0;

    if (!names_differ(header))
        return "the name of a tensor comes twice";
    if (header->count > 0)
        qsort(header->entries, (size_t)header->count, sizeof *header->entries, by_bytes);
    for (int i = 0; i < header->count; i++) {
        const ht_safetensors_entry *entry = &header->entries[i];

        if (entry->begin < end)
            return "ranges of bytes overlap";
        if (entry->begin > end)
            return "bytes belong to no tensor";
        end = entry->end;
    }
    if (end > bytes)
        return "it ends before its elements do";
    return end < bytes ? "bytes belong to no tensor" : NULL;
}

ht_status ht__safetensors_parse(const char *what, const char *path, const ht_safetensors_raw *text,
                                ht_safetensors *header)
{
    ht_json json = {.start = text->text, .at = text->text, .end = text->text + text->length};
    const char *why;
    char where[64] = "";

    take_header(&json, header);
    why = json.why;
    if (why != NULL)
        snprintf(where, sizeof where, " (before byte %lld of the header)",
                 (long long)(json.at - json.start));
    else
        why = check_together(header, text->left);
    header->start = HT_SAFETENSORS_FRONT + text->length;
    if (why == NULL)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_FORMAT, "%s: %s is not a safetensors file: %s%s", what, path, why,
                         where);
}

void ht__safetensors_free(ht_safetensors *header)
{
    for (int i = 0; i < header->count; i++)
        ht__free(header->entries[i].name);
    for (int i = 0; i < header->metadata_count; i++) {
        ht__free(header->metadata[i].key);
        ht__free(header->metadata[i].value);
    }
    ht__free(header->entries);
    ht__free(header->metadata);
}

const ht_safetensors_entry *ht__safetensors_find(const ht_safetensors *header, const char *name)
{
    for (int i = 0; i < header->count; i++) {
        if (strcmp(header->entries[i].name, name) == 0)
            return &header->entries[i];
    }
    return NULL;
}
