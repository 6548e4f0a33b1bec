/* SPDX-License-Identifier: MIT
 *
 * Damages a checkpoint in one random way after another, and loads each in a process of its own:
 *     damage save FILE         a checkpoint with everything that a state can be made of
 *     damage check FILE        loads it; 0: the values are what they were
 *     damage CASES SEED FILE   each case of FILE must be refused; prints how many were
 *     damage CASES SEED FILE 1 of a format without a checksum over the file: each case must
 *                              be refused, or give the values that were saved
 * A case is some bits that are flipped, an end that is cut off, or two blocks that are swapped. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ht.h"

static unsigned char *bytes, *changed;
static int64_t size;
static char path[4200]; /* of the damaged file */
static uint64_t random_state;

static int64_t below(int64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)limit);
}

static ht_tensor *numbers(int64_t count, ht_dtype dtype)
{
    return ht_astype(ht_arange(0, (double)count, 1, HT_FLOAT64, HT_NONE), dtype);
}

/* Groups of more than eight, of all kinds, and inside one another. */
static ht_value *state_new(void)
{
    ht_value *map = ht_value_map(), *list = ht_value_list(), *inner = ht_value_map();

    for (ht_dtype dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        ht_value_set(map, ht_dtype_name(dtype), ht_value_tensor(numbers(23, dtype)));
    for (int i = 0; i < 12; i++) {
        char name[16];

        snprintf(name, sizeof name, "layer%d", i);
        ht_value_set(inner, name, ht_value_tensor(numbers(40 + i, HT_FLOAT32)));
        ht_value_append(list, ht_value_number(0.5 * i));
    }
    ht_value_append(list, ht_value_list());
    ht_value_append(list, inner);
    ht_value_set(map, "list", list);
    ht_value_set(map, "step", ht_value_number(17));
    return map;
}

static bool same_tensor(ht_tensor *a, ht_tensor *b)
{
    return ht_tensor_dtype(a) == ht_tensor_dtype(b) && ht_tensor_ndim(a) == ht_tensor_ndim(b) &&
           ht_tensor_size(a) == ht_tensor_size(b) &&
           memcmp(ht_tensor_data(a), ht_tensor_data(b), (size_t)ht_tensor_nbytes(a)) == 0;
}

static bool same(const ht_value *a, const ht_value *b)
{
    if (b == NULL || ht_value_get_kind(a) != ht_value_get_kind(b) ||
        ht_value_count(a) != ht_value_count(b))
        return false;
    if (ht_value_get_kind(a) == HT_VALUE_TENSOR)
        return same_tensor(ht_value_as_tensor(a), ht_value_as_tensor(b));
    if (ht_value_get_kind(a) == HT_VALUE_NUMBER)
        return ht_value_as_number(a) == ht_value_as_number(b);
    for (int i = 0; i < ht_value_count(a); i++) {
        const char *key = ht_value_key(a, i);

        if (!same(ht_value_at(a, i), key != NULL ? ht_value_get(b, key) : ht_value_at(b, i)))
            return false;
    }
    return true;
}

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static void read_file(const char *name)
{
    int file = open(name, O_RDONLY);
    struct stat info;

    if (file < 0 || fstat(file, &info) != 0)
        fail(name);
    size = info.st_size;
    bytes = malloc((size_t)size);
    changed = malloc((size_t)size);
    if (bytes == NULL || changed == NULL || read(file, bytes, (size_t)size) != size)
        fail(name);
    close(file);
}

static void write_file(int64_t length)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (file < 0 || write(file, changed, (size_t)length) != length)
        fail(path);
    close(file);
}

static void flip(char *text, size_t room)
{
    int64_t flips = 1 + below(3), at = 0;

    for (int64_t i = 0; i < flips; i++) {
        at = below(size);
        changed[at] ^= (unsigned char)(1 + below(255));
    }
    snprintf(text, room, "%lld bytes, the last at %lld", (long long)flips, (long long)at);
}

static void swap_blocks(char *text, size_t room)
{
    int64_t length = INT64_C(1) << (4 + below(8)), a, b;

    while (length > size / 4)
        length /= 2;
    a = below(size / length) * length;
    b = below(size / length) * length;
    memcpy(changed + a, bytes + b, (size_t)length);
    memcpy(changed + b, bytes + a, (size_t)length);
    snprintf(text, room, "blocks of %lld at %lld and %lld", (long long)length, (long long)a,
             (long long)b);
}

/* Returns the length of the file that is different from the good one. */
static int64_t damage(int64_t number, char *text, size_t room)
{
    int64_t length = size;

    do {
        memcpy(changed, bytes, (size_t)size);
        if (number % 3 == 0)
            flip(text, room);
        else if (number % 3 == 1)
            snprintf(text, room, "cut to %lld", (long long)(length = below(size)));
        else
            swap_blocks(text, room);
    } while (length == size && memcmp(changed, bytes, (size_t)size) == 0);
    return length;
}

enum { REFUSED, LOADED, DIFFERENT, SILENT };

/* In a separate process, whose exit status is the result. */
static void load(void)
{
    const char *message;
    ht_value *loaded;

    alarm(60);
    loaded = ht_checkpoint_load(path, HT_COMM_WORLD, NULL);
    if (loaded != NULL)
        _exit(same(state_new(), loaded) ? LOADED : DIFFERENT);
    _exit(ht_error_get(&message) != HT_SUCCESS && strstr(message, path) != NULL ? REFUSED : SILENT);
}

/* Returns whether it went as it must. */
static bool run_case(int64_t number, bool may_load)
{
    static const char *const ends[] = {"refused", "loaded", "loaded with other values",
                                       "refused without the name of the file"};
    char text[96];
    int64_t length = damage(number, text, sizeof text);
    pid_t child;
    int status = 0;

    write_file(length);
    child = fork();
    if (child == 0)
        load();
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail("fork");
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == REFUSED || (WEXITSTATUS(status) == LOADED && may_load)))
        return true;
    if (WIFSIGNALED(status))
        printf("case %lld, %s: ended by signal %d\n", (long long)number, text, WTERMSIG(status));
    else
        printf("case %lld, %s: %s\n", (long long)number, text,
               WEXITSTATUS(status) <= SILENT ? ends[WEXITSTATUS(status)] : "ended the process");
    return false;
}

static int run(int64_t cases, uint64_t seed, const char *file, bool may_load)
{
    int64_t good = 0;

    read_file(file);
    snprintf(path, sizeof path, "%s.damaged", file);
    random_state = 0x9e3779b97f4a7c15u ^ (seed << 20);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int64_t i = 0; i < cases; i++)
        good += run_case(i, may_load);
    unlink(path);
    printf("%lld of %lld\n", (long long)good, (long long)cases);
    return good != cases;
}

int main(int argc, char **argv)
{
    int status = 2;

    if (ht_init(&argc, &argv) != HT_SUCCESS)
        return 2;
    if (argc == 3 && strcmp(argv[1], "save") == 0)
        status = ht_checkpoint_save(state_new(), argv[2], HT_COMM_WORLD, NULL) != HT_SUCCESS;
    else if (argc == 3 && strcmp(argv[1], "check") == 0)
        status = !same(state_new(), ht_checkpoint_load(argv[2], HT_COMM_WORLD, NULL));
    else if (argc >= 4)
        status = run(atoll(argv[1]), (uint64_t)atoll(argv[2]), argv[3], argc > 4);
    ht_finalize();
    return status;
}
