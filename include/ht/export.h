/* SPDX-License-Identifier: MIT */
/* Marks on declarations: exported symbols, C linkage in C++, checked format strings. */
#ifndef HT_EXPORT_H
#define HT_EXPORT_H

#if defined(__GNUC__)
#define HT_API                 __attribute__((visibility("default")))
#define HT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HT_API
#define HT_PRINTF(text, first)
#endif

#ifdef __cplusplus
#define HT_BEGIN_DECLS extern "C" {
#define HT_END_DECLS   }
#else
#define HT_BEGIN_DECLS
#define HT_END_DECLS
#endif

#endif
