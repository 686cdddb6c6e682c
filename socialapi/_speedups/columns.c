/* Columns of identifiers: checked, normalised and hashed.
 *
 * Only what is certain is decided here: texts that are plain are hashed as they stand, or in lower
 * case. Every other cell is left undecided, and Python looks at it.
 */
#include "digests.h"

#include <string.h>

/* What stands for no value --------------------------------------------------------------------- */

#define MAX_NULL_WORD 15
#define MAX_NULL_WORDS 32 /* of each size */
#define NULL_SLOTS 4096

/* Words that stand for no value, by their size. */
static struct {
    int count;
    uint8_t letters[MAX_NULL_WORDS][MAX_NULL_WORD];
} null_words[MAX_NULL_WORD + 1];

static uint16_t null_sizes[1024]; /* of the words with each first and last letter: a bit for each size */

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

/* The digests of such words and of an empty text. A quarter of the slots stays free. */
static struct {
    int count;
    uint8_t starts[1 << 13]; /* a bit for the first two bytes of each */
    uint8_t is_used[NULL_SLOTS];
    uint8_t digests[NULL_SLOTS][DIGEST_BYTES];
} null_digests;

static int
may_be_null(const uint8_t *digest)
{
    return null_digests.starts[digest[0] << 5 | digest[1] >> 3] >> (digest[1] & 7) & 1;
}

/* Returns the slot of a digest, which is free if the digest is not there. */
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

static uint8_t letter_roles[256]; /* of each letter, in either case */
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

/* Copies letters of a role in lower case; returns where others begin. */
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

/* A local part, one @, and at least two labels. */
static int
plain_email(const uint8_t *text, Py_ssize_t size, Message *message)
{
    if (text[0] == '\'') { /* a spreadsheet's, most probably */
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
    /* Nobody has an address in a domain that is never there. */
    return labels >= 2 && (size < NEVER_SIZE || memcmp(message->bytes + size - NEVER_SIZE, NEVER, NEVER_SIZE) != 0);
}

/* Phone numbers ------------------------------------------------------------------------------- */

#define ONE_DIGIT 5 /* so many digits at the end that are the same */
#define STARTS 1000 /* three digits behind a plus sign */
#define MAX_PREFIXES 10
#define MAX_PREFIX_DIGITS 6

/* What `phone_numbers.py` has found out about the numbers with such a start. */
typedef struct {
    uint32_t lengths; /* a bit for each length that the national number may have */
    uint8_t code_digits; /* of the country calling code; 0 if nothing is known */
    uint8_t prefixes;
    char prefix[MAX_PREFIXES][MAX_PREFIX_DIGITS + 1]; /* a national number with one may have to be changed */
} PhonePlan;

static PhonePlan phone_plans[STARTS];

static int
has_prefix(const PhonePlan *plan, const uint8_t *national, Py_ssize_t size)
{
    for (int each = 0; each < plan->prefixes; each++) {
        size_t digits = strlen(plan->prefix[each]);
        if ((size_t)size >= digits && memcmp(national, plan->prefix[each], digits) == 0) {
            return 1;
        }
    }
    return 0;
}

/* E.164 of a country that is known, with a length that is possible there. */
static int
plain_phone_number(const uint8_t *text, Py_ssize_t size, Message *message)
{
    if (size < 4 || size > 32 || text[0] != '+') {
        return 0;
    }
    for (Py_ssize_t at = 1; at < size; at++) {
        if (text[at] < '0' || text[at] > '9') {
            return 0;
        }
    }
    if (size > ONE_DIGIT && memcmp(text + size - ONE_DIGIT, text + size - ONE_DIGIT + 1, ONE_DIGIT - 1) == 0) {
        return 0; /* it may be one that stands for none */
    }
    const PhonePlan *plan = &phone_plans[(text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0'];
    Py_ssize_t national = size - 1 - plan->code_digits;
    if (plan->code_digits == 0 || !(plan->lengths >> national & 1)) {
        return 0;
    }
    if (has_prefix(plan, text + 1 + plan->code_digits, national)) {
        return 0;
    }
    memcpy(message->bytes, text, (size_t)size);
    message->size = (size_t)size;
    return 1;
}

/* Others -------------------------------------------------------------------------------------- */

#define UUID_CHARACTERS 36
#define MAX_HANDLE 15

/* A UUID with hyphens or without, or the 16 digits of an Android id, in lower case. Not one of the same digit alone. */
static int
plain_device_id(const uint8_t *text, Py_ssize_t size, Message *message)
{
    if (size != UUID_CHARACTERS && size != 32 && size != 16) {
        return 0;
    }
    int is_some = 0; /* two digits that differ */
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

/* A name in any case, with or without an @ before it. */
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

/* Of a kind of which digests alone are taken. */
static int
no_plain_text(const uint8_t *Py_UNUSED(text), Py_ssize_t Py_UNUSED(size), Message *Py_UNUSED(message))
{
    return 0;
}

/* Writes what is to be hashed of a text of 1 to MESSAGE_BYTES bytes. Returns 0 if that is not
 * certain; then anything may have been written. */
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
    PyErr_SetString(PyExc_ValueError, "there is no such kind of identifiers that is hashed");
    return NULL;
}

/* Columns ------------------------------------------------------------------------------------- */

static const Sha256 *sha256; /* the one in use */

typedef struct {
    Digests *column;
    Rule rule;
    Message messages[2]; /* two are hashed at once: the first one waits for the other */
    Py_ssize_t waiting;  /* the row of the first one; -1 if there is none */
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

/* Returns the state of the cell. Blanks around a text are no part of it. */
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
    /* Subclasses of str may mean anything. */
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

PyDoc_STRVAR(hash_column_doc,
"hash_column(cells, kind)\n\n"
"Returns the digests of the cells in a list or tuple, without blanks and tabs around them. Empty are an empty\n"
"text and None; undecided is whatever Python has to look at, and so everything that is no text.");

static PyObject *
hash_column(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *cells, *kind;
    if (!PyArg_ParseTuple(arguments, "OU:hash_column", &cells, &kind)) {
        return NULL;
    }
    Rule rule = rule_for(kind);
    if (rule == NULL) {
        return NULL;
    }
    if (!PyList_Check(cells) && !PyTuple_Check(cells)) {
        PyErr_SetString(PyExc_TypeError, "the cells are in a list or tuple");
        return NULL;
    }
    Digests *column = Digests_New(PySequence_Fast_GET_SIZE(cells));
    if (column == NULL) {
        return NULL;
    }
    Hasher hasher = {.column = column, .rule = rule, .waiting = -1};
    hash_objects(&hasher, PySequence_Fast_ITEMS(cells)); /* no code of Python runs meanwhile */
    hash_rest(&hasher);
    return (PyObject *)column;
}

/* Other functions ------------------------------------------------------------------------------ */

static int
set_prefixes(PhonePlan *plan, PyObject *prefixes)
{
    Py_ssize_t count = PyTuple_GET_SIZE(prefixes);
    if (count > MAX_PREFIXES) {
        PyErr_SetString(PyExc_ValueError, "the plan has more prefixes than there is room for");
        return -1;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t size;
        const char *digits = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(prefixes, at), &size);
        if (digits == NULL) {
            return -1;
        }
        if (size > MAX_PREFIX_DIGITS) {
            PyErr_SetString(PyExc_ValueError, "a prefix has more digits than there is room for");
            return -1;
        }
        memcpy(plan->prefix[at], digits, (size_t)size + 1);
    }
    plan->prefixes = (uint8_t)count;
    return 0;
}

PyDoc_STRVAR(add_phone_plan_doc,
"add_phone_plan(start, code_digits, lengths, prefixes)\n\n"
"Says of numbers with these three digits behind the plus sign how many are the calling code, which lengths\n"
"the rest may have (a bit for each), and with which prefixes Python has to look at it.");

static PyObject *
add_phone_plan(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    int start, code_digits;
    unsigned int lengths;
    PyObject *prefixes;
    if (!PyArg_ParseTuple(arguments, "iiIO!:add_phone_plan", &start, &code_digits, &lengths, &PyTuple_Type, &prefixes)) {
        return NULL;
    }
    if (start < 0 || start >= STARTS || code_digits < 1 || code_digits > 3) {
        PyErr_SetString(PyExc_ValueError, "a start has three digits, and a calling code one to three");
        return NULL;
    }
    PhonePlan plan = {.lengths = lengths, .code_digits = (uint8_t)code_digits};
    if (set_prefixes(&plan, prefixes) < 0) {
        return NULL;
    }
    phone_plans[start] = plan;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(add_null_word_doc,
"add_null_word(word)\n\n"
"Has every handle that is this word, which is in lower case, and every address that begins so left to Python.\n"
"A word of 64 hexadecimal digits is a digest: it is left to Python in every column.");

static int
add_null_digest(const uint8_t *letters)
{
    uint8_t digest[DIGEST_BYTES];
    if (digest_from_hex(letters, digest) == HEX_NOT || null_digests.count == NULL_SLOTS * 3 / 4) {
        PyErr_SetString(PyExc_ValueError, "there is no room for the digest, or it is none");
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
        PyErr_SetString(PyExc_TypeError, "a word is a text");
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
        PyErr_SetString(PyExc_ValueError, "there is no room for the word");
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
        PyErr_SetString(PyExc_ValueError, "a message has at most so many bytes as there is room for");
        return -1;
    }
    message->size = (size_t)PyBytes_GET_SIZE(bytes);
    memcpy(message->bytes, PyBytes_AS_STRING(bytes), message->size);
    message_pad(message);
    return 0;
}

PyDoc_STRVAR(sha256_pair_doc,
"sha256_pair(first, second, portable)\n\n"
"Returns the digests of two messages, hashed one by one and both at once, for tests: by the implementation\n"
"in use, or by the portable one.");

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
    {"add_phone_plan", add_phone_plan, METH_VARARGS, add_phone_plan_doc},
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
