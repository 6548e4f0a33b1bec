/* SPDX-License-Identifier: MIT */
/* The version of libht; configure.ac reads the three numbers from here. */
#ifndef HT_VERSION_H
#define HT_VERSION_H

#include "ht/export.h"

#define HT_VERSION_MAJOR 0
#define HT_VERSION_MINOR 1
#define HT_VERSION_PATCH 0

/* The version as one integer for #if; it grows with every release. */
#define HT_VERSION_NUMBER (HT_VERSION_MAJOR * 10000 + HT_VERSION_MINOR * 100 + HT_VERSION_PATCH)

#define HT__STRING(x)       #x
#define HT__DOTTED(a, b, c) HT__STRING(a) "." HT__STRING(b) "." HT__STRING(c)

/* The version that the program is compiled against, "0.1.0". */
#define HT_VERSION HT__DOTTED(HT_VERSION_MAJOR, HT_VERSION_MINOR, HT_VERSION_PATCH)

HT_BEGIN_DECLS

/* Returns the version of the library that is running, "0.1.0"; a static string. Not
 * collective. */
HT_API const char *ht_version(void);

HT_END_DECLS

#endif
