/* SPDX-License-Identifier: MIT
 *
 * CSV and .npy files of other programs, right and damaged, are loaded under every split and
 * compared with a plain reader of the same bytes. Tensors are saved in either format and loaded
 * again. */
#include "fuzz/files/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ht.h"

enum { ROOM = 4096, MOST_VALUES = 2048 };

/* The content of the files, the same on all ranks. */
static struct {
    bool has_text, has_array;
    char text[ROOM], array[ROOM];
    int64_t text_bytes, array_bytes, front; /* front: bytes before the elements */
    ht_dtype dtype;
    bool swapped, fortran, header_is_whole;
    int64_t shape[2];
} model;

static void begin(struct files *files)
{
    (void)files;
    memset(&model, 0, sizeof model);
}

static void end(struct files *files)
{
    (void)files;
}

static void write_bytes(struct files *files, const char *name, const char *bytes, int64_t count)
{
    ht_barrier(HT_COMM_WORLD);
    if (files->rank == 0) {
        FILE *file = fopen(in_folder(files, name), "wb");

        if (file == NULL || fwrite(bytes, 1, (size_t)count, file) != (size_t)count)
            wrong(files, "cannot write %s", name);
        if (file != NULL)
            fclose(file);
    }
    ht_barrier(HT_COMM_WORLD);
}

static int split_of(uint64_t n)
{
    return n % 3 == 2 ? HT_NONE : (int)(n % 3);
}

/* All of a tensor in the host's memory. */
static const void *elements_of(ht_tensor *x)
{
    x = ht_to_device(ht_contiguous(ht_resplit(x, HT_NONE)), ht_device_get("cpu"));
    return ht_tensor_data(x);
}

/* ---- tables ---------------------------------------------------------------------------------- */
static void add(const char *text)
{
    size_t bytes = strlen(text);

    if (model.text_bytes + (int64_t)bytes < ROOM) {
        memcpy(model.text + model.text_bytes, text, bytes);
        model.text_bytes += (int64_t)bytes;
    }
}

static void write_table(struct files *files, const uint64_t n[])
{
    static const char *const fields[] = {
        "1",    "-2",   "3.5", "",   "nan",   "1e3",     "+4",   ".5",      "7.",
        "-Inf", "12.5", "0.1", "0",  "\"6\"", "\"\"",    " 8\t", "10e-1",   "\" 9\n\"",
        "300",  "1e-2", "77",  "-0", "5",     "\"\n4\"", "6",    "16777217"};
    int rows = (int)(n[0] % 30), columns = 1 + (int)(n[0] / 64 % 4);
    int plain = n[1] % 3 == 0 ? 1 : 0; /* whole numbers alone */
    const char *line = n[1] / 4 % 3 == 0 ? "\r\n" : "\n";
    struct random random = {hash_of(n[2], 77)};

    model.text_bytes = 0;
    if (n[1] / 16 % 4 == 0)
        add("\xef\xbb\xbf");
    for (int i = 0; i < rows; i++) {
        if (random_below(&random, 12) == 0)
            add(random_below(&random, 2) == 0 ? line : "  \n");
        for (int k = 0; k < columns; k++) {
            int64_t at = random_below(&random, (int64_t)(sizeof fields / sizeof *fields));

            add(plain ? "11" : fields[at]);
            if (k + 1 < columns)
                add(",");
        }
        if (i + 1 < rows || n[1] / 64 % 2 == 0)
            add(line);
    }
    model.has_text = true;
    say(files, " %d x %d", rows, columns);
    write_bytes(files, "t.csv", model.text, model.text_bytes);
}

static void damage_table(struct files *files, const uint64_t n[])
{
    static const char bytes[] = "\"\",,\n\n\r 10.e-x\0;+\"";
    int64_t at;

    if (!model.has_text || model.text_bytes == 0)
        return;
    at = (int64_t)(n[0] % (uint64_t)model.text_bytes);
    if (n[1] % 3 == 0) {
        memmove(model.text + at, model.text + at + 1, (size_t)(model.text_bytes - at - 1));
        model.text_bytes--;
    } else {
        model.text[at] = bytes[n[2] % (sizeof bytes - 1)];
    }
    say(files, " at byte %lld", (long long)at);
    write_bytes(files, "t.csv", model.text, model.text_bytes);
}

/* The plain reader: one byte after another. */
struct table {
    int64_t rows, columns;
    bool bad;
    double value[MOST_VALUES];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool has_form_of_number(const char *s)
{
    int digits = 0;

    s += *s == '+' || *s == '-';
    if (strcasecmp(s, "nan") == 0 || strcasecmp(s, "inf") == 0 || strcasecmp(s, "infinity") == 0)
        return true;
    for (; is_digit(*s); s++)
        digits++;
    s += *s == '.';
    for (; is_digit(*s); s++)
        digits++;
    if (digits == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '+' || *s == '-';
        if (!is_digit(*s))
            return false;
        while (is_digit(*s))
            s++;
    }
    return *s == '\0';
}

static bool has_digit_but_zero(const char *s)
{
    for (; *s != '\0' && *s != 'e' && *s != 'E'; s++) {
        if (*s >= '1' && *s <= '9')
            return true;
    }
    return false;
}

static bool value_of_field(const char *text, int64_t length, ht_dtype dtype, double *value)
{
    static char copy[ROOM + 1];

    memcpy(copy, text, (size_t)length);
    copy[length] = '\0';
    if (length == 0) {
        *value = NAN;
        return dtype != HT_INT16;
    }
    if (strlen(copy) != (size_t)length || !has_form_of_number(copy))
        return false;
    *value = dtype == HT_FLOAT32 ? (double)strtof(copy, NULL) : strtod(copy, NULL);
    if (dtype != HT_INT16)
        return true;
    return *value >= -32768 && *value <= 32767 && *value == floor(*value) &&
           (*value != 0 || !has_digit_but_zero(copy));
}

/* One record, without its line's end. */
static void read_record(struct table *table, const char *s, const char *stop, ht_dtype dtype)
{
    int64_t columns = 0;
    bool more = true;

    while (more && !table->bad) {
        const char *first, *last;

        while (s < stop && is_blank(*s))
            s++;
        if (s < stop && *s == '"') {
            for (first = ++s; s < stop && *s != '"'; s++)
                ;
            last = s;
            table->bad = s == stop || (s + 1 < stop && s[1] == '"'); /* no number has a quote */
            for (s += s < stop; s < stop && is_blank(*s); s++)
                ;
            table->bad = table->bad || (s < stop && *s != ',');
        } else {
            for (first = s; s < stop && *s != ','; s++)
                ;
            last = s;
        }
        while (first < last && (is_blank(*first) || *first == '\n' || *first == '\r'))
            first++;
        while (first < last && (is_blank(last[-1]) || last[-1] == '\n' || last[-1] == '\r'))
            last--;
        if (!table->bad && (table->rows + 1) * (columns + 1) < MOST_VALUES)
            table->bad = !value_of_field(first, last - first, dtype,
                                         &table->value[table->rows * table->columns + columns]);
        columns++;
        more = s < stop;
        s++;
    }
    if (table->rows == 0)
        table->columns = columns;
    table->bad = table->bad || columns != table->columns;
    table->rows++;
}

static void read_table(struct table *table, int header, ht_dtype dtype)
{
    const char *s = model.text, *limit = s + model.text_bytes;

    memset(table, 0, sizeof *table);
    if (model.text_bytes >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
        s += 3;
    for (; header > 0 && s < limit; s++)
        header -= *s == '\n';
    while (s < limit && !table->bad) {
        const char *first = s, *stop, *look;
        bool quoted = false;

        for (; s < limit && (quoted || *s != '\n'); s++)
            quoted = quoted != (*s == '"');
        stop = s > first && s[-1] == '\r' ? s - 1 : s;
        for (look = first; look < stop && is_blank(*look); look++)
            ;
        if (look < stop)
            read_record(table, first, stop, dtype);
        s++;
    }
}

static void check_table(struct files *files, ht_tensor *x, const struct table *table)
{
    const double *found;

    if (ht_tensor_shape(x)[0] != table->rows || ht_tensor_shape(x)[1] != table->columns) {
        wrong(files, "it is %lld x %lld, not %lld x %lld", (long long)ht_tensor_shape(x)[0],
              (long long)ht_tensor_shape(x)[1], (long long)table->rows, (long long)table->columns);
        return;
    }
    found = elements_of(ht_astype(x, HT_FLOAT64));
    for (int64_t i = 0; i < table->rows * table->columns; i++) {
        double want = table->value[i];

        if (isnan(want) ? !isnan(found[i]) : found[i] != want)
            wrong(files, "element %lld is %.17g, not %.17g", (long long)i, found[i], want);
    }
}

static void load_table(struct files *files, const uint64_t n[])
{
    static const ht_dtype dtypes[] = {HT_FLOAT64, HT_FLOAT32, HT_INT16};
    static struct table table;
    ht_dtype dtype = dtypes[n[0] % 3];
    int header = n[1] % 3 == 0 ? (int)(n[1] / 3 % 4) : 0, want;
    ht_tensor *x = ht_load_csv(in_folder(files, "t.csv"), header, ',', dtype, split_of(n[2]));

    read_table(&table, header, dtype);
    want = !model.has_text ? HT_ERR_IO : table.bad ? HT_ERR_FORMAT : HT_SUCCESS;
    say(files, " as %s, split %d, behind %d lines", ht_dtype_name(dtype), split_of(n[2]), header);
    if (expect(files, "ht_load_csv", status_of(x), want) == HT_SUCCESS && want == HT_SUCCESS)
        check_table(files, x, &table);
}

/* ---- arrays ---------------------------------------------------------------------------------- */
static const struct {
    ht_dtype dtype;
    const char *name;
    int part; /* bytes that have an order */
} arrays[] = {{HT_UINT8, "u1", 1},   {HT_INT16, "i2", 2},    {HT_INT32, "i4", 4},
              {HT_INT64, "i8", 8},   {HT_FLOAT16, "f2", 2},  {HT_FLOAT32, "f4", 4},
              {HT_FLOAT64, "f8", 8}, {HT_COMPLEX64, "c8", 4}};

static void write_array(struct files *files, const uint64_t n[])
{
    int type = (int)(n[0] % 8), version = 1 + (int)(n[0] / 8 % 3);
    char header[160];
    int64_t bytes;
    struct random random = {hash_of(n[1], 78)};

    model.dtype = arrays[type].dtype;
    model.shape[0] = (int64_t)(n[2] % 9);
    model.shape[1] = (int64_t)(n[2] / 16 % 6);
    model.fortran = n[3] % 2 == 1;
    model.swapped = arrays[type].part > 1 && n[3] / 2 % 2 == 1;
    bytes = snprintf(header, sizeof header,
                     "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%lld, %lld), }\n",
                     arrays[type].part == 1 ? '|'
                     : model.swapped        ? '>'
                                            : '<',
                     arrays[type].name, model.fortran ? "True" : "False", (long long)model.shape[0],
                     (long long)model.shape[1]);
    model.front = (version == 1 ? 10 : 12) + bytes;
    memset(model.array, 0, sizeof model.array);
    memcpy(model.array, "\x93NUMPY", 6);
    model.array[6] = (char)version;
    model.array[8] = (char)bytes;
    memcpy(model.array + model.front - bytes, header, (size_t)bytes);
    bytes = model.shape[0] * model.shape[1] * (int64_t)ht_dtype_size(model.dtype);
    for (int64_t i = 0; i < bytes; i++)
        model.array[model.front + i] = (char)random_below(&random, 256);
    model.array_bytes = model.front + bytes;
    model.has_array = model.header_is_whole = true;
    say(files, " %.*s", (int)model.front - 13, model.array + (version == 1 ? 10 : 12));
    write_bytes(files, "a.npy", model.array, model.array_bytes);
}

static void damage_array(struct files *files, const uint64_t n[])
{
    int64_t at;

    if (!model.has_array || model.array_bytes == 0)
        return;
    at = (int64_t)(n[0] % (uint64_t)model.array_bytes);
    if (n[1] % 4 == 0)
        model.array_bytes = at;
    else
        model.array[at] = (char)(n[2] % 256);
    model.header_is_whole = model.header_is_whole && at >= model.front;
    say(files, " at byte %lld%s", (long long)at, n[1] % 4 == 0 ? ", where it ends" : "");
    write_bytes(files, "a.npy", model.array, model.array_bytes);
}

/* Byte `byte` of element (i, k), where the file has it. */
static char byte_of(int64_t i, int64_t k, int64_t byte)
{
    int64_t size = (int64_t)ht_dtype_size(model.dtype);
    int64_t part = model.dtype == HT_COMPLEX64 ? 4 : size;
    int64_t at = model.fortran ? k * model.shape[0] + i : i * model.shape[1] + k;

    if (model.swapped)
        byte = byte / part * part + part - 1 - byte % part;
    return model.array[model.front + at * size + byte];
}

/* Whether these bytes, in the host's order, are a NaN: of those a copy need not keep all bits. */
static bool is_nan(const char *bytes, int64_t size)
{
    uint16_t half;
    float narrow;
    double wide;

    if (!ht_dtype_is_floating(model.dtype) && !ht_dtype_is_complex(model.dtype))
        return false;
    memcpy(&half, bytes, sizeof half);
    if (size == 2)
        return (half & 0x7fff) > 0x7c00;
    memcpy(&narrow, bytes, sizeof narrow);
    if (size == 4)
        return isnan(narrow);
    memcpy(&wide, bytes, sizeof wide);
    return isnan(wide);
}

static bool is_element(const char *found, int64_t i, int64_t k)
{
    int64_t size = (int64_t)ht_dtype_size(model.dtype);
    int64_t part = model.dtype == HT_COMPLEX64 ? 4 : size;
    char want[16] = {0};

    for (int64_t b = 0; b < size; b++)
        want[b] = byte_of(i, k, b);
    for (int64_t b = 0; b < size; b += part) {
        if (memcmp(found + b, want + b, (size_t)part) != 0 &&
            !(is_nan(found + b, part) && is_nan(want + b, part)))
            return false;
    }
    return true;
}

static void check_array(struct files *files, ht_tensor *x)
{
    int64_t size = (int64_t)ht_dtype_size(model.dtype);
    const char *found;

    if (ht_tensor_dtype(x) != model.dtype || ht_tensor_ndim(x) != 2 ||
        ht_tensor_shape(x)[0] != model.shape[0] || ht_tensor_shape(x)[1] != model.shape[1]) {
        wrong(files, "it has another shape or dtype");
        return;
    }
    found = elements_of(x);
    for (int64_t i = 0; i < model.shape[0]; i++) {
        for (int64_t k = 0; k < model.shape[1]; k++) {
            if (!is_element(found + (i * model.shape[1] + k) * size, i, k))
                wrong(files, "element (%lld, %lld) is another", (long long)i, (long long)k);
        }
    }
}

static void load_array(struct files *files, const uint64_t n[])
{
    ht_tensor *x = ht_load_npy(in_folder(files, "a.npy"), HT_DTYPE_COUNT, split_of(n[0]));
    int64_t bytes = model.front +
                    model.shape[0] * model.shape[1] * (int64_t)ht_dtype_size(model.dtype);
    int want = !model.has_array            ? HT_ERR_IO
               : !model.header_is_whole    ? ANYTHING
               : model.array_bytes < bytes ? HT_ERR_FORMAT
                                           : HT_SUCCESS;

    say(files, " split %d", split_of(n[0]));
    if (expect(files, "ht_load_npy", status_of(x), want) == HT_SUCCESS && want == HT_SUCCESS)
        check_array(files, x);
}

/* ---- there and back -------------------------------------------------------------------------- */
static void save_and_load(struct files *files, const uint64_t n[])
{
    static const char *const names[] = {"s.npy", "s.csv", "s.NPY"};
    const char *path = in_folder(files, names[n[0] % 3]);
    ht_dtype dtype = (ht_dtype)(n[1] % (n[0] % 3 == 1 ? HT_COMPLEX64 : HT_DTYPE_COUNT));
    int64_t shape[] = {(int64_t)(n[2] % 7), (int64_t)(1 + n[2] / 8 % 5)};
    ht_tensor *x = ht_arange(0, (double)(shape[0] * shape[1]), 1, HT_INT64, HT_NONE), *y;
    bool same = false;
    int split = split_of(n[3]), back = split_of(n[4]);

    x = ht_reshape(x, 2, shape);
    x = ht_astype(dtype == HT_BOOL ? x : ht_div_scalar(x, dtype < HT_FLOAT16 ? 1 : 7), dtype);
    say(files, " %s, %s, split %d and %d", names[n[0] % 3], ht_dtype_name(dtype), split, back);
    expect(files, "ht_save", ht_save(split == HT_NONE ? x : ht_resplit(x, split), path, NULL),
           HT_SUCCESS);
    y = ht_load(path, NULL, dtype, back);
    if (expect(files, "ht_load", status_of(y), HT_SUCCESS) != HT_SUCCESS)
        return;
    if (shape[0] == 0 && n[0] % 3 == 1)
        return; /* without a row the number of columns is unknown */
    if (ht_equal(x, ht_resplit(y, HT_NONE), &same) != HT_SUCCESS || !same)
        wrong(files, "other elements came back");
}

static const struct act_row rows[] = {
    {"write a table", 5, write_table},     {"damage the table", 3, damage_table},
    {"load the table", 9, load_table},     {"write an array", 4, write_array},
    {"damage the array", 2, damage_array}, {"load the array", 6, load_array},
    {"save and load", 4, save_and_load},   {NULL, 0, NULL}};

const struct world world_tables = {"tables", rows, begin, NULL, end};
