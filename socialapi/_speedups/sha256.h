/* SHA-256 of short messages (FIPS 180-4). */
#ifndef SOCIALAPI_SHA256_H
#define SOCIALAPI_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32
#define DIGEST_DIGITS 64 /* hexadecimal */

/* Chooses the fastest implementation that this processor has; returns its name. */
const char *sha256_choose(void);

/* Writes the digest in DIGEST_DIGITS lower-case hexadecimal digits, without a NUL behind them. */
void digest_to_hex(const uint8_t digest[DIGEST_BYTES], char *digits);

enum { HEX_NOT, HEX_LOWER, HEX_MIXED };

/* Reads a digest from DIGEST_DIGITS hexadecimal digits; says whether they are ones, and of which case. */
int digest_from_hex(const uint8_t *digits, uint8_t digest[DIGEST_BYTES]);

#endif
