/* SPDX-License-Identifier: MIT
 *
 * A set of addresses: open addressing, at most half full. */
#include "nn/module/module.h"

static size_t place_of(const ht_address_set *set, const void *address)
{
    size_t at = ((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15u & (set->capacity - 1);

    while (set->places[at] != NULL && set->places[at] != address)
        at = (at + 1) & (set->capacity - 1);
    return at;
}

static void grow(ht_address_set *set)
{
    ht_address_set larger = {.count = set->count,
                             .capacity = set->capacity > 0 ? 2 * set->capacity : 64};

    larger.places = ht__alloc(larger.capacity * sizeof *larger.places);
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->places[i] != NULL)
            larger.places[place_of(&larger, set->places[i])] = set->places[i];
    }
    ht__free(set->places);
    *set = larger;
}

bool ht__address_add(ht_address_set *set, const void *address)
{
    size_t at;

    if (2 * set->count >= set->capacity)
        grow(set);
    at = place_of(set, address);
    if (set->places[at] == address)
        return false;
    set->places[at] = address;
    set->count++;
    return true;
}

void ht__address_set_free(ht_address_set *set)
{
    ht__free(set->places);
    *set = (ht_address_set){0};
}
