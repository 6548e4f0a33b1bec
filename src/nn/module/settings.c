/* SPDX-License-Identifier: MIT
 *
 * Settings of modules by the table of their type: how they are printed, and their ranges. */
#include "nn/module/module.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text that is cut off where its room ends. */
struct line {
    char *text;
    size_t size, used;
};

static void add(struct line *line, const char *format, ...)
{
    va_list arguments;

    if (line->used >= line->size)
        return;
    va_start(arguments, format);
    line->used += (size_t)vsnprintf(line->text + line->used, line->size - line->used, format,
                                    arguments);
    va_end(arguments);
}

static int count_of(const ht_module_setting *setting)
{
    return setting->count > 0 ? setting->count : 1;
}

static const void *place_of(const ht_module_setting *setting, const void *data, int index)
{
    static const size_t sizes[] = {[HT_SETTING_INT64] = sizeof(int64_t),
                                   [HT_SETTING_INT] = sizeof(int),
                                   [HT_SETTING_DOUBLE] = sizeof(double),
                                   [HT_SETTING_BOOL] = sizeof(bool)};

    return (const char *)data + setting->offset + (size_t)index * sizes[setting->kind];
}

/* Exact for comparisons with bounds and defaults, which are doubles. */
static double value_of(const ht_module_setting *setting, const void *data, int index)
{
    const void *at = place_of(setting, data, index);

    switch (setting->kind) {
    case HT_SETTING_INT64:
        return (double)*(const int64_t *)at;
    case HT_SETTING_INT:
        return *(const int *)at;
    case HT_SETTING_DOUBLE:
        return *(const double *)at;
    case HT_SETTING_BOOL:
        return *(const bool *)at;
    }
    return NAN;
}

static void add_element(struct line *line, const ht_module_setting *setting, const void *data,
                        int index)
{
    const void *at = place_of(setting, data, index);

    if (setting->kind == HT_SETTING_INT64)
        add(line, "%" PRId64, *(const int64_t *)at);
    else if (setting->kind == HT_SETTING_INT)
        add(line, "%d", *(const int *)at);
    else if (setting->kind == HT_SETTING_DOUBLE)
        add(line, "%g", *(const double *)at);
    else
        add(line, "%s", *(const bool *)at ? "true" : "false");
}

static bool all_equal(const ht_module_setting *setting, const void *data)
{
    for (int i = 1; i < count_of(setting); i++) {
        if (value_of(setting, data, i) != value_of(setting, data, 0))
            return false;
    }
    return true;
}

/* 2, or (2, 1). */
static void add_value(struct line *line, const ht_module_setting *setting, const void *data)
{
    if (all_equal(setting, data)) {
        add_element(line, setting, data, 0);
        return;
    }
    for (int i = 0; i < count_of(setting); i++) {
        add(line, i == 0 ? "(" : ", ");
        add_element(line, setting, data, i);
    }
    add(line, ")");
}

static bool is_usual(const ht_module_setting *setting, const void *data)
{
    return all_equal(setting, data) && value_of(setting, data, 0) == setting->usual;
}

void ht__module_describe(ht_module *module, char *text, size_t size)
{
    const ht_module_setting *setting = module->type->settings;
    struct line line = {.text = text, .size = size};

    if (module->type->describe != NULL) {
        module->type->describe(module, text, size);
        return;
    }
    for (; setting != NULL && setting->name != NULL; setting++) {
        if (setting->print == HT_PRINT_CHANGED && is_usual(setting, module->data))
            continue;
        add(&line, line.used > 0 ? ", " : "");
        if (setting->print != HT_PRINT_VALUE)
            add(&line, "%s=", setting->name);
        add_value(&line, setting, module->data);
    }
}

static bool in_range(const ht_module_setting *setting, const void *data)
{
    if (setting->low == 0 && setting->high == 0)
        return true;
    for (int i = 0; i < count_of(setting); i++) {
        const double value = value_of(setting, data, i);

        if (!(value >= setting->low && value <= setting->high) || isinf(value))
            return false;
    }
    return true;
}

static ht_status out_of_range(const char *what, const ht_module_setting *setting, const void *data)
{
    char text[128] = "";
    struct line line = {.text = text, .size = sizeof text};

    add_value(&line, setting, data);
    add(&line, ", expected ");
    if (isinf(setting->low) && isinf(setting->high))
        add(&line, "a finite number");
    else if (isinf(setting->high))
        add(&line, "%s%g",
            setting->kind == HT_SETTING_DOUBLE ? "a finite value of at least " : "at least ",
            setting->low);
    else
        add(&line, "%g to %g", setting->low, setting->high);
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %s", what, setting->name, text);
}

ht_module *ht_module_new_ext(const char *what, const ht_module_type *type, size_t bytes,
                             const void *data)
{
    const ht_module_setting *setting = type != NULL ? type->settings : NULL;
    ht_module *module;

    if (HT_IS_NULL(what, "ht_module_new_ext", "what") ||
        (bytes > 0 && HT_IS_NULL(data, what, "data")))
        return NULL;
    for (; setting != NULL && setting->name != NULL; setting++) {
        if (!in_range(setting, data)) {
            out_of_range(what, setting, data);
            return NULL;
        }
    }
    module = ht_module_new(bytes, type);
    if (module != NULL && bytes > 0)
        memcpy(module->data, data, bytes);
    return module;
}
