/* SHA-256 of short messages (FIPS 180-4): portable, and with the instructions of x86-64 or ARMv8.
 *
 * The instructions mostly wait for each other's results, so two messages at once take little longer
 * than one.
 */
#include "sha256.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_X86 1
#include <cpuid.h>
#include <immintrin.h>
/* Clang's header has the intrinsics only if the entire file is compiled for them, as on Apple's
 * processors. */
#elif defined(__aarch64__) && !defined(__AARCH64EB__) && defined(__GNUC__) && \
    (defined(__ARM_FEATURE_SHA2) || defined(__ARM_FEATURE_CRYPTO) || !defined(__clang__))
#define HAS_ARM 1
#include <arm_neon.h>
#ifdef __linux__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#endif

static const uint32_t INITIAL_STATE[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static const uint32_t ROUND_CONSTANTS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

typedef struct {
    uint32_t words[8];
} State;

/* Adds a block to the state of its message. CompressTwo takes one block for each of two states. */
typedef void (*CompressOne)(State *state, const uint8_t *block);
typedef void (*CompressTwo)(State states[2], const uint8_t *const blocks[2]);

/* Portable ------------------------------------------------------------------------------------ */

static uint32_t
load_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void
store_word(uint8_t *bytes, uint32_t word)
{
    bytes[0] = (uint8_t)(word >> 24);
    bytes[1] = (uint8_t)(word >> 16);
    bytes[2] = (uint8_t)(word >> 8);
    bytes[3] = (uint8_t)word;
}

static inline uint32_t
rotate(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

/* Computes the words for the 64 rounds: 16 from the block, and 48 derived from them. */
static void
expand(const uint8_t *block, uint32_t words[64])
{
    for (int at = 0; at < 16; at++) {
        words[at] = load_word(block + 4 * at);
    }
    for (int at = 16; at < 64; at++) {
        uint32_t early = words[at - 15], late = words[at - 2];
        uint32_t sigma0 = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3;
        uint32_t sigma1 = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10;
        words[at] = words[at - 16] + sigma0 + words[at - 7] + sigma1;
    }
}

static void
compress_one_portable(State *state, const uint8_t *block)
{
    uint32_t words[64];
    expand(block, words);
    uint32_t a = state->words[0], b = state->words[1], c = state->words[2], d = state->words[3];
    uint32_t e = state->words[4], f = state->words[5], g = state->words[6], h = state->words[7];
    for (int round = 0; round < 64; round++) {
        uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t first = h + sum1 + choice + ROUND_CONSTANTS[round] + words[round];
        uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + sum0 + majority;
    }
    const uint32_t changed[8] = {a, b, c, d, e, f, g, h};
    for (int at = 0; at < 8; at++) {
        state->words[at] += changed[at];
    }
}

static void
compress_two_portable(State states[2], const uint8_t *const blocks[2])
{
    compress_one_portable(&states[0], blocks[0]);
    compress_one_portable(&states[1], blocks[1]);
}

/* By the SHA extensions of x86-64 ------------------------------------------------------------- */

#ifdef HAS_X86

#define SHA_NAME "SHA-256 by the instructions of x86-64"
#define FOR_SHA __attribute__((target("sha,sse4.1,ssse3")))

/* A message during the rounds. The instructions need the state in this order, with the first
 * letter in the highest position. `words` are the sixteen words for the next rounds. */
typedef struct {
    __m128i abef, cdgh, words[4];
} Lane;

FOR_SHA static inline void
load_lane(Lane *lane, const State *state, const uint8_t *block)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state->words[0]), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state->words[4]), 0x1b);
    lane->abef = _mm_alignr_epi8(cdab, efgh, 8);
    lane->cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (int at = 0; at < 4; at++) {
        __m128i four = _mm_loadu_si128((const __m128i *)(block + 16 * at));
        lane->words[at] = _mm_shuffle_epi8(four, big_endian);
    }
}

/* Rounds 4 * step to 4 * step + 3, and the words of four later rounds. */
FOR_SHA static inline void
four_rounds(Lane *lane, int step)
{
    __m128i *now = &lane->words[step & 3], *last = &lane->words[(step + 3) & 3];
    __m128i constants = _mm_loadu_si128((const __m128i *)&ROUND_CONSTANTS[4 * step]);
    __m128i sum = _mm_add_epi32(*now, constants);
    lane->cdgh = _mm_sha256rnds2_epu32(lane->cdgh, lane->abef, sum);
    lane->abef = _mm_sha256rnds2_epu32(lane->abef, lane->cdgh, _mm_shuffle_epi32(sum, 0x0e));
    if (step < 12) {
        __m128i next = _mm_sha256msg1_epu32(*now, lane->words[(step + 1) & 3]);
        next = _mm_add_epi32(next, _mm_alignr_epi8(*last, lane->words[(step + 2) & 3], 4));
        *now = _mm_sha256msg2_epu32(next, *last);
    }
}

FOR_SHA static inline void
store_lane(const Lane *lane, State *state)
{
    __m128i feba = _mm_shuffle_epi32(lane->abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(lane->cdgh, 0xb1);
    __m128i *low = (__m128i *)&state->words[0], *high = (__m128i *)&state->words[4];
    _mm_storeu_si128(low, _mm_add_epi32(_mm_loadu_si128(low), _mm_blend_epi16(feba, dchg, 0xf0)));
    _mm_storeu_si128(high, _mm_add_epi32(_mm_loadu_si128(high), _mm_alignr_epi8(dchg, feba, 8)));
}

/* Queries the processor, because `__builtin_cpu_supports` supports "sha" only since GCC 11. */
static int
has_sha_instructions(void)
{
    unsigned int eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_SSSE3) || !(ecx & bit_SSE4_1)) {
        return 0;
    }
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_SHA);
}

#endif

/* By the SHA instructions of ARMv8 ------------------------------------------------------------ */

#ifdef HAS_ARM

#define SHA_NAME "SHA-256 by the instructions of ARMv8"
#ifdef __clang__
#define FOR_SHA
#else
#define FOR_SHA __attribute__((target("+crypto")))
#endif

/* A message during the rounds. `words` are the sixteen words for the next rounds. */
typedef struct {
    uint32x4_t abcd, efgh, words[4];
} Lane;

FOR_SHA static inline void
load_lane(Lane *lane, const State *state, const uint8_t *block)
{
    lane->abcd = vld1q_u32(&state->words[0]);
    lane->efgh = vld1q_u32(&state->words[4]);
    for (int at = 0; at < 4; at++) {
        lane->words[at] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(block + 16 * at)));
    }
}

/* Rounds 4 * step to 4 * step + 3, and the words of four later rounds. */
FOR_SHA static inline void
four_rounds(Lane *lane, int step)
{
    uint32x4_t *now = &lane->words[step & 3], abcd = lane->abcd;
    uint32x4_t sum = vaddq_u32(*now, vld1q_u32(&ROUND_CONSTANTS[4 * step]));
    lane->abcd = vsha256hq_u32(abcd, lane->efgh, sum);
    lane->efgh = vsha256h2q_u32(lane->efgh, abcd, sum);
    if (step < 12) {
        uint32x4_t next = vsha256su0q_u32(*now, lane->words[(step + 1) & 3]);
        *now = vsha256su1q_u32(next, lane->words[(step + 2) & 3], lane->words[(step + 3) & 3]);
    }
}

FOR_SHA static inline void
store_lane(const Lane *lane, State *state)
{
    vst1q_u32(&state->words[0], vaddq_u32(vld1q_u32(&state->words[0]), lane->abcd));
    vst1q_u32(&state->words[4], vaddq_u32(vld1q_u32(&state->words[4]), lane->efgh));
}

static int
has_sha_instructions(void)
{
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_SHA2) != 0;
#elif defined(__APPLE__)
    return 1; /* all 64-bit processors of Apple have them */
#else
    return 0;
#endif
}

#endif

#ifdef SHA_NAME

FOR_SHA static void
compress_one_by_instructions(State *state, const uint8_t *block)
{
    Lane lane;
    load_lane(&lane, state, block);
#pragma GCC unroll 16
    for (int step = 0; step < 16; step++) {
        four_rounds(&lane, step);
    }
    store_lane(&lane, state);
}

FOR_SHA static void
compress_two_by_instructions(State states[2], const uint8_t *const blocks[2])
{
    Lane first, second;
    load_lane(&first, &states[0], blocks[0]);
    load_lane(&second, &states[1], blocks[1]);
#pragma GCC unroll 16
    for (int step = 0; step < 16; step++) {
        four_rounds(&first, step);
        four_rounds(&second, step);
    }
    store_lane(&first, &states[0]);
    store_lane(&second, &states[1]);
}

#endif

/* Whole messages ------------------------------------------------------------------------------ */

struct Sha256 {
    const char *name;
    CompressOne compress_one;
    CompressTwo compress_two;
};

static const Sha256 portable = {"portable SHA-256", compress_one_portable, compress_two_portable};
#ifdef SHA_NAME
static const Sha256 by_instructions = {SHA_NAME, compress_one_by_instructions, compress_two_by_instructions};
#endif

const Sha256 *
sha256_fastest(void)
{
#ifdef SHA_NAME
    if (has_sha_instructions()) {
        return &by_instructions;
    }
#endif
    return &portable;
}

const Sha256 *
sha256_portable(void)
{
    return &portable;
}

const char *
sha256_name(const Sha256 *sha256)
{
    return sha256->name;
}

void
message_pad(Message *message)
{
    size_t size = message->size;
    message->blocks = (int)((size + 9 + BLOCK_BYTES - 1) / BLOCK_BYTES);
    uint8_t *end = message->bytes + message->blocks * BLOCK_BYTES;
    memset(message->bytes + size, 0, (size_t)(end - message->bytes) - size);
    message->bytes[size] = 0x80;
    store_word(end - 4, (uint32_t)(size * 8));
}

static void
store_digest(const State *state, uint8_t *digest)
{
    for (int at = 0; at < 8; at++) {
        store_word(digest + 4 * at, state->words[at]);
    }
}

static void
start(State *state)
{
    memcpy(state->words, INITIAL_STATE, sizeof(INITIAL_STATE));
}

static void
finish_one(const Sha256 *sha256, State *state, const Message *message, int from, uint8_t *digest)
{
    for (int block = from; block < message->blocks; block++) {
        sha256->compress_one(state, message->bytes + block * BLOCK_BYTES);
    }
    store_digest(state, digest);
}

void
sha256_one(const Sha256 *sha256, const Message *message, uint8_t *digest)
{
    State state;
    start(&state);
    finish_one(sha256, &state, message, 0, digest);
}

void
sha256_two(const Sha256 *sha256, const Message messages[2], uint8_t *first, uint8_t *second)
{
    State states[2];
    start(&states[0]);
    start(&states[1]);
    int both = messages[0].blocks < messages[1].blocks ? messages[0].blocks : messages[1].blocks;
    for (int block = 0; block < both; block++) {
        const uint8_t *const blocks[2] = {
            messages[0].bytes + block * BLOCK_BYTES,
            messages[1].bytes + block * BLOCK_BYTES,
        };
        sha256->compress_two(states, blocks);
    }
    finish_one(sha256, &states[0], &messages[0], both, first);
    finish_one(sha256, &states[1], &messages[1], both, second);
}

/* Hexadecimal digits -------------------------------------------------------------------------- */

static inline char
digit_of(uint8_t value)
{
    return (char)(value + '0' + (value > 9 ? 'a' - '0' - 10 : 0)); /* without a table: vectorized */
}

void
digest_to_hex(const uint8_t *digest, char *digits)
{
    for (int at = 0; at < DIGEST_BYTES; at++) {
        digits[2 * at] = digit_of(digest[at] >> 4);
        digits[2 * at + 1] = digit_of(digest[at] & 15);
    }
}

/* The loops have no branches, so that compilers can vectorize them. */
int
digest_from_hex(const uint8_t *digits, uint8_t *digest)
{
    uint8_t values[DIGEST_DIGITS], is_wrong = 0, is_upper = 0;
    for (int at = 0; at < DIGEST_DIGITS; at++) {
        uint8_t digit = digits[at];
        uint8_t is_number = (uint8_t)(digit - '0') < 10;
        uint8_t is_letter = (uint8_t)((digit | 0x20) - 'a') < 6;
        values[at] = (uint8_t)((digit & 15) + 9 * is_letter);
        is_wrong |= !(is_number | is_letter);
        is_upper |= is_letter & (digit < 'a');
    }
    for (int at = 0; at < DIGEST_BYTES; at++) {
        digest[at] = (uint8_t)(values[2 * at] << 4 | values[2 * at + 1]);
    }
    return is_wrong ? HEX_NOT : is_upper ? HEX_MIXED : HEX_LOWER;
}
