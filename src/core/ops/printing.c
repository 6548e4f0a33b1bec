/* SPDX-License-Identifier: MIT
 *
 * Text of tensors in NumPy's form. Only printed elements travel: each axis longer than the
 * threshold allows is narrowed to its first and last items before the parts are gathered. */
#include "core/ops/ops.h"
#include "ht/autograd.h"
#include "ht/printing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ht/manipulations.h"

#define MOST_PRECISION 100
#define NUMBER_ROOM    (MOST_PRECISION + 32) /* the text of one number */
#define CELL_ROOM      (2 * NUMBER_ROOM)

static int precision = 4, threshold = 1000, edge_items = 3;

void ht_set_printoptions(int new_precision, int new_threshold, int new_edge_items)
{
    if (new_precision < 0 || new_precision > MOST_PRECISION || new_threshold < 0 ||
        new_edge_items < 0) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "ht_set_printoptions: precision is %d, threshold is %d and edgeitems is %d, "
                "expected at least 0 each and a precision of at most %d",
                new_precision, new_threshold, new_edge_items, MOST_PRECISION);
        return;
    }
    precision = new_precision;
    threshold = new_threshold;
    edge_items = new_edge_items;
}

void ht_get_printoptions(int *now_precision, int *now_threshold, int *now_edge_items)
{
    if (now_precision != NULL)
        *now_precision = precision;
    if (now_threshold != NULL)
        *now_threshold = threshold;
    if (now_edge_items != NULL)
        *now_edge_items = edge_items;
}

typedef struct text {
    char *data;
    size_t used, room;
} text;

static void put(text *out, const char *string)
{
    size_t length = strlen(string);

    if (out->used + length + 1 > out->room) {
        out->room = 2 * (out->used + length + 1);
        out->data = ht__realloc(out->data, out->room);
    }
    memcpy(out->data + out->used, string, length + 1);
    out->used += length;
}

typedef struct print_cells {
    ht_dtype dtype;
    bool summarised, exponent;
    int ndim, width;
    int64_t shape[HT_MAX_NDIM]; /* shown items along each axis */
    bool cut[HT_MAX_NDIM];      /* items between the edges are left out */
    const int64_t *whole;       /* integers and bool; else the others */
    const double *real, *imaginary;
} print_cells;

static void format_number(const print_cells *cells, double value, char *out, size_t room)
{
    if (cells->exponent && isfinite(value))
        snprintf(out, room, "%.*e", precision, value);
    else if (isnan(value))
        snprintf(out, room, "nan"); /* printf shows its sign */
    else
        snprintf(out, room, isfinite(value) ? "%.*f" : "%.*g", precision, value);
}

static void format_cell(const print_cells *cells, int64_t index, char out[static CELL_ROOM])
{
    char imaginary[NUMBER_ROOM];

    if (cells->dtype == HT_BOOL) {
        snprintf(out, NUMBER_ROOM, "%s", cells->whole[index] != 0 ? "True" : "False");
        return;
    }
    if (cells->whole != NULL) {
        snprintf(out, NUMBER_ROOM, "%lld", (long long)cells->whole[index]);
        return;
    }
    format_number(cells, cells->real[index], out, NUMBER_ROOM);
    if (cells->imaginary == NULL)
        return;
    format_number(cells, cells->imaginary[index], imaginary, sizeof imaginary);
    if (imaginary[0] != '-')
        strcat(out, "+");
    strcat(strcat(out, imaginary), "j");
}

static void put_axis(text *out, const print_cells *cells, int axis, int64_t index)
{
    int64_t step = 1;
    char cell[CELL_ROOM], padded[CELL_ROOM];

    if (axis == cells->ndim) {
        format_cell(cells, index, cell);
        snprintf(padded, sizeof padded, "%*s", cells->width, cell);
        put(out, padded);
        return;
    }
    for (int i = axis + 1; i < cells->ndim; i++)
        step *= cells->shape[i];
    put(out, "[");
    for (int64_t i = 0; i < cells->shape[axis]; i++) {
        if (i > 0) {
            put(out, axis + 1 == cells->ndim ? ", " : ",");
            for (int line = axis + 1; line < cells->ndim; line++)
                put(out, "\n");
            for (int space = 0; axis + 1 < cells->ndim && space <= axis; space++)
                put(out, " ");
        }
        if (cells->cut[axis] && i == edge_items)
            put(out, axis + 1 == cells->ndim ? "..., " : "...,\n");
        if (cells->cut[axis] && i == edge_items && axis + 1 < cells->ndim)
            for (int space = 0; space <= axis; space++)
                put(out, " ");
        put_axis(out, cells, axis + 1, index + i * step);
    }
    put(out, "]");
}

/* The shown items: both ends of every long axis. */
static ht_tensor *edges(const char *what, ht_tensor *x, print_cells *cells)
{
    for (int i = 0; x != NULL && i < cells->ndim; i++) {
        int64_t length = x->body->shape[i];

        cells->cut[i] = cells->summarised && length > 2 * edge_items;
        if (cells->cut[i]) {
            ht_tensor *ends[2] = {ht_narrow(x, i, 0, edge_items),
                                  ht_narrow(x, i, length - edge_items, length)};

            ends[0] = ht_resplit(ends[0], HT_NONE);
            ends[1] = ht_resplit(ends[1], HT_NONE);
            x = ht_concatenate(2, ends, i);
        }
        cells->shape[i] = x != NULL ? x->body->shape[i] : 0;
    }
    x = ht_resplit(x, HT_NONE);
    return x != NULL ? ht__on_host(what, x, x->body->dtype) : NULL;
}

/* The sizes of finite numbers other than 0. */
static void find_sizes(const double *numbers, int64_t count, double *largest, double *smallest)
{
    for (int64_t i = 0; numbers != NULL && i < count; i++) {
        double size = fabs(numbers[i]);

        if (!isfinite(size) || size == 0)
            continue;
        *largest = fmax(*largest, size);
        *smallest = fmin(*smallest, size);
    }
}

static void choose_format(print_cells *cells, int64_t count)
{
    double largest = 0, smallest = INFINITY;
    char cell[CELL_ROOM];

    find_sizes(cells->real, count, &largest, &smallest);
    find_sizes(cells->imaginary, count, &largest, &smallest);
    cells->exponent = largest >= 1e8 ||
                      (largest > 0 && (smallest < 1e-4 || largest / smallest > 1e6));
    for (int64_t i = 0; i < count; i++) {
        int width;

        format_cell(cells, i, cell);
        width = (int)strlen(cell);
        cells->width = width > cells->width ? width : cells->width;
    }
}

static void put_header(text *out, const ht_body *body)
{
    char line[160];

    put(out, "ht_tensor(");
    snprintf(line, sizeof line,
             "shape=%s, dtype=%s, device=%s, split=", ht__shape_str(body->ndim, body->shape),
             ht_dtype_name(body->dtype), ht_device_name(body->storage->device));
    put(out, line);
    snprintf(line, sizeof line, "%d", body->split);
    put(out, body->split == HT_NONE ? "none" : line);
    put(out, ")\n");
}

static char *describe(const char *what, ht_tensor *x)
{
    text out = {0};
    print_cells cells = {.dtype = x->body->dtype,
                         .ndim = x->body->ndim,
                         .summarised = ht_tensor_size(x) > threshold};
    ht_tensor *shown = edges(what, x, &cells), *real;
    double *imaginary = NULL;
    int64_t count;

    if (shown == NULL)
        return NULL;
    count = ht_tensor_size(shown);
    real = ht_copy(ht_astype(shown, ht__dtype_widest(cells.dtype)));
    if (real == NULL)
        return NULL;
    if (real->body->dtype == HT_INT64)
        cells.whole = ht__body_data(real->body);
    else
        cells.real = ht__body_data(real->body);
    if (ht_dtype_is_complex(cells.dtype)) {
        const double *pairs = cells.real;
        double *parts = ht__alloc(2 * (size_t)count * sizeof *parts);

        for (int64_t i = 0; i < count; i++) {
            parts[i] = pairs[2 * i];
            parts[count + i] = pairs[2 * i + 1];
        }
        cells.real = imaginary = parts;
        cells.imaginary = parts + count;
    }
    choose_format(&cells, count);
    put_header(&out, x->body);
    put_axis(&out, &cells, 0, 0);
    ht__free(imaginary);
    return out.data;
}

static char *string_of(const char *what, ht_tensor *x)
{
    HT_NAMED(what);
    ht_scope *scope;
    char *string;
    bool was;

    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    string = describe(what, x);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return string;
}

char *ht_tensor_str(ht_tensor *x)
{
    return string_of("ht_tensor_str", x);
}

/* The ranks of a split tensor exchange elements next. */
static ht_status check_stream(const ht_tensor *x, const FILE *stream)
{
    ht_comm *comm = x->body->comm;
    const bool is_split = x->body->split != HT_NONE, begun = is_split && ht__agree_begin();
    const bool is_null = HT_IS_NULL_ON(comm, stream, "ht_print", "stream");
    const ht_status status = is_null ? ht_error_get(NULL) : HT_SUCCESS;

    return is_split ? ht__agree_end("ht_print", comm, begun, status) : status;
}

ht_status ht_print(ht_tensor *x, FILE *stream)
{
    HT_NAMED("ht_print");
    int ranks = ht_comm_size(HT_COMM_WORLD);
    char *string;

    if (HT_IS_NULL(x, "ht_print", "x") || check_stream(x, stream) != HT_SUCCESS)
        return ht_error_get(NULL);
    string = string_of("ht_print", x);
    if (string == NULL)
        return ht_error_get(NULL);
    if (x->body->comm->size == 1 && ranks > 1)
        fprintf(stream, "[%d/%d] %s\n", ht_comm_rank(HT_COMM_WORLD), ranks, string);
    else if (x->body->comm->rank == 0)
        fprintf(stream, "%s\n", string);
    free(string);
    return HT_SUCCESS;
}
