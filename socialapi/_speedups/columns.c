/* Columns of identifiers: checked, normalized and hashed.
 *
 * Only clear cases are decided here: plain values are hashed unchanged or in lower case. All
 * other cells stay undecided, and Python decides them.
 */
#include "digests.h"

#include <string.h>

/* Placeholders ---------------------------------------------------------------------------------- */

#define MAX_NULL_WORD 15
#define MAX_NULL_WORDS 32 /* of each size */
#define NULL_SLOTS 4096

/* Placeholder words, by their size. */
static struct {
    int count;
    uint8_t letters[MAX_NULL_WORDS][MAX_NULL_WORD];
} null_words[MAX_NULL_WORD + 1];

static uint16_t null_sizes[1024]; /* for each first and last letter: a bit for each size of words */

static uint16_t *
sizes_of_words(const uint8_t *letters, size_t size)
{
    return &null_sizes[(letters[0] & 31) << 5 | (letters[size - 1] & 31)];
}

static int
is_null_word(const uint8_t *letters, size_t size)
{
    if (size > MAX_NULL_WORD || !(*sizes_of_words(letters, size) >> size & 1)) {
        return 0;
    }
    for (int each = 0; each < null_words[size].count; each++) {
        if (memcmp(null_words[size].letters[each], letters, size) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The digests of placeholders and of the empty string. A quarter of the slots stays free. */
static struct {
    int count;
    uint8_t starts[1 << 13]; /* a bit for the first two bytes of each digest */
    uint8_t is_used[NULL_SLOTS];
    uint8_t digests[NULL_SLOTS][DIGEST_BYTES];
} null_digests;

static int
may_be_null(const uint8_t *digest)
{
    return null_digests.starts[digest[0] << 5 | digest[1] >> 3] >> (digest[1] & 7) & 1;
}

/* Returns the slot of a digest, or the free slot for it if it is not in the table. */
static size_t
null_slot(const uint8_t *digest)
{
    size_t slot = ((size_t)digest[0] << 8 | digest[1]) % NULL_SLOTS;
    while (null_digests.is_used[slot] && memcmp(null_digests.digests[slot], digest, DIGEST_BYTES) != 0) {
        slot = (slot + 1) % NULL_SLOTS;
    }
    return slot;
}

/* E-mail addresses ---------------------------------------------------------------------------- */

enum { IN_LOCAL_PART = 1, IN_LABEL = 2, IN_HEX = 4 };

static uint8_t letter_roles[256]; /* for each letter in either case */
static uint8_t lower_case[256];

static void
fill_letters(void)
{
    for (int letter = 0; letter < 256; letter++) {
        lower_case[letter] = (uint8_t)(letter >= 'A' && letter <= 'Z' ? letter + 'a' - 'A' : letter);
    }
    for (const char *letter = "!#$%&'*+/=?^`{|}~."; *letter != '\0'; letter++) {
        letter_roles[(uint8_t)*letter] = IN_LOCAL_PART;
    }
    for (int letter = 0; letter < 128; letter++) {
        int low = lower_case[letter];
        if ((low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') || low == '_' || low == '-') {
            int is_hex = (low >= 'a' && low <= 'f') || (low >= '0' && low <= '9');
            letter_roles[letter] = (uint8_t)(IN_LOCAL_PART | IN_LABEL | (is_hex ? IN_HEX : 0));
        }
    }
}

/* Copies letters of a role in lower case. Returns the index of the first other letter. */
static Py_ssize_t
copy_letters(const uint8_t *text, Py_ssize_t at, Py_ssize_t size, int role, uint8_t *to)
{
    while (at < size && letter_roles[text[at]] & role) {
        to[at] = lower_case[text[at]];
        at++;
    }
    return at;
}

#define NEVER ".invalid"
#define NEVER_SIZE 8

/* Accepts a local part, one @, and at least two labels. */
static int
plain_email(const uint8_t *text, Py_ssize_t size, Message *message)
{
    if (text[0] == '\'' || text[0] == '#') { /* probably added by a spreadsheet, or a comment */
        return 0;
    }
    Py_ssize_t at = copy_letters(text, 0, size, IN_LOCAL_PART, message->bytes);
    if (at == 0 || at == size || text[at] != '@' || is_null_word(message->bytes, (size_t)at)) {
        return 0;
    }
    int labels = 0;
    while (at < size) {
        message->bytes[at] = text[at]; /* the @, or the dot before a label */
        Py_ssize_t end = copy_letters(text, at + 1, size, IN_LABEL, message->bytes);
        if (end == at + 1 || (end < size && text[end] != '.')) {
            return 0;
        }
        labels++;
        at = end;
    }
    message->size = (size_t)size;
    /* No address exists in a domain that is reserved as invalid. */
    return labels >= 2 && (size < NEVER_SIZE || memcmp(message->bytes + size - NEVER_SIZE, NEVER, NEVER_SIZE) != 0);
}

/* Phone numbers ------------------------------------------------------------------------------- */

#define ONE_DIGIT 5 /* the number of equal digits at the end of a placeholder */
#define STARTS 10000 /* of four digits */
#define START_DIGITS 4
#define MAX_DIGITS 31
#define MAX_PREFIX 4
#define REGIONS (27 * 27)

/* How numbers of a region are read, as determined by `phone_starts.py`. */
typedef struct {
    char prefix[MAX_PREFIX]; /* replaces the trunk prefix */
    uint8_t prefix_size;
    char trunk; /* 0 if there is no trunk prefix of one digit */
    uint32_t lengths[2][STARTS]; /* without and with the trunk prefix: a bit for each known length */
} PhonePlan;

static PhonePlan *phone_plans[REGIONS]; /* the first plan is for numbers with a plus sign; NULL for none */
static const PhonePlan *home_plan; /* the plan for the column that is being hashed */

/* Returns the known lengths for the first digits of a number with at least five digits. */
static const uint32_t *
lengths_of(const PhonePlan *plan, const uint8_t *digits)
{
    int skipped = *digits == plan->trunk, start = 0;
    for (int at = skipped; at < skipped + START_DIGITS; at++) {
        start = start * 10 + digits[at] - '0';
    }
    return &plan->lengths[skipped][start];
}

static int
is_digit(uint8_t letter)
{
    return letter >= '0' && letter <= '9';
}

/* Copies the digits between the usual separators. Returns their number, or 0 if the string may
 * be something else: two numbers separated by a slash, a number with the .0 of a spreadsheet, a
 * date, an amount, or an IP address. */
static Py_ssize_t
phone_digits(const uint8_t *text, Py_ssize_t size, uint8_t *digits)
{
    Py_ssize_t count = 0, before_slash = 0;
    int may_be_float = 0, dots = 0, hyphens = 0;
    for (Py_ssize_t at = *text == '+' || *text == '('; at < size; at++) {
        hyphens += text[at] == '-';
        if (is_digit(text[at])) {
            digits[count++] = text[at];
            may_be_float &= text[at] == '0';
        } else if (count == 0) {
            return 0;
        } else if (text[at] == '/' && count < 7 && before_slash == 0) {
            before_slash = count;
        } else if (text[at] == '.') {
            may_be_float = 1;
            dots++;
        } else if (memchr(" -()", text[at], 4) == NULL) {
            return 0;
        }
    }
    int may_be_amount = dots == 1 && size > 2 && text[size - 3] == '.';
    int may_be_other = *text != '+' && (dots == 3 || may_be_amount || ((dots == 2 || hyphens == 2) && count <= 8));
    int is_cut = may_be_other || may_be_float || !is_digit(text[size - 1]) || (before_slash > 0 && count - before_slash < ONE_DIGIT);
    return is_cut ? 0 : count;
}

/* Accepts a number whose first digits and length decide how it is read. */
static int
plain_phone_number(const uint8_t *text, Py_ssize_t size, Message *message)
{
    const PhonePlan *plan = *text == '+' ? phone_plans[0] : home_plan;
    uint8_t digits[MAX_DIGITS];
    Py_ssize_t count = plan == NULL || size > MAX_DIGITS ? 0 : phone_digits(text, size, digits);
    if (count <= START_DIGITS || !(*lengths_of(plan, digits) >> count & 1)) {
        return 0;
    }
    if (memcmp(digits + count - ONE_DIGIT, digits + count - ONE_DIGIT + 1, ONE_DIGIT - 1) == 0) {
        return 0; /* it may be a placeholder */
    }
    int skipped = *digits == plan->trunk;
    memcpy(message->bytes, plan->prefix, plan->prefix_size);
    memcpy(message->bytes + plan->prefix_size, digits + skipped, (size_t)(count - skipped));
    message->size = (size_t)(plan->prefix_size + count - skipped);
    return 1;
}

/* Other kinds --------------------------------------------------------------------------------- */

#define UUID_CHARACTERS 36
#define MAX_HANDLE 15

/* Accepts a UUID with or without hyphens, or the 16 digits of an Android id, in lower case,
 * unless all digits are the same. */
static int
plain_device_id(const uint8_t *text, Py_ssize_t size, Message *message)
{
    if (size != UUID_CHARACTERS && size != 32 && size != 16) {
        return 0;
    }
    int is_some = 0; /* whether two digits differ */
    for (Py_ssize_t at = 0; at < size; at++) {
        message->bytes[at] = lower_case[text[at]];
        if (size == UUID_CHARACTERS && (at == 8 || at == 13 || at == 18 || at == 23)) {
            if (text[at] != '-') {
                return 0;
            }
        } else if (!(letter_roles[text[at]] & IN_HEX)) {
            return 0;
        } else {
            is_some |= message->bytes[at] != message->bytes[0];
        }
    }
    message->size = (size_t)size;
    return is_some;
}

/* Accepts a name in any case, with or without a leading @. */
static int
plain_handle(const uint8_t *text, Py_ssize_t size, Message *message)
{
    Py_ssize_t marks = text[0] == '@';
    if (size == marks || size > marks + MAX_HANDLE) {
        return 0;
    }
    for (Py_ssize_t at = marks; at < size; at++) {
        if (!(letter_roles[text[at]] & IN_LABEL) || text[at] == '-') {
            return 0;
        }
        message->bytes[at - marks] = lower_case[text[at]];
    }
    message->size = (size_t)(size - marks);
    return !is_null_word(message->bytes, message->size);
}

static int
plain_service_id(const uint8_t *text, Py_ssize_t size, Message *message)
{
    int is_some = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        if (text[at] < '0' || text[at] > '9') {
            return 0;
        }
        is_some |= text[at] != '0';
        message->bytes[at] = text[at];
    }
    message->size = (size_t)size;
    return is_some;
}

/* Accepts nothing, for kinds that must be digests. */
static int
no_plain_text(const uint8_t *Py_UNUSED(text), Py_ssize_t Py_UNUSED(size), Message *Py_UNUSED(message))
{
    return 0;
}

/* Writes the bytes to hash for a string of 1 to MESSAGE_BYTES bytes. Returns 0 if it cannot
 * decide; the message is then undefined. */
typedef int (*Rule)(const uint8_t *text, Py_ssize_t size, Message *message);

static const struct {
    const char *kind;
    Rule rule;
} RULES[] = {
    {"email", plain_email},
    {"phone_number", plain_phone_number},
    {"device_id", plain_device_id},
    {"handle", plain_handle},
    {"service_id", plain_service_id},
    {"digest", no_plain_text},
};

static Rule
rule_for(PyObject *kind)
{
    for (size_t at = 0; at < sizeof(RULES) / sizeof(RULES[0]); at++) {
        if (PyUnicode_CompareWithASCIIString(kind, RULES[at].kind) == 0) {
            return RULES[at].rule;
        }
    }
    PyErr_SetString(PyExc_ValueError, "kind must be a hashed kind of identifiers");
    return NULL;
}

/* Columns ------------------------------------------------------------------------------------- */

static const Sha256 *sha256; /* the one in use */

typedef struct {
    Digests *column;
    Rule rule;
    Message messages[2]; /* hashed in pairs: the first message waits for the second */
    Py_ssize_t waiting;  /* the row of the first message; -1 if there is none */
} Hasher;

static uint8_t *
place_of(const Hasher *hasher, Py_ssize_t index)
{
    return hasher->column->digests + index * DIGEST_BYTES;
}

static void
hash_message(Hasher *hasher, Py_ssize_t index)
{
    if (hasher->waiting < 0) {
        message_pad(&hasher->messages[0]);
        hasher->waiting = index;
        return;
    }
    message_pad(&hasher->messages[1]);
    sha256_two(sha256, hasher->messages, place_of(hasher, hasher->waiting), place_of(hasher, index));
    hasher->waiting = -1;
}

static void
hash_rest(Hasher *hasher)
{
    if (hasher->waiting >= 0) {
        sha256_one(sha256, &hasher->messages[0], place_of(hasher, hasher->waiting));
    }
}

static int
is_blank(uint8_t letter)
{
    return letter == ' ' || letter == '\t';
}

/* Returns the state of the cell. Ignores blanks around the string. */
static int
hash_text(Hasher *hasher, Py_ssize_t index, const uint8_t *text, Py_ssize_t size)
{
    while (size > 0 && is_blank(text[size - 1])) {
        size--;
    }
    while (size > 0 && is_blank(*text)) {
        text++;
        size--;
    }
    if (size == 0) {
        return CELL_EMPTY;
    }
    if (size == DIGEST_DIGITS) {
        uint8_t given[DIGEST_BYTES];
        if (digest_from_hex(text, given) != HEX_NOT) {
            if (may_be_null(given) && null_digests.is_used[null_slot(given)]) {
                return CELL_UNDECIDED;
            }
            memcpy(place_of(hasher, index), given, DIGEST_BYTES);
            return CELL_DIGEST;
        }
    }
    if (size > MESSAGE_BYTES || !hasher->rule(text, size, &hasher->messages[hasher->waiting >= 0])) {
        return CELL_UNDECIDED;
    }
    hash_message(hasher, index);
    return CELL_DIGEST;
}

static int
hash_object(Hasher *hasher, Py_ssize_t index, PyObject *cell)
{
    if (cell == Py_None) {
        return CELL_EMPTY;
    }
    /* Subclasses of str may behave differently. */
    if (!PyUnicode_CheckExact(cell) || !PyUnicode_IS_COMPACT_ASCII(cell)) {
        return CELL_UNDECIDED;
    }
    return hash_text(hasher, index, PyUnicode_1BYTE_DATA(cell), PyUnicode_GET_LENGTH(cell));
}

static void
hash_objects(Hasher *hasher, PyObject *const *cells)
{
    for (Py_ssize_t at = 0; at < hasher->column->count; at++) {
        hasher->column->states[at] = (uint8_t)hash_object(hasher, at, cells[at]);
    }
}

/* Returns the index of a region's plan; 0 without a region, and -1 if it does not have two
 * capital letters. */
static int
place_of_region(const char *region)
{
    if (*region == '\0') {
        return 0;
    }
    int is_region = region[0] >= 'A' && region[0] <= 'Z' && region[1] >= 'A' && region[1] <= 'Z' && region[2] == '\0';
    return is_region ? (region[0] - 'A' + 1) * 27 + region[1] - 'A' + 1 : -1;
}

PyDoc_STRVAR(hash_column_doc,
"hash_column(cells, kind, region='')\n\n"
"Returns the digests of the cells in a list or tuple, ignoring blanks and tabs around them. An empty string and\n"
"None become empty cells. Cells that Python must decide, including all other types, stay undecided.");

static PyObject *
hash_column(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *cells, *kind;
    const char *region = "";
    if (!PyArg_ParseTuple(arguments, "OU|s:hash_column", &cells, &kind, &region)) {
        return NULL;
    }
    int place = place_of_region(region);
    home_plan = place > 0 ? phone_plans[place] : NULL;
    Rule rule = rule_for(kind);
    if (rule == NULL) {
        return NULL;
    }
    if (!PyList_Check(cells) && !PyTuple_Check(cells)) {
        PyErr_SetString(PyExc_TypeError, "cells must be a list or tuple");
        return NULL;
    }
    Digests *column = Digests_New(PySequence_Fast_GET_SIZE(cells));
    if (column == NULL) {
        return NULL;
    }
    Hasher hasher = {.column = column, .rule = rule, .waiting = -1};
    hash_objects(&hasher, PySequence_Fast_ITEMS(cells)); /* no Python code runs meanwhile */
    hash_rest(&hasher);
    return (PyObject *)column;
}

/* Other functions ------------------------------------------------------------------------------ */

PyDoc_STRVAR(add_phone_start_doc,
"add_phone_start(region, prefix, trunk, start, length)\n\n"
"Registers that phone numbers of this length with these first four digits are read in a region by adding a\n"
"prefix. A trunk prefix of one digit is removed from numbers that begin with it; their start has five digits.");

static PyObject *
add_phone_start(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *region, *prefix, *trunk, *start;
    Py_ssize_t prefix_size, trunk_size, start_size;
    int length, place;
    if (!PyArg_ParseTuple(arguments, "ss#s#s#i:add_phone_start", &region, &prefix, &prefix_size, &trunk, &trunk_size,
                          &start, &start_size, &length)) {
        return NULL;
    }
    if ((place = place_of_region(region)) >= 0 && phone_plans[place] != NULL && phone_plans[place]->trunk != *trunk) {
        place = -1; /* the start would have a different size than the plan's */
    }
    int skipped = trunk_size == 1 && *start == *trunk, is_fitting = start_size == skipped + START_DIGITS;
    for (Py_ssize_t at = 0; at < start_size; at++) {
        is_fitting &= is_digit((uint8_t)start[at]);
    }
    if (!is_fitting || length <= START_DIGITS || length > MAX_DIGITS || trunk_size > 1 || prefix_size < 1 ||
        prefix_size > MAX_PREFIX || place < 0) {
        PyErr_SetString(PyExc_ValueError, "a region must have two capital letters and one trunk prefix, and a start four digits");
        return NULL;
    }
    PhonePlan *plan = phone_plans[place];
    if (plan == NULL) {
        plan = phone_plans[place] = PyMem_Calloc(1, sizeof *plan);
        if (plan == NULL) {
            return PyErr_NoMemory();
        }
        memcpy(plan->prefix, prefix, (size_t)prefix_size);
        plan->prefix_size = (uint8_t)prefix_size;
        plan->trunk = *trunk;
    }
    *(uint32_t *)lengths_of(plan, (const uint8_t *)start) |= (uint32_t)1 << length;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(add_null_word_doc,
"add_null_word(word)\n\n"
"Registers a lower-case placeholder. Handles with this name, and addresses with this local part, stay undecided.\n"
"A word of 64 hexadecimal digits is a digest, which stays undecided in every column.");

static int
add_null_digest(const uint8_t *letters)
{
    uint8_t digest[DIGEST_BYTES];
    if (digest_from_hex(letters, digest) == HEX_NOT || null_digests.count == NULL_SLOTS * 3 / 4) {
        PyErr_SetString(PyExc_ValueError, "the digest is invalid, or there are too many");
        return -1;
    }
    size_t slot = null_slot(digest);
    null_digests.count += !null_digests.is_used[slot];
    null_digests.is_used[slot] = 1;
    null_digests.starts[digest[0] << 5 | digest[1] >> 3] |= (uint8_t)(1 << (digest[1] & 7));
    memcpy(null_digests.digests[slot], digest, DIGEST_BYTES);
    return 0;
}

static PyObject *
add_null_word(PyObject *Py_UNUSED(module), PyObject *word)
{
    if (!PyUnicode_Check(word)) {
        PyErr_SetString(PyExc_TypeError, "a word must be a string");
        return NULL;
    }
    Py_ssize_t size;
    const char *letters = PyUnicode_AsUTF8AndSize(word, &size);
    if (letters == NULL || (size == DIGEST_DIGITS && add_null_digest((const uint8_t *)letters) < 0)) {
        return NULL;
    }
    if (size == DIGEST_DIGITS) {
        Py_RETURN_NONE;
    }
    if (size < 1 || size > MAX_NULL_WORD || null_words[size].count == MAX_NULL_WORDS) {
        PyErr_SetString(PyExc_ValueError, "the word is empty or too long, or there are too many");
        return NULL;
    }
    if (!is_null_word((const uint8_t *)letters, (size_t)size)) {
        memcpy(null_words[size].letters[null_words[size].count++], letters, (size_t)size);
        *sizes_of_words((const uint8_t *)letters, (size_t)size) |= (uint16_t)(1 << size);
    }
    Py_RETURN_NONE;
}

static PyObject *
sha256_implementation(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromString(sha256_name(sha256));
}

static int
message_of(PyObject *bytes, Message *message)
{
    if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) > MESSAGE_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a message is too long");
        return -1;
    }
    message->size = (size_t)PyBytes_GET_SIZE(bytes);
    memcpy(message->bytes, PyBytes_AS_STRING(bytes), message->size);
    message_pad(message);
    return 0;
}

PyDoc_STRVAR(sha256_pair_doc,
"sha256_pair(first, second, portable)\n\n"
"Returns the digests of two messages, hashed one by one and both at once, with the implementation in use or\n"
"the portable one. For tests.");

static PyObject *
sha256_pair(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *first, *second;
    int portable;
    Message messages[2];
    uint8_t digests[4][DIGEST_BYTES];
    if (!PyArg_ParseTuple(arguments, "OOp:sha256_pair", &first, &second, &portable)) {
        return NULL;
    }
    if (message_of(first, &messages[0]) < 0 || message_of(second, &messages[1]) < 0) {
        return NULL;
    }
    const Sha256 *asked_for = portable ? sha256_portable() : sha256;
    sha256_one(asked_for, &messages[0], digests[0]);
    sha256_one(asked_for, &messages[1], digests[1]);
    sha256_two(asked_for, messages, digests[2], digests[3]);
    return PyBytes_FromStringAndSize((const char *)digests, sizeof(digests));
}

static PyMethodDef functions[] = {
    {"hash_column", hash_column, METH_VARARGS, hash_column_doc},
    {"add_phone_start", add_phone_start, METH_VARARGS, add_phone_start_doc},
    {"add_null_word", add_null_word, METH_O, add_null_word_doc},
    {"sha256_implementation", sha256_implementation, METH_NOARGS, "Returns the name of the SHA-256 in use."},
    {"sha256_pair", sha256_pair, METH_VARARGS, sha256_pair_doc},
    {NULL, NULL, 0, NULL},
};

int
add_columns(PyObject *module)
{
    fill_letters();
    sha256 = sha256_fastest();
    return PyModule_AddFunctions(module, functions);
}
