/* SPDX-License-Identifier: MIT
 *
 * Faults, blanks and single marks of JSON. */
#include "core/io/safetensors/json.h"

bool ht__json_fail(ht_json *json, const char *why)
{
    if (json->why == NULL)
        json->why = why;
    return false;
}

void ht__json_blanks(ht_json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        json->at++;
}

bool ht__json_take(ht_json *json, char c)
{
    if (json->why != NULL)
        return false;
    ht__json_blanks(json);
    if (json->at >= json->end || *json->at != c)
        return false;
    json->at++;
    return true;
}
