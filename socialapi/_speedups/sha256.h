/* SHA-256 of short messages (FIPS 180-4). */
#ifndef SOCIALAPI_SHA256_H
#define SOCIALAPI_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32
#define DIGEST_DIGITS 64 /* hexadecimal */

/* Chooses the fastest implementation that this processor has; returns its name. */
const char *sha256_choose(void);

#endif
