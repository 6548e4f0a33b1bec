/* SPDX-License-Identifier: MIT
 *
 * Chunks of a data set against its description: the filters' parameters, the nodes of the index and
 * the bytes of stored chunks. */
#include "core/io/hdf5/chunks.h"
#include "core/io/hdf5/hdf5.h"

#include <string.h>
#include <zlib.h>

/* Little-endian, as everything in a file of HDF5. */
static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

static unsigned resizing_bit(H5Z_filter_t id)
{
    switch (id) {
    case H5Z_FILTER_SHUFFLE:
    case H5Z_FILTER_FLETCHER32:
        return 0;
    case H5Z_FILTER_DEFLATE:
        return HT_CHUNK_DEFLATE;
    case H5Z_FILTER_SCALEOFFSET:
        return HT_CHUNK_PACKED;
    case H5Z_FILTER_SZIP:
        return HT_CHUNK_SZIP;
    default:
        return HT_CHUNK_OTHER;
    }
}

/* HDF5's parameters of scale-offset: kind and factor, the number of elements, their class (integer
 * or floating), bytes, sign and byte order, and the fill value. */
static bool fits_packing(const unsigned values[], size_t count, const ht_chunks *chunks, hid_t type)
{
    const bool is_float = H5Tget_class(type) == H5T_FLOAT;

    return count == 20 && values[0] == (is_float ? H5Z_SO_FLOAT_DSCALE : H5Z_SO_INT) &&
           values[2] == chunks->bytes / chunks->element && values[3] == is_float &&
           values[4] == chunks->element && values[5] <= 1 && values[6] <= 1 && values[7] <= 1;
}

/* Those of nbit for one number: how many parameters, whether nothing is packed, the number of
 * elements, class 1, and bytes, byte order, precision and offset of a number. */
static bool fits_bits(const unsigned values[], size_t count, const ht_chunks *chunks)
{
    if (count < 3 || values[0] != count || values[2] != chunks->bytes / chunks->element)
        return false;
    if (values[1] != 0 || count < 8 || values[3] != 1)
        return values[1] == 1 || count > 8; /* members of a compound: HDF5 alone checks them */
    return values[4] == chunks->element && values[5] <= 1 && values[6] >= 1 &&
           values[6] <= 8 * chunks->element && values[7] <= 8 * chunks->element - values[6];
}

/* The filter at `index` in the pipeline; false if its parameters do not match the data set. */
static bool take_filter(ht_chunks *chunks, hid_t layout, hid_t type, int index)
{
    unsigned flags, config, values[32] = {0};
    size_t count = 32;
    H5Z_filter_t id = H5Pget_filter2(layout, (unsigned)index, &flags, &count, values, 0, NULL,
                                     &config);
    unsigned bit = resizing_bit(id);

    if (id == H5Z_FILTER_FLETCHER32)
        chunks->sum = index;
    if (bit != 0) {
        chunks->resizing |= 1u << index;
        chunks->outer = bit;
        chunks->outer_at = index;
    }
    if (id == H5Z_FILTER_SHUFFLE)
        return count == 1 && values[0] == chunks->element;
    if (id == H5Z_FILTER_SCALEOFFSET)
        return fits_packing(values, count, chunks, type);
    return id != H5Z_FILTER_NBIT || fits_bits(values, count, chunks);
}

const char *ht__chunks_describe(ht_chunks *chunks, hid_t layout, hid_t type,
                                const ht_hdf5_info *info)
{
    enum { MOST_FILTERS = 32 };

    memset(chunks, 0, sizeof *chunks);
    if (H5Pget_layout(layout) != H5D_CHUNKED)
        return NULL;
    chunks->ndim = info->ndim;
    chunks->element = chunks->bytes = H5Tget_size(type);
    chunks->filters = H5Pget_nfilters(layout);
    chunks->sum = -1;
    for (int i = 0; i < info->ndim; i++) {
        chunks->shape[i] = (uint64_t)info->shape[i];
        chunks->chunk[i] = (uint64_t)info->chunk[i];
        if (chunks->chunk[i] == 0 ||
            __builtin_mul_overflow(chunks->bytes, chunks->chunk[i], &chunks->bytes) ||
            chunks->bytes > UINT32_MAX)
            return "is damaged: a chunk is empty or has 4 GiB or more";
    }
    if (chunks->filters < 0 || chunks->filters > MOST_FILTERS)
        return "is damaged: its filters cannot be read";
    for (int i = 0; i < chunks->filters; i++) {
        if (!take_filter(chunks, layout, type, i))
            return "is damaged: a filter does not match its elements and chunks";
    }
    return NULL;
}

/* A chunk in the index: its bytes in the file, the filters it was stored without, and its place. */
static bool fits_description(ht_chunks *chunks, const unsigned char *key)
{
    const uint64_t bytes = number(key, 4), skipped = number(key + 4, 4);
    const bool is_summed = chunks->sum >= 0 && (skipped >> chunks->sum & 1) == 0;

    if (skipped >> chunks->filters != 0)
        return false;
    chunks->skipping |= skipped != 0;
    if ((chunks->resizing & ~skipped) == 0 && bytes != chunks->bytes + (is_summed ? 4 : 0))
        return false;
    for (int i = 0; i < chunks->ndim; i++) {
        if (number(key + 8 + 8 * i, 8) >= chunks->shape[i])
            return false;
    }
    return number(key + 8 + 8 * chunks->ndim, 8) == 0;
}

static bool is_multiple(const ht_chunks *chunks, const unsigned char *key)
{
    for (int i = 0; i < chunks->ndim; i++) {
        if (number(key + 8 + 8 * i, 8) % chunks->chunk[i] != 0)
            return false;
    }
    return number(key + 8 + 8 * chunks->ndim, 8) % chunks->element == 0;
}

/* Places ascend in row-major order. */
static bool is_before(const ht_chunks *chunks, const unsigned char *key, const unsigned char *next)
{
    for (int i = 0; i <= chunks->ndim; i++) {
        uint64_t a = number(key + 8 + 8 * i, 8), b = number(next + 8 + 8 * i, 8);

        if (a != b)
            return a < b;
    }
    return false;
}

/* Whether two of a leaf's chunks lie in the same bytes of the file. */
static bool overlap(const unsigned char *first, size_t step, uint64_t children)
{
    for (uint64_t i = 1; i < children; i++) {
        const unsigned char *a = first + i * step;
        const uint64_t begin = number(a + step - 8, 8), bytes = number(a, 4);

        for (const unsigned char *b = first; b < a; b += step) {
            const uint64_t other = number(b + step - 8, 8);

            if (begin < other ? other - begin < bytes : begin - other < number(b, 4))
                return true;
        }
    }
    return false;
}

/* A node: "TREE", type 1, level, number of children (2 bytes) and two addresses; then a key before,
 * between and after its children. Addresses have 8 bytes. */
const char *ht__chunks_check_node(ht_chunks *chunks, const unsigned char *node, size_t bytes)
{
    enum { HEAD = 24, ADDRESS = 8 };
    static const char other[] = "the file is damaged: the index of its chunks does not match the "
                                "data set";
    const size_t key = 8 + 8 * (size_t)(chunks->ndim + 1), step = key + ADDRESS;

    if (chunks->ndim == 0 || bytes < HEAD || memcmp(node, "TREE\1", 5) != 0)
        return NULL;

    const bool is_leaf = node[5] == 0;
    const uint64_t children = number(node + 6, 2);
    const unsigned char *at = node + HEAD;

    if (HEAD + key + children * step > bytes)
        return other;
    for (uint64_t i = 0; i <= children; i++, at += step) {
        if (!is_multiple(chunks, at) ||
            (i < children &&
             (!is_before(chunks, at, at + step) || (is_leaf && !fits_description(chunks, at)))))
            return other;
    }
    if (is_leaf && overlap(node + HEAD, step, children))
        return other;
    chunks->indexed = true;
    return NULL;
}

/* Whether the stored bytes inflate to one chunk, with its checksum if that was added before. */
static bool inflates(const ht_chunks *chunks, const unsigned char *stored, size_t bytes)
{
    unsigned char scratch[1 << 14];
    z_stream stream = {.next_in = (unsigned char *)stored, .avail_in = (uInt)bytes};
    const uint64_t want = chunks->bytes + (chunks->sum >= 0 && chunks->sum < chunks->outer_at) * 4;
    uint64_t total = 0;
    int result;

    if (inflateInit(&stream) != Z_OK)
        return true; /* HDF5 says why */
    do {
        stream.next_out = scratch;
        stream.avail_out = sizeof scratch;
        result = inflate(&stream, Z_NO_FLUSH);
        total += sizeof scratch - stream.avail_out;
    } while (result == Z_OK && total <= want);
    inflateEnd(&stream);
    return result == Z_STREAM_END ? total == want : total <= want;
}

/* Scale-offset: bits of a number (4 bytes), bytes of the smallest (1) and it (16 at most), then the
 * numbers. The bits of all must be there. */
static bool unpacks(const ht_chunks *chunks, const unsigned char *stored, size_t bytes)
{
    enum { HEAD = 21 };
    const uint64_t count = chunks->bytes / chunks->element;
    const size_t sum = chunks->sum > chunks->outer_at ? 4 : 0;

    if (bytes < HEAD + sum)
        return false;

    const uint64_t bits = number(stored, 4);

    return bits <= 8 * chunks->element && stored[4] <= 8 &&
           HEAD + (count * bits + 7) / 8 + sum <= bytes;
}

const char *ht__chunks_check_stored(ht_chunks *chunks, const unsigned char *stored, size_t bytes)
{
    static const char other[] = "the file is damaged: a stored chunk has another number of bytes "
                                "than the data set";

    if (!chunks->indexed || chunks->skipping)
        return NULL;
    if (chunks->outer == HT_CHUNK_PACKED)
        return unpacks(chunks, stored, bytes) ? NULL : other;
    if (chunks->outer == HT_CHUNK_SZIP)
        return bytes >= 4 && number(stored, 4) == chunks->bytes ? NULL : other;
    if (chunks->outer != HT_CHUNK_DEFLATE || chunks->proved ||
        (chunks->resizing & (chunks->resizing - 1)) != 0)
        return NULL;
    chunks->proved = true;
    return inflates(chunks, stored, bytes) ? NULL : other;
}
