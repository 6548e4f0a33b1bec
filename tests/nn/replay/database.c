/* SPDX-License-Identifier: MIT
 *
 * Reads the database of samples; tests/golden/make_torch_db.py says how it is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "replay.h"

enum { ABSENT = 64 };

static gzFile file;
static replay_case now;
static int absents;
static struct {
    int count;
    char why[128];
} absent[ABSENT];

static char *line; /* grows with the lines */
static size_t room;

bool replay_open(const char *path)
{
    file = gzopen(path, "rb");
    return file != NULL;
}

/* Reads a line, without its end; false after the last one. */
static bool read_line(void)
{
    size_t length = 0;

    for (;;) {
        if (room - length < 2) {
            room = 2 * room + 4096;
            line = realloc(line, room);
            if (line == NULL)
                abort();
        }
        if (gzgets(file, line + length, (int)(room - length)) == NULL)
            return false;
        length += strlen(line + length);
        if (line[length - 1] == '\n') {
            line[length - 1] = '\0';
            return true;
        }
    }
}

/* The next word of the line at *at, cut off. */
static char *word(char **at)
{
    char *begin = *at;

    *at += strcspn(begin, " ");
    if (**at != '\0')
        *(*at)++ = '\0';
    return begin;
}

static double *numbers(int64_t count, char *at)
{
    double *list = calloc((size_t)count + 1, sizeof *list);

    for (int64_t i = 0; i < count; i++)
        list[i] = strtod(at, &at);
    return list;
}

static void read_shape(replay_tensor *x, char **at)
{
    x->ndim = atoi(word(at));
    x->size = 1;
    for (int i = 0; i < x->ndim; i++) {
        x->shape[i] = atoll(word(at));
        x->size *= x->shape[i];
    }
}

static void read_tensor(char *at)
{
    replay_tensor *x = &now.tensor[now.tensors++];

    snprintf(x->key, sizeof x->key, "%s", word(&at));
    x->dtype = ht_dtype_from_name(word(&at));
    x->batch = strchr(word(&at), 'b') != NULL;
    read_shape(x, &at);
    x->data = numbers(x->size, at);
}

static replay_tensor *tensor_of(const char *key)
{
    for (int i = 0; i < now.tensors; i++)
        if (strcmp(now.tensor[i].key, key) == 0)
            return &now.tensor[i];
    abort();
}

static void read_setting(const char *kind, char *at)
{
    replay_setting *s = &now.setting[now.settings++];

    snprintf(s->key, sizeof s->key, "%s", word(&at));
    if (strcmp(kind, "word") == 0) {
        snprintf(s->word, sizeof s->word, "%s", at);
        return;
    }
    s->count = atoi(word(&at));
    for (int i = 0; i < s->count; i++)
        s->number[i] = strtod(at, &at);
}

static void forget(replay_tensor *x)
{
    free(x->data);
    free(x->after);
    free(x->grad);
    *x = (replay_tensor){.ndim = 0};
}

static void begin(const char *name, bool refused)
{
    for (int i = 0; i < now.tensors; i++)
        forget(&now.tensor[i]);
    forget(&now.result);
    memset(now.setting, 0, sizeof now.setting);
    now.tensors = now.settings = 0;
    now.number++;
    now.refused = refused;
    snprintf(now.name, sizeof now.name, "%s", name);
}

/* Takes the line: its first word, and what follows. */
static void take(const char *kind, char *at)
{
    if (strcmp(kind, "tensor") == 0) {
        read_tensor(at);
    } else if (strcmp(kind, "after") == 0) {
        replay_tensor *x = tensor_of(word(&at));

        x->after_error = strtod(at, &at);
        x->after = numbers(x->size, at);
    } else if (strcmp(kind, "grad") == 0) {
        replay_tensor *x = tensor_of(word(&at));

        x->grad_error = strtod(at, &at);
        x->grad = numbers(x->size, at);
    } else if (strcmp(kind, "result") == 0) {
        read_shape(&now.result, &at);
        now.result.error = strtod(at, &at);
        now.result.data = numbers(now.result.size, at);
    } else if (strcmp(kind, "left") == 0 && absents < ABSENT) {
        absent[absents].count = atoi(word(&at));
        snprintf(absent[absents].why, sizeof absent->why, "%s", at);
        absents++;
    } else if (strcmp(kind, "case") == 0 || strcmp(kind, "error") == 0) {
        begin(at, strcmp(kind, "error") == 0);
    } else {
        read_setting(kind, at);
    }
}

const replay_case *replay_next(void)
{
    while (read_line()) {
        char *at = line;
        const char *kind = word(&at);

        if (strcmp(kind, "end") == 0)
            return &now;
        take(kind, at);
    }
    return NULL;
}

bool replay_absent(int index, int *count, const char **why)
{
    if (index >= absents)
        return false;
    *count = absent[index].count;
    *why = absent[index].why;
    return true;
}

void replay_close(void)
{
    begin("", false);
    free(line);
    gzclose(file);
}
