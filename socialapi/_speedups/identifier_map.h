/* A hash map from identifiers to small numbers. It compares complete keys. */
#ifndef SOCIALAPI_IDENTIFIER_MAP_H
#define SOCIALAPI_IDENTIFIER_MAP_H

#include "native.h"
#include "sha256.h"

/* The forms of keys. Keys of different forms never match, because a string may equal a digest,
 * or may have the same digest as another row. */
enum { KEY_NONE, KEY_DIGEST, KEY_SHORT_TEXT, KEY_LONG_TEXT };

/* An identifier, or none. The complete digest is kept, because uploaded digests can be
 * arbitrary, and many may begin with the same bytes. */
typedef struct {
    uint8_t bytes[DIGEST_BYTES];
    uint32_t form;
    uint32_t hash;
} Key;

#define MAX_NUMBER ((UINT32_C(1) << 30) - 1)

typedef struct {
    uint8_t bytes[DIGEST_BYTES];
    uint32_t form : 2;
    uint32_t number : 30;
} Entry;

/* Entries are stored in order of arrival, in segments of equal size. Segments never move, waste
 * hardly any memory, and can be reused by other tables once freed. */
#define SEGMENT_BITS 9
#define SEGMENT_ENTRIES (UINT32_C(1) << SEGMENT_BITS)

/* A slot is 0, or has the index of an entry plus 1 in its low bits, as many as count the slots.
 * The other bits come from the entry's hash, so that other entries are rarely compared. */
typedef struct {
    Entry **segments;
    uint32_t segment_count;
    uint32_t count; /* of entries */
    uint32_t *slots; /* NULL until the first entry is added */
    unsigned slot_bits;
} Map;

static inline Entry *
entry_at(const Map *map, uint32_t place)
{
    return &map->segments[place >> SEGMENT_BITS][place & (SEGMENT_ENTRIES - 1)];
}

/* Chooses the secret of the hash. Returns 0, or -1 with an exception set. */
int draw_hash_secret(void);

/* Sets the hash of a key whose bytes are complete. */
void hash_key(Key *key);

/* Reserves memory for more entries, so that adding them cannot fail. Returns 0, or -1 with an
 * exception set and the map unchanged. */
int map_reserve(Map *map, size_t further);

/* Prefetches the memory that looking up this key reads first. */
void map_prefetch(const Map *map, const Key *key);

/* Returns the entry of the key, or NULL. */
Entry *map_find(const Map *map, const Key *key);

/* Returns the entry of the key. Adds it with the number 0 if there is none; memory for it must
 * be reserved. */
Entry *map_find_or_add(Map *map, const Key *key, int *is_new);

/* Returns the key of an entry. */
Key key_of_entry(const Entry *entry);

/* Empties the map and frees its memory. */
void map_free(Map *map);

/* Returns how many bytes the map has allocated. */
size_t map_size(const Map *map);

#endif
