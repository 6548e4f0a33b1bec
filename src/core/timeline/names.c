/* SPDX-License-Identifier: MIT
 *
 * The names on the timeline of a thread: a hash table of strings that only grows. */
#include "core/base/base.h"
#include "core/timeline/impl.h"

#include <string.h>

/* Where the text is, or is to be. */
static char **place_of(char **table, size_t room, const char *text)
{
    size_t at = (size_t)ht__text_hash(text) & (room - 1);

    while (table[at] != NULL && strcmp(table[at], text) != 0)
        at = (at + 1) & (room - 1);
    return &table[at];
}

static void grow(timeline_names *names)
{
    size_t room = names->room > 0 ? 2 * names->room : 64;
    char **table = ht__alloc(room * sizeof *table);

    for (size_t i = 0; i < names->room; i++) {
        if (names->table[i] != NULL)
            *place_of(table, room, names->table[i]) = names->table[i];
    }
    ht__free(names->table);
    names->table = table;
    names->room = room;
}

const char *ht__timeline_keep(timeline_names *names, const char *text)
{
    char **place;

    if (2 * names->count >= names->room)
        grow(names);
    place = place_of(names->table, names->room, text);
    if (*place == NULL) {
        *place = ht__strdup(text);
        names->count++;
    }
    return *place;
}
