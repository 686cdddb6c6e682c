/* A hash map from identifiers to small numbers, which compares whole keys. */
#ifndef SOCIALAPI_IDENTIFIER_MAP_H
#define SOCIALAPI_IDENTIFIER_MAP_H

#include "native.h"
#include "sha256.h"

/* What the bytes of a key are. A text may look like a digest, or have one that somebody else gives
 * as theirs: keys of different forms are different. */
enum { KEY_NONE, KEY_DIGEST, KEY_SHORT_TEXT, KEY_LONG_TEXT };

/* An identifier, or none. The whole digest is kept: who uploads digests may give any, among them
 * many that begin alike. */
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

/* Entries stand in the order in which they came, in segments of the same size: these are never
 * moved, have hardly any room to spare, and what one table frees is what another one needs. */
#define SEGMENT_BITS 9
#define SEGMENT_ENTRIES (UINT32_C(1) << SEGMENT_BITS)

/* A slot is 0 or has the place of an entry, plus 1, in as many low bits as it takes to count the
 * slots; the bits above are of the entry's hash, so that hardly any other entry is looked at in
 * vain. */
typedef struct {
    Entry **segments;
    uint32_t segment_count;
    uint32_t count; /* of entries */
    uint32_t *slots; /* NULL as long as there has been no entry */
    unsigned slot_bits;
} Map;

static inline Entry *
entry_at(const Map *map, uint32_t place)
{
    return &map->segments[place >> SEGMENT_BITS][place & (SEGMENT_ENTRIES - 1)];
}

/* Draws the secret of the hash. Returns 0, or -1 with an exception set. */
int draw_hash_secret(void);

/* Sets the hash of a key whose bytes are complete. */
void hash_key(Key *key);

/* Makes room for further entries, so that adding them cannot fail. Returns 0, or -1 with an
 * exception set; the map is then as it was. */
int map_reserve(Map *map, size_t further);

/* Has the processor fetch what looking up this key begins with. */
void map_prefetch(const Map *map, const Key *key);

/* Returns the entry of the key, or NULL. */
Entry *map_find(const Map *map, const Key *key);

/* Returns the entry of the key, which is added with the number 0 if there was none. There has to be
 * room for it. */
Entry *map_find_or_add(Map *map, const Key *key, int *is_new);

/* Returns the key of an entry. */
Key key_of_entry(const Entry *entry);

/* Empties the map and frees its memory. */
void map_free(Map *map);

/* Returns how many bytes the map has allocated. */
size_t map_size(const Map *map);

#endif
