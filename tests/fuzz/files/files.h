/* SPDX-License-Identifier: MIT
 *
 * Programs about files: acts on a folder of the case's own, one after another, and a model of its
 * content afterwards. A world is the acts that fit together and their model. */
#ifndef HT_FUZZ_FILES_H
#define HT_FUZZ_FILES_H

#include "fuzz/fuzz.h"

enum { MOST_ACTS = 24, ACT_NUMBERS = 5 };

struct files {
    int rank, size;
    bool trace;
    char folder[400];  /* that of the case, the same on all ranks */
    char failure[768]; /* of this rank; "": none */
    char said[256];    /* what the act does */
    char act[320];     /* that failed; "": none did */
};

struct act_row {
    const char *name;
    int weight;
    void (*run)(struct files *files, const uint64_t n[]);
};

struct world {
    const char *name;
    const struct act_row *rows;         /* ended by a NULL name */
    void (*begin)(struct files *files); /* the folder is empty */
    void (*look)(struct files *files);  /* after each act: all is as in the model; may be NULL */
    void (*end)(struct files *files);
};

extern const struct world world_place, world_hdf5, world_foreign, world_log, world_keep,
    world_states, world_tables;

/* Records a failure; the first on this rank counts. */
void wrong(struct files *files, const char *format, ...) HT_PRINTF(2, 3);
/* Adds to the words for the act. */
void say(struct files *files, const char *format, ...) HT_PRINTF(2, 3);

/* Checks that a status is the same on all ranks, that there is an error only with a failure, and
 * that the status is `want` (HT_SUCCESS, a code, or ANY_ERROR). The error is cleared. */
enum { ANY_ERROR = -1, ANYTHING = -2 };
ht_status expect(struct files *files, const char *what, ht_status status, int want);
ht_status status_of(const void *result); /* of a call that returns NULL after an error */

/* "<folder>/name"; of a few that are in use at a time. */
const char *in_folder(const struct files *files, const char *name);

/* A file's content as a number, 0 if there is none; of rank 0, for all. Collective. */
uint64_t content_of(const struct files *files, const char *path);

/* One of the others, for a few kinds of strange numbers. */
double strange_number(uint64_t n);

/* files_value.c: a state that depends on `id` alone, the same on all ranks except for rank 0's
 * tensors; and whether another value is that state after a file. */
ht_value *value_of_id(uint64_t id);
bool value_is_of_id(const ht_value *value, uint64_t id, char why[200]);
bool values_are_equal(const ht_value *a, const ht_value *b);

#endif
