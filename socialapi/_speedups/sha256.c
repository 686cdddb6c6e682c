/* SHA-256 of short messages (FIPS 180-4): portable, and by the instructions of x86-64. */
#include "sha256.h"

const char *
sha256_choose(void)
{
    return "portable SHA-256";
}

void
digest_to_hex(const uint8_t digest[DIGEST_BYTES], char *digits)
{
    static const char digit[] = "0123456789abcdef";
    for (int at = 0; at < DIGEST_BYTES; at++) {
        digits[2 * at] = digit[digest[at] >> 4];
        digits[2 * at + 1] = digit[digest[at] & 15];
    }
}

/* Returns the value of a hexadecimal digit, or -1. */
static int
value_of(uint8_t digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    uint8_t letter = digit | 0x20;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

int
digest_from_hex(const uint8_t *digits, uint8_t digest[DIGEST_BYTES])
{
    int found = HEX_LOWER;
    for (int at = 0; at < DIGEST_BYTES; at++) {
        int high = value_of(digits[2 * at]), low = value_of(digits[2 * at + 1]);
        if (high < 0 || low < 0) {
            return HEX_NOT;
        }
        if ((high > 9 && digits[2 * at] < 'a') || (low > 9 && digits[2 * at + 1] < 'a')) {
            found = HEX_MIXED;
        }
        digest[at] = (uint8_t)(high << 4 | low);
    }
    return found;
}
