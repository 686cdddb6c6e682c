/* Creates the keys of identifiers. A digest is its own key. A short string is kept unchanged,
 * with its length; a longer one is replaced with its digest. */
#include "identifiers.h"

#include <string.h>

#define MAX_SHORT_BYTES (DIGEST_BYTES - 1)

static PyObject *sha256_of_bytes; /* hashlib.sha256 */

int
find_text_digest(void)
{
    PyObject *hashlib = PyImport_ImportModule("hashlib");
    if (hashlib == NULL) {
        return -1;
    }
    Py_XSETREF(sha256_of_bytes, PyObject_GetAttrString(hashlib, "sha256"));
    Py_DECREF(hashlib);
    return sha256_of_bytes != NULL ? 0 : -1;
}

static int
digest_of_bytes(PyObject *bytes, uint8_t digest[DIGEST_BYTES])
{
    PyObject *hash = PyObject_CallOneArg(sha256_of_bytes, bytes);
    if (hash == NULL) {
        return -1;
    }
    PyObject *found = PyObject_CallMethod(hash, "digest", NULL);
    Py_DECREF(hash);
    if (found == NULL) {
        return -1;
    }
    int is_digest = PyBytes_Check(found) && PyBytes_GET_SIZE(found) == DIGEST_BYTES;
    if (is_digest) {
        memcpy(digest, PyBytes_AS_STRING(found), DIGEST_BYTES);
    } else {
        PyErr_SetString(PyExc_TypeError, "hashlib.sha256 did not return 32 bytes");
    }
    Py_DECREF(found);
    return is_digest ? 0 : -1;
}

static void
set_short_text(Key *key, const void *bytes, Py_ssize_t size)
{
    memset(key->bytes, 0, DIGEST_BYTES);
    memcpy(key->bytes, bytes, (size_t)size);
    key->bytes[MAX_SHORT_BYTES] = (uint8_t)size;
    key->form = KEY_SHORT_TEXT;
}

/* Creates the key of a string that is neither a digest nor short ASCII. */
static int
set_encoded_text(Key *key, PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (bytes == NULL) {
        return -1;
    }
    int status = 0;
    if (PyBytes_GET_SIZE(bytes) <= MAX_SHORT_BYTES) {
        set_short_text(key, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
    } else {
        key->form = KEY_LONG_TEXT;
        status = digest_of_bytes(bytes, key->bytes);
    }
    Py_DECREF(bytes);
    return status;
}

static int
set_text(Key *key, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (length == 0) {
        key->form = KEY_NONE;
        return 0;
    }
    if (!PyUnicode_IS_ASCII(text)) {
        return set_encoded_text(key, text);
    }
    const uint8_t *letters = PyUnicode_1BYTE_DATA(text);
    if (length <= MAX_SHORT_BYTES) {
        set_short_text(key, letters, length);
        return 0;
    }
    if (length == DIGEST_DIGITS && digest_from_hex(letters, key->bytes) == HEX_LOWER) {
        key->form = KEY_DIGEST;
        return 0;
    }
    return set_encoded_text(key, text);
}

int
key_of_text(PyObject *text, Key *key)
{
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "an identifier must be a str, not %.100s", Py_TYPE(text)->tp_name);
        return -1;
    }
    if (set_text(key, text) < 0) {
        return -1;
    }
    if (key->form != KEY_NONE) {
        hash_key(key);
    }
    return 0;
}

int
column_open(Column *column, PyObject *values)
{
    column->digests = NULL;
    column->texts = NULL;
    if (Digests_Check(values)) {
        column->owner = Py_NewRef(values);
        column->digests = (const Digests *)values;
        return 0;
    }
    column->owner = PySequence_Fast(values, "a column must be a sequence");
    column->texts = column->owner;
    return column->owner != NULL ? 0 : -1;
}

void
column_close(Column *column)
{
    Py_CLEAR(column->owner);
}

Py_ssize_t
column_length(const Column *column)
{
    return column->digests != NULL ? column->digests->count : PySequence_Fast_GET_SIZE(column->texts);
}

static void
key_of_digest(const Digests *digests, Py_ssize_t index, Key *key)
{
    key->form = KEY_NONE;
    if (digests->states[index] == CELL_DIGEST) {
        memcpy(key->bytes, digest_at(digests, index), DIGEST_BYTES);
        key->form = KEY_DIGEST;
        hash_key(key);
    }
}

int
key_of_cell(const Column *column, Py_ssize_t index, Key *key)
{
    key->form = KEY_NONE;
    if (index >= column_length(column)) {
        return 0;
    }
    if (column->digests != NULL) {
        key_of_digest(column->digests, index, key);
        return 0;
    }
    PyObject *text = Py_NewRef(PySequence_Fast_GET_ITEM(column->texts, index));
    int status = key_of_text(text, key);
    Py_DECREF(text);
    return status;
}
