/* A hash map from identifiers to small numbers: open addressing, linear probing, no deletion. */
#include "identifier_map.h"

#include <string.h>

#define WORDS (DIGEST_BYTES / 4)
#define HASH_BITS 32
#define MIN_SLOT_BITS 6
#define MAX_SLOT_BITS 31

/* Hashing ------------------------------------------------------------------------------------- */

/* Unknown outside this process, so that nobody can choose digests that collide. */
static uint64_t secret[WORDS + 1];

/* Derives the secret from Python's string hash, whose own secret is random or set by
 * PYTHONHASHSEED. The hash may have only 32 bits, so two are combined. */
static int
draw_word(int number, uint64_t *drawn)
{
    *drawn = 0;
    for (int half = 0; half < 2; half++) {
        PyObject *name = PyUnicode_FromFormat("socialapi %d.%d", number, half);
        if (name == NULL) {
            return -1;
        }
        Py_hash_t hash = PyObject_Hash(name);
        Py_DECREF(name);
        if (hash == -1) {
            return -1;
        }
        *drawn = *drawn << 32 ^ (uint64_t)hash;
    }
    return 0;
}

int
draw_hash_secret(void)
{
    for (int at = 0; at <= WORDS; at++) {
        if (draw_word(at, &secret[at]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Pair-multiply-shift (Thorup, "High Speed Hashing for Integers and Strings", section 3.4): two
 * keys chosen without the secret share the upper half of their sums no more often than by
 * chance. This requires words of 32 bits, because the upper bits of larger words would affect no
 * other bit of the sum. */
void
hash_key(Key *key)
{
    uint32_t word[WORDS];
    memcpy(word, key->bytes, sizeof word);
    uint64_t sum = secret[WORDS];
    for (int at = 0; at < WORDS; at += 2) {
        sum += (secret[at] + word[at + 1]) * (secret[at + 1] + word[at]);
    }
    key->hash = (uint32_t)(sum >> HASH_BITS);
}

/* Slots --------------------------------------------------------------------------------------- */

static size_t
slot_count(const Map *map)
{
    return (size_t)1 << map->slot_bits;
}

/* Returns the mask for the bits of a slot that have the index of an entry. */
static uint32_t
place_mask(const Map *map)
{
    return (UINT32_C(1) << map->slot_bits) - 1;
}

static size_t
first_slot(const Map *map, const Key *key)
{
    return key->hash >> (HASH_BITS - map->slot_bits);
}

/* Returns the upper bits of the slot of a key: the bits of the hash that do not determine the
 * slot's position. */
static uint32_t
hash_part(const Map *map, const Key *key)
{
    return key->hash << map->slot_bits;
}

static Entry *
entry_of_slot(const Map *map, uint32_t slot)
{
    return entry_at(map, (slot & place_mask(map)) - 1);
}

static int
is_entry_of(const Entry *entry, const Key *key)
{
    return entry->form == key->form && memcmp(entry->bytes, key->bytes, DIGEST_BYTES) == 0;
}

/* Returns the slot of the key, or the empty slot for it. */
static uint32_t *
slot_of(const Map *map, const Key *key)
{
    uint32_t part = hash_part(map, key), above = ~place_mask(map);
    size_t last = slot_count(map) - 1;
    for (size_t at = first_slot(map, key);; at = (at + 1) & last) {
        uint32_t slot = map->slots[at];
        if (slot == 0 || ((slot & above) == part && is_entry_of(entry_of_slot(map, slot), key))) {
            return &map->slots[at];
        }
    }
}

static uint32_t *
empty_slot_of(const Map *map, const Key *key)
{
    size_t last = slot_count(map) - 1, at = first_slot(map, key);
    while (map->slots[at] != 0) {
        at = (at + 1) & last;
    }
    return &map->slots[at];
}

static void
fill_slots(Map *map)
{
    for (uint32_t place = 0; place < map->count; place++) {
        Key key = key_of_entry(entry_at(map, place));
        *empty_slot_of(map, &key) = hash_part(map, &key) | (place + 1);
    }
}

/* Room ---------------------------------------------------------------------------------------- */

/* At most half of the slots are in use, which keeps probes short. */
static int
reserve_slots(Map *map, size_t entries)
{
    unsigned bits = map->slots != NULL ? map->slot_bits : MIN_SLOT_BITS;
    while (bits < MAX_SLOT_BITS && (size_t)1 << bits < 2 * entries) {
        bits++;
    }
    if (map->slots != NULL && bits == map->slot_bits) {
        return 0;
    }
    uint32_t *slots = PyMem_Calloc((size_t)1 << bits, sizeof *slots);
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    PyMem_Free(map->slots);
    map->slots = slots;
    map->slot_bits = bits;
    fill_slots(map);
    return 0;
}

static int
add_segment(Map *map)
{
    size_t count = (size_t)map->segment_count + 1;
    Entry **moved = PyMem_Realloc(map->segments, count * sizeof *moved);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    map->segments = moved;
    moved[map->segment_count] = PyMem_Malloc(SEGMENT_ENTRIES * sizeof **moved);
    if (moved[map->segment_count] == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    map->segment_count++;
    return 0;
}

static int
reserve_entries(Map *map, size_t entries)
{
    while ((size_t)map->segment_count * SEGMENT_ENTRIES < entries) {
        if (add_segment(map) < 0) {
            return -1;
        }
    }
    return 0;
}

int
map_reserve(Map *map, size_t further)
{
    size_t entries = map->count + further;
    if (further > MAX_NUMBER || entries > MAX_NUMBER) {
        PyErr_SetString(PyExc_MemoryError, "too many identifiers");
        return -1;
    }
    if (reserve_entries(map, entries) < 0) {
        return -1;
    }
    return reserve_slots(map, entries);
}

void
map_free(Map *map)
{
    for (uint32_t at = 0; at < map->segment_count; at++) {
        PyMem_Free(map->segments[at]);
    }
    PyMem_Free(map->segments);
    PyMem_Free(map->slots);
    memset(map, 0, sizeof *map);
}

size_t
map_size(const Map *map)
{
    size_t segment = SEGMENT_ENTRIES * sizeof(Entry) + sizeof(Entry *);
    size_t slots = map->slots != NULL ? slot_count(map) * sizeof *map->slots : 0;
    return map->segment_count * segment + slots;
}

/* Entries ------------------------------------------------------------------------------------- */

void
map_prefetch(const Map *map, const Key *key)
{
#if defined(__GNUC__)
    if (map->slots != NULL) {
        __builtin_prefetch(&map->slots[first_slot(map, key)]);
    }
#else
    (void)map;
    (void)key;
#endif
}

Entry *
map_find(const Map *map, const Key *key)
{
    if (map->slots == NULL) {
        return NULL;
    }
    uint32_t slot = *slot_of(map, key);
    return slot != 0 ? entry_of_slot(map, slot) : NULL;
}

Entry *
map_find_or_add(Map *map, const Key *key, int *is_new)
{
    uint32_t *slot = slot_of(map, key);
    *is_new = *slot == 0;
    if (!*is_new) {
        return entry_of_slot(map, *slot);
    }
    Entry *entry = entry_at(map, map->count++);
    *slot = hash_part(map, key) | map->count;
    memcpy(entry->bytes, key->bytes, DIGEST_BYTES);
    entry->form = key->form;
    entry->number = 0;
    return entry;
}

Key
key_of_entry(const Entry *entry)
{
    Key key;
    memcpy(key.bytes, entry->bytes, DIGEST_BYTES);
    key.form = entry->form;
    hash_key(&key);
    return key;
}
