/* SHA-256 of short messages (FIPS 180-4). */
#ifndef SOCIALAPI_SHA256_H
#define SOCIALAPI_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32
#define DIGEST_DIGITS 64 /* hexadecimal */
#define BLOCK_BYTES 64
#define MESSAGE_BLOCKS 4
#define MESSAGE_BYTES (MESSAGE_BLOCKS * BLOCK_BYTES - 9) /* followed by a mark and the length */

/* A message and its padding. Callers write the bytes and the size, and call `message_pad`. */
typedef struct {
    uint8_t bytes[MESSAGE_BLOCKS * BLOCK_BYTES];
    size_t size; /* at most MESSAGE_BYTES */
    int blocks;
} Message;

/* One of the implementations. */
typedef struct Sha256 Sha256;

/* Returns the fastest implementation for this processor. */
const Sha256 *sha256_fastest(void);
/* Returns the portable implementation, for the tests. */
const Sha256 *sha256_portable(void);
const char *sha256_name(const Sha256 *sha256);

void message_pad(Message *message);
/* Both take padded messages. Hashing two at a time takes little longer than one. */
void sha256_one(const Sha256 *sha256, const Message *message, uint8_t *digest);
void sha256_two(const Sha256 *sha256, const Message messages[2], uint8_t *first, uint8_t *second);

/* Writes the digest in DIGEST_DIGITS lower-case hexadecimal digits, without a NUL at the end. */
void digest_to_hex(const uint8_t *digest, char *digits);

enum { HEX_NOT, HEX_LOWER, HEX_MIXED };

/* Reads DIGEST_DIGITS hexadecimal digits. Returns HEX_LOWER or HEX_MIXED by their case, or
 * HEX_NOT for other characters. */
int digest_from_hex(const uint8_t *digits, uint8_t *digest);

#endif
