/* SPDX-License-Identifier: MIT
 *
 * Headers of .npy files. */
#include "core/io/npy/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const ht_stored_type ht__npy_types[] = {
    {'b', 1, HT_BOOL, 1},      {'u', 1, HT_UINT8, 1},      {'i', 1, HT_INT8, 1},
    {'i', 2, HT_INT16, 2},     {'i', 4, HT_INT32, 4},      {'i', 8, HT_INT64, 8},
    {'u', 2, HT_INT32, 2},     {'u', 4, HT_INT64, 4},      {'u', 8, HT_INT64, 8},
    {'f', 2, HT_FLOAT16, 2},   {'f', 4, HT_FLOAT32, 4},    {'f', 8, HT_FLOAT64, 8},
    {'c', 8, HT_COMPLEX64, 4}, {'c', 16, HT_COMPLEX128, 8}};

enum { TYPES = sizeof ht__npy_types / sizeof *ht__npy_types, MOST_TEXT = 1 << 16, FRONT = 12 };

/* NULL: no dtype holds it. */
static const ht_stored_type *type_of(char kind, int bytes)
{
    for (int i = 0; i < TYPES; i++) {
        if (ht__npy_types[i].kind == kind && ht__npy_types[i].bytes == bytes)
            return &ht__npy_types[i];
    }
    return NULL;
}

const ht_stored_type *ht__npy_type_for(ht_dtype dtype)
{
    for (int i = 0; i < TYPES; i++) {
        if (ht__npy_types[i].dtype == dtype)
            return &ht__npy_types[i];
    }
    return NULL;
}

/* The text that is still to be read, and the fields found in it. */
typedef struct reader {
    const char *what, *at, *end;
    ht_file_part *part;
    bool has_descr, has_order, has_shape;
} reader;

static ht_status damaged(const reader *r, const char *why)
{
    return ht__error_set(HT_ERR_FORMAT, "%s: %s: %s", r->what, r->part->path, why);
}

static bool take(reader *r, const char *text)
{
    size_t length = strlen(text);

    r->at += strspn(r->at, " \t\n\r");
    if (strncmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* A Python string without escapes, of up to 63 bytes. */
static bool take_string(reader *r, char text[64])
{
    char quote = take(r, "'") ? '\'' : take(r, "\"") ? '"' : '\0';
    const char *end = quote != '\0' ? strchr(r->at, quote) : NULL;

    if (end == NULL || end - r->at > 63)
        return false;
    memcpy(text, r->at, (size_t)(end - r->at));
    text[end - r->at] = '\0';
    r->at = end + 1;
    return true;
}

static bool is_swapped(char order)
{
    return (order == '<' && ht__stored_swapped(true)) ||
           (order == '>' && ht__stored_swapped(false));
}

static ht_status take_descr(reader *r)
{
    char text[64], why[160];
    const char *kind;
    const ht_stored_type *type = NULL;

    if (take(r, "["))
        return damaged(r, "its elements are records of several fields, which no dtype can hold");
    if (!take_string(r, text))
        return damaged(r, "its header has a descr that is not a string");
    kind = strchr("<>=|", text[0]) != NULL ? text + (text[0] != '\0') : text; /* native without */
    if (strcmp(kind, "?") == 0)
        kind = "b1";
    if (kind[0] != '\0') {
        char *end;
        long bytes = strtol(kind + 1, &end, 10);

        if (*end == '\0' && bytes > 0 && bytes <= 16)
            type = type_of(kind[0], (int)bytes);
        if (type == NULL && kind[0] == 'O')
            return damaged(r, "its elements are Python's objects, which no dtype can hold");
    }
    if (type == NULL) {
        snprintf(why, sizeof why, "its elements are of NumPy's type '%s', which no dtype can hold",
                 text);
        return damaged(r, why);
    }
    r->part->dtype = type->dtype;
    r->part->note[HT_NPY_TYPE] = type - ht__npy_types;
    r->part->note[HT_NPY_SWAPPED] = type->swapped_by > 1 && is_swapped(text[0]);
    r->has_descr = true;
    return HT_SUCCESS;
}

static ht_status take_order(reader *r)
{
    r->part->fortran = take(r, "True");
    r->has_order = r->part->fortran || take(r, "False");
    return r->has_order ? HT_SUCCESS
                        : damaged(r, "its header has a fortran_order that is not True or False");
}

static ht_status take_shape(reader *r)
{
    ht_file_part *part = r->part;
    int ndim = 0;
    bool comma = false;

    if (!take(r, "("))
        return damaged(r, "its header has a shape that is not a tuple");
    while (!take(r, ")")) {
        char *end;

        take(r, ""); /* blanks */
        if (*r->at < '0' || *r->at > '9')
            return damaged(r, "its header has a shape that is not a tuple of lengths");
        errno = 0;
        if (ndim == HT_MAX_NDIM)
            return damaged(r, "it has more axes than a tensor can have");
        part->shape[ndim++] = strtoll(r->at, &end, 10);
        if (errno != 0)
            return damaged(r, "its header has a shape that is too large");
        r->at = end + (*end == 'L'); /* Python 2's long integers */
        comma = take(r, ",");
        if (!comma && *r->at != ')')
            return damaged(r, "its header has a shape that is not a tuple of lengths");
    }
    if (ndim == 1 && !comma) /* as in Python */
        return damaged(r, "its header has a shape that is a number in parentheses, not a tuple");
    if (!ht__shape_counts(ndim, part->shape))
        return damaged(r, "its header has a shape that is too large");
    part->ndim = ndim;
    r->has_shape = true;
    return HT_SUCCESS;
}

static ht_status take_dictionary(reader *r)
{
    static const struct {
        const char *key;
        ht_status (*value)(reader *r);
    } entries[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
    char key[64];

    if (!take(r, "{"))
        return damaged(r, "its header is not a dictionary");
    while (!take(r, "}")) {
        int i = 0;
        ht_status status;

        if (!take_string(r, key) || !take(r, ":"))
            return damaged(r, "its header is not a dictionary");
        while (i < 3 && strcmp(key, entries[i].key) != 0)
            i++;
        status = i < 3 ? entries[i].value(r) : damaged(r, "its header has a key that is unknown");
        if (status != HT_SUCCESS)
            return status;
        if (!take(r, ",") && *r->at != '}')
            return damaged(r, "its header is not a dictionary");
    }
    take(r, ""); /* blanks */
    if (r->at != r->end)
        return damaged(r, "its header continues after the dictionary");
    if (!r->has_descr || !r->has_order || !r->has_shape)
        return damaged(r, "its header lacks one of descr, fortran_order and shape");
    return HT_SUCCESS;
}

/* Whether the file is long enough for its elements. */
static ht_status check_length(const reader *r, int file)
{
    const ht_file_part *part = r->part;
    /* May exceed int64_t, but not 64 bits: shapes have less than 2^59 elements. */
    uint64_t bytes = (uint64_t)ht__npy_types[part->note[HT_NPY_TYPE]].bytes;
    struct stat info;
    char why[160];

    for (int i = 0; i < part->ndim; i++)
        bytes *= (uint64_t)part->shape[i];
    bytes += (uint64_t)part->note[HT_NPY_OFFSET];
    if (fstat(file, &info) == 0 && (uint64_t)info.st_size >= bytes)
        return HT_SUCCESS;
    snprintf(why, sizeof why, "it has %lld bytes, but an array of its shape %s needs %llu",
             (long long)info.st_size, ht__shape_str(part->ndim, part->shape),
             (unsigned long long)bytes);
    return damaged(r, why);
}

/* The length of the text and where it begins; 0: this is not such a file. */
static size_t text_length(const unsigned char front[FRONT], int64_t *begin)
{
    if (memcmp(front, "\x93NUMPY", 6) != 0 || front[6] < 1 || front[6] > 3 || front[7] != 0)
        return 0;
    *begin = front[6] == 1 ? 10 : 12;
    if (front[6] == 1)
        return front[8] | (size_t)front[9] << 8;
    return front[8] | (size_t)front[9] << 8 | (size_t)front[10] << 16 | (size_t)front[11] << 24;
}

ht_status ht__npy_read_header(const char *what, int file, ht_file_part *part)
{
    reader r = {.what = what, .part = part};
    unsigned char front[FRONT];
    int64_t begin = 0;
    size_t length;
    ht_status status;
    char *text;

    if (pread(file, front, FRONT, 0) != FRONT || (length = text_length(front, &begin)) == 0)
        return damaged(&r, "it is not a .npy file of version 1.0, 2.0 or 3.0");
    if (length > MOST_TEXT)
        return damaged(&r, "its header is too long");
    text = ht__alloc(length + 1);
    r.at = text;
    r.end = text + length;
    part->note[HT_NPY_OFFSET] = begin + (int64_t)length;
    status = pread(file, text, length, begin) == (ssize_t)length
                 ? take_dictionary(&r)
                 : damaged(&r, "it ends within its header");
    ht__free(text);
    return status == HT_SUCCESS ? check_length(&r, file) : status;
}

size_t ht__npy_make_header(char header[HT_NPY_HEADER_ROOM], const ht_stored_type *type, int ndim,
                           const int64_t shape[])
{
    enum { BEGIN = 10, STEP = 64 };
    const char order = type->bytes == 1 ? '|' : is_swapped('<') ? '>' : '<';
    size_t length = BEGIN, whole;

#define ADD(...) \
    length += (size_t)snprintf(header + length, HT_NPY_HEADER_ROOM - length, __VA_ARGS__)
    ADD("{'descr': '%c%c%d', 'fortran_order': False, 'shape': (", order, type->kind, type->bytes);
    for (int i = 0; i < ndim; i++)
        ADD(ndim == 1 ? "%lld," : i == 0 ? "%lld" : ", %lld", (long long)shape[i]);
    ADD("), }");
#undef ADD
    whole = (length + 1 + STEP - 1) / STEP * STEP;
    memset(header + length, ' ', whole - length - 1);
    header[whole - 1] = '\n';
    memcpy(header, "\x93NUMPY\1", 8); /* with the 0 of version 1.0 */
    header[8] = (char)((whole - BEGIN) & 0xff);
    header[9] = (char)((whole - BEGIN) >> 8);
    return whole;
}
