/* SPDX-License-Identifier: MIT
 *
 * Writing the header of a safetensors file. */
#include "core/io/safetensors/json.h"
#include "core/io/safetensors/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 8 }; /* of the first element: the header is filled up with blanks */

/* A text that grows. */
typedef struct writer {
    char *text;
    size_t used, capacity;
} writer;

static void put(writer *w, const char *bytes, size_t count)
{
    if (count == 0)
        return;
    if (w->used + count > w->capacity) {
        w->capacity = 2 * (w->used + count);
        w->text = ht__realloc(w->text, w->capacity);
    }
    memcpy(w->text + w->used, bytes, count);
    w->used += count;
}

static void put_text(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static void put_number(writer *w, int64_t number)
{
    char text[32];

    put(w, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)number));
}

static void put_string(writer *w, const char *text)
{
    char escape[8];

    put_text(w, "\"");
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            put_text(w, "\\");
        if (c < 0x20)
            put(w, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        else
            put(w, text, 1);
    }
    put_text(w, "\"");
}

static void put_entry(writer *w, const ht_safetensors_entry *entry)
{
    put_string(w, entry->name);
    put_text(w, ":{\"dtype\":\"");
    put_text(w, ht__safetensors_types[entry->type].name);
    put_text(w, "\",\"shape\":[");
    for (int i = 0; i < entry->ndim; i++) {
        put_text(w, i > 0 ? "," : "");
        put_number(w, entry->shape[i]);
    }
    put_text(w, "],\"data_offsets\":[");
    put_number(w, entry->begin);
    put_text(w, ",");
    put_number(w, entry->end);
    put_text(w, "]}");
}

static void put_metadata(writer *w, int count, const ht_safetensors_text metadata[])
{
    put_text(w, "\"" HT_SAFETENSORS_METADATA "\":{");
    for (int i = 0; i < count; i++) {
        put_text(w, i > 0 ? "," : "");
        put_string(w, metadata[i].key);
        put_text(w, ":");
        put_string(w, metadata[i].value);
    }
    put_text(w, "}");
}

char *ht__safetensors_make(const ht_safetensors *header, int count,
                           const ht_safetensors_text metadata[], int64_t *bytes)
{
    writer w = {.text = NULL};

    put(&w, "\0\0\0\0\0\0\0\0", HT_SAFETENSORS_FRONT);
    put_text(&w, "{");
    if (count > 0)
        put_metadata(&w, count, metadata);
    for (int i = 0; i < header->count; i++) {
        put_text(&w, i > 0 || count > 0 ? "," : "");
        put_entry(&w, &header->entries[i]);
    }
    put_text(&w, "}");
    while (w.used % ALIGNMENT != 0)
        put_text(&w, " ");
    for (int i = 0; i < HT_SAFETENSORS_FRONT; i++)
        w.text[i] = (char)((uint64_t)(w.used - HT_SAFETENSORS_FRONT) >> 8 * i & 0xff);
    *bytes = (int64_t)w.used;
    return w.text;
}

bool ht__utf8_check(const char *text)
{
    const char *end = text + strlen(text);

    while (text < end) {
        const int length = ht__utf8_length(text, end);

        if (length == 0)
            return false;
        text += length;
    }
    return true;
}
