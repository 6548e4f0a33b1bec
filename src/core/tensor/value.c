/* SPDX-License-Identifier: MIT
 *
 * Values: tensors, numbers, lists and maps. Most maps are short, and searched in order; longer ones
 * have a hash table. */
#include "core/tensor/tensor.h"
#include "ht/value.h"

#include <stdio.h>
#include <string.h>

struct ht_value {
    ht_object base;
    ht_value_kind kind;
    ht_tensor *tensor; /* owned */
    double number;
    int count, capacity;
    ht_value **items; /* owned */
    char **keys;      /* owned; maps */
    int *table;       /* owned; of a long map: items by the hash of their keys, from 1; 0: none */
    size_t room;      /* in it, a power of two */
    bool lacks;       /* an item that could not be made */
};

static void destroy(void *object)
{
    ht_value *value = object;

    ht_release(value->tensor);
    for (int i = 0; i < value->count; i++) {
        ht_release(value->items[i]);
        if (value->keys != NULL)
            ht__free(value->keys[i]);
    }
    ht__free(value->items);
    ht__free(value->keys);
    ht__free(value->table);
    ht__object_fini(value);
    ht__block_free(value, sizeof *value);
}

static ht_kind kind_of_values = {.name = "value", .destroy = destroy};

static ht_value *new_value(ht_value_kind kind)
{
    ht_value *value = ht__block_alloc(sizeof *value);

    ht__object_init(value, &kind_of_values);
    value->kind = kind;
    return ht__scoped(value);
}

ht_value *ht_value_tensor(ht_tensor *tensor)
{
    ht_value *value;

    if (tensor == NULL)
        return NULL;
    value = new_value(HT_VALUE_TENSOR);
    value->tensor = ht_retain(tensor);
    return value;
}

ht_value *ht_value_number(double number)
{
    ht_value *value = new_value(HT_VALUE_NUMBER);

    value->number = number;
    return value;
}

ht_value *ht_value_list(void)
{
    return new_value(HT_VALUE_LIST);
}

ht_value *ht_value_map(void)
{
    return new_value(HT_VALUE_MAP);
}

ht_value *ht_value_tensors(int count, ht_tensor *const tensors[])
{
    ht_value *list;

    if (count < 0) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_value_tensors: count is %d, expected at least 0", count);
        return NULL;
    }
    if (count > 0 && HT_IS_NULL(tensors, "ht_value_tensors", "tensors"))
        return NULL;
    list = ht_value_list();
    for (int i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof name, "tensors[%d]", i);
        if (HT_IS_NULL(tensors[i], "ht_value_tensors", name) ||
            ht_value_append(list, ht_value_tensor(tensors[i])) != HT_SUCCESS)
            return NULL;
    }
    return list;
}

ht_value_kind ht_value_get_kind(const ht_value *value)
{
    return HT_IS_THERE(value) ? value->kind : HT_VALUE_NONE;
}

ht_tensor *ht_value_as_tensor(const ht_value *value)
{
    return HT_IS_THERE(value) ? value->tensor : NULL;
}

double ht_value_as_number(const ht_value *value)
{
    return HT_IS_THERE(value) ? value->number : 0;
}

bool ht__value_whole(const ht_value *value, int64_t *count)
{
    double number = ht_value_get_kind(value) == HT_VALUE_NUMBER ? value->number : -1;

    *count = number >= 0 && number < 1e15 ? (int64_t)number : 0;
    return number >= 0 && number < 1e15 && (double)*count == number;
}

int ht_value_count(const ht_value *value)
{
    return HT_IS_THERE(value) ? value->count : 0;
}

static void grow(ht_value *value)
{
    if (value->count < value->capacity)
        return;
    value->capacity = value->capacity > 0 ? 2 * value->capacity : 4;
    value->items = ht__realloc(value->items, (size_t)value->capacity * sizeof *value->items);
    if (value->kind == HT_VALUE_MAP)
        value->keys = ht__realloc(value->keys, (size_t)value->capacity * sizeof *value->keys);
}

/* The item, which is NULL where it could not be made. */
static ht_value *take(ht_value *into, ht_value *item)
{
    into->lacks |= item == NULL || item->lacks;
    return item;
}

ht_value *ht__value_complete(ht_value *value)
{
    return value->lacks ? NULL : value;
}

/* Whether value is `part`, or has it inside, at any depth. */
static bool holds(const ht_value *value, const ht_value *part)
{
    bool found = value == part;

    for (int i = 0; i < value->count && !found; i++)
        found = holds(value->items[i], part);
    return found;
}

const char *ht__value_kind_name(const ht_value *value)
{
    static const char *const names[] = {"nothing", "a tensor", "a number", "a list", "a map"};

    return names[ht_value_get_kind(value)];
}

/* A value inside itself would never be released. */
static ht_status check_not_inside(const char *what, const ht_value *into, const ht_value *item)
{
    if (!holds(item, into))
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: the item is, or contains, the value that it is put into", what);
}

ht_status ht_value_append(ht_value *list, ht_value *item)
{
    if (HT_IS_NULL(list, "ht_value_append", "list") ||
        HT_IS_NULL(take(list, item), "ht_value_append", "item"))
        return ht_error_get(NULL);
    if (list->kind != HT_VALUE_LIST)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_value_append: list is %s, expected a list",
                       ht__value_kind_name(list));
    if (check_not_inside("ht_value_append", list, item) != HT_SUCCESS)
        return HT_ERR_ARGUMENT;
    grow(list);
    list->items[list->count++] = ht_retain(item);
    return HT_SUCCESS;
}

ht_value *ht_value_at(const ht_value *value, int index)
{
    return HT_IS_THERE(value) && index >= 0 && index < value->count ? value->items[index] : NULL;
}

enum { SHORT = 16 }; /* items of a map without a table */

/* The place of the key in the table, or the one for it. */
static int *place_of(const ht_value *map, const char *key)
{
    size_t at = (size_t)ht__text_hash(key) & (map->room - 1);

    while (map->table[at] != 0 && strcmp(map->keys[map->table[at] - 1], key) != 0)
        at = (at + 1) & (map->room - 1);
    return &map->table[at];
}

/* The last item has come. The table is at most half full. */
static void note_key(ht_value *map)
{
    const int count = map->count;
    int first = count;

    if (count <= SHORT)
        return;
    if (2 * (size_t)count > map->room) {
        ht__free(map->table);
        map->room = 4 * (size_t)map->capacity;
        map->table = ht__alloc(map->room * sizeof *map->table);
        first = 1;
    }
    for (int i = first; i <= count; i++)
        *place_of(map, map->keys[i - 1]) = i;
}

static int find(const ht_value *map, const char *key)
{
    if (map->table != NULL)
        return *place_of(map, key) - 1;
    for (int i = 0; i < map->count; i++) {
        if (strcmp(map->keys[i], key) == 0)
            return i;
    }
    return -1;
}

ht_status ht_value_set(ht_value *map, const char *key, ht_value *item)
{
    int at;

    if (HT_IS_NULL(map, "ht_value_set", "map") || HT_IS_NULL(key, "ht_value_set", "key") ||
        HT_IS_NULL(take(map, item), "ht_value_set", "item"))
        return ht_error_get(NULL);
    if (map->kind != HT_VALUE_MAP)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_value_set: map is %s, expected a map (key '%s')",
                       ht__value_kind_name(map), key);
    if (check_not_inside("ht_value_set", map, item) != HT_SUCCESS)
        return HT_ERR_ARGUMENT;
    ht_retain(item);
    at = find(map, key);
    if (at >= 0) {
        ht_release(map->items[at]);
        map->items[at] = item;
        return HT_SUCCESS;
    }
    grow(map);
    map->keys[map->count] = ht__strdup(key);
    map->items[map->count++] = item;
    note_key(map);
    return HT_SUCCESS;
}

ht_value *ht_value_get(const ht_value *map, const char *key)
{
    int at = HT_IS_THERE(map) && key != NULL && map->kind == HT_VALUE_MAP ? find(map, key) : -1;

    return at >= 0 ? map->items[at] : NULL;
}

const char *ht_value_key(const ht_value *map, int index)
{
    bool has_key = HT_IS_THERE(map) && map->kind == HT_VALUE_MAP && index >= 0 &&
                   index < map->count;

    return has_key ? map->keys[index] : NULL;
}
