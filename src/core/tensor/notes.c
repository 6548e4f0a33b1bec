/* SPDX-License-Identifier: MIT
 *
 * HT_DEBUG_COLLECTIVE=1, for logically collective calls: their results must have the same shape,
 * split and dtype on all ranks. Each tensor that is made or written in place on a communicator of
 * many ranks is noted. The record of the next call that communicates contains the sum of the notes.
 * If sums differ, the ranks search for the first note that differs. */
#define _GNU_SOURCE
#include "core/comm/mpi.h"
#include "core/tensor/tensor.h"
#include "core/base/site.h"

#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NOTES = 1024, FRAMES = 24 };

struct note {
    ht_dtype dtype;
    int ndim, split, frames;
    bool written; /* in place */
    int64_t shape[HT_MAX_NDIM];
    void *frame[FRAMES];
};

struct ht_notes {
    int count;
    uint64_t sum;
    uint64_t key[NOTES];
    struct note note[NOTES];
};

/* One note in words, for the other ranks. */
struct said {
    int there;
    char what[160], caller[64], site[112];
};

static pthread_t program; /* its thread: others work on tensors of their own */
static int paused;

static struct ht_notes *make(void)
{
    return ht__alloc(sizeof(struct ht_notes));
}

void ht__compare_pause(int step)
{
    if (ht__compare_on && pthread_equal(program, pthread_self()))
        paused += step;
}

static uint64_t mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15u;
    return key ^ (key >> 29);
}

static uint64_t key_of(const struct note *note)
{
    uint64_t key = mix((uint64_t)note->dtype + 1, (uint64_t)note->ndim);

    key = mix(key, (uint64_t)(int64_t)note->split);
    key = mix(key, (uint64_t)note->written);
    for (int i = 0; i < note->ndim; i++)
        key = mix(key, (uint64_t)note->shape[i]);
    return key;
}

void ht__compare_tensor(const ht_body *body, bool written)
{
    ht_comm *comm = body->comm;
    struct ht_notes *notes = comm->notes;
    struct note *note;

    if (notes == NULL || paused > 0 || !pthread_equal(program, pthread_self()))
        return;
    if (notes->count == NOTES)
        ht__compare_call(comm, &(ht_call){.what = "a long row of operations"});
    note = &notes->note[notes->count];
    note->dtype = body->dtype;
    note->ndim = body->ndim;
    note->split = body->split;
    note->written = written;
    memcpy(note->shape, body->shape, sizeof note->shape);
    note->frames = backtrace(note->frame, FRAMES);
    notes->key[notes->count++] = key_of(note);
    notes->sum = mix(notes->sum, key_of(note));
}

static uint64_t sum(const ht_comm *comm)
{
    return comm->notes != NULL ? mix(comm->notes->sum, (uint64_t)comm->notes->count) : 0;
}

static void clear(ht_comm *comm)
{
    if (comm->notes == NULL)
        return;
    comm->notes->count = 0;
    comm->notes->sum = 0;
}

static void say(struct said *said, const struct ht_notes *notes, int index)
{
    const struct note *note = &notes->note[index];
    char split[32] = "not split";

    memset(said, 0, sizeof *said);
    if (index >= notes->count) {
        snprintf(said->what, sizeof said->what, "does nothing more");
        return;
    }
    said->there = 1;
    if (note->split != HT_NONE)
        snprintf(split, sizeof split, "split along %d", note->split);
    snprintf(said->what, sizeof said->what, "%s %s of %s, %s", note->written ? "writes" : "makes",
             ht__shape_str(note->ndim, note->shape), ht_dtype_name(note->dtype), split);
    ht__site_find(note->frame, note->frames, said->caller, sizeof said->caller, said->site,
                  sizeof said->site);
}

/* By the shape of all keys, one after another: the first place where two ranks differ, and the rank
 * that is other than rank 0. */
static int first_difference(const uint64_t *keys, int size, int *rank)
{
    for (int i = 0; i < NOTES; i++) {
        for (int r = 1; r < size; r++) {
            if (keys[(size_t)r * NOTES + (size_t)i] != keys[i]) {
                *rank = r;
                return i;
            }
        }
    }
    return -1;
}

static bool all_there(const uint64_t *keys, int size, int index)
{
    bool all = true;

    for (int r = 0; r < size; r++)
        all &= keys[(size_t)r * NOTES + (size_t)index] != 0;
    return all;
}

static size_t add_place(char *text, size_t room, const struct said *said, int rank)
{
    char line[600] = "";
    int length;

    if (said->site[0] != '\0')
        ht__site_resolve(said->site, line, sizeof line);
    if (!said->there)
        return 0;
    length = snprintf(text, room, "; rank %d in %s%s%s", rank,
                      said->caller[0] != '\0' ? said->caller : "a call",
                      line[0] != '\0' ? " at " : "", line);
    return (size_t)length < room ? (size_t)length : room - 1;
}

static void differ(ht_comm *comm, MPI_Comm wire, const int *world_ranks, bool fewer)
{
    struct ht_notes *notes = comm->notes;
    uint64_t *keys = ht__alloc(sizeof *keys * NOTES * (size_t)comm->size);
    struct said mine, *all = ht__alloc(sizeof *all * (size_t)comm->size);
    char text[1016];
    int index, rank = 0;
    size_t at;

    memset(notes->key + notes->count, 0, sizeof notes->key[0] * (size_t)(NOTES - notes->count));
    ht__meta_gather_bytes(comm, wire, notes->key, sizeof notes->key, keys, "HT_DEBUG_COLLECTIVE");
    index = first_difference(keys, comm->size, &rank);
    if (index < 0 || (!fewer && !all_there(keys, comm->size, index))) {
        ht__free(keys);
        ht__free(all);
        return;
    }
    say(&mine, notes, index);
    ht__meta_gather_bytes(comm, wire, &mine, sizeof mine, all, "HT_DEBUG_COLLECTIVE");
    at = (size_t)snprintf(
        text, sizeof text,
        "rank %d %s where rank %d %s: all ranks make the same tensors in the same "
        "order on a communicator",
        world_ranks[0], all[0].what, world_ranks[rank], all[rank].what);
    at += add_place(text + at, sizeof text - at, &all[0], world_ranks[0]);
    add_place(text + at, sizeof text - at, &all[rank], world_ranks[rank]);
    ht__abort(HT_ERR_COMM, text);
}

void ht__notes_start(void)
{
    static const ht_note_calls calls = {.make = make, .sum = sum, .clear = clear, .differ = differ};

    program = pthread_self();
    ht__notes = &calls;
}
