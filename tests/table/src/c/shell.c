#include "shell.h"

#include "bounds.h"
#include <stdlib.h>
#include <string.h>

static void refuse(struct shell_call *call, long return_code, long reason_code)
{
    if (!call->is_refused) {
        call->is_refused = 1;
        call->codes[0] = return_code;
        call->codes[1] = reason_code;
    }
}

size_t shell_by(const long *bytes)
{
    return bytes == NULL || *bytes < 0 || *bytes > FIELD_BYTES_MAX ? 0 : (size_t)*bytes;
}

size_t shell_bits(const long *bits)
{
    return bits == NULL || *bits < 0 || *bits > 8L * FIELD_BYTES_MAX ? 0 : ((size_t)*bits + 7) / 8;
}

size_t shell_padded(const long *bytes, size_t block)
{
    const size_t text = shell_by(bytes);
    return block == 0 ? text : (text / block + 1) * block;
}

size_t shell_keywords(const long *count)
{
    return count == NULL || *count < 0 || *count > KEYWORDS_MAX ? 0 : (size_t)*count * KEYWORD_BYTES;
}

size_t shell_longer(size_t one, size_t other)
{
    return one > other ? one : other;
}

/* A PKA token and a variable-length symmetric one say their length; any other, and a label, has that of a label. */
size_t shell_own(const unsigned char *token)
{
    if (token == NULL)
        return 0;
    if (token[0] == 0x1E || token[0] == 0x1F || ((token[0] == 0x01 || token[0] == 0x02) && token[4] == 0x05))
        return (size_t)token[2] << 8 | token[3];
    return LABEL_BYTES;
}

int shell_has(const unsigned char *rule_array, size_t rule_array_bytes, const char *keyword)
{
    for (size_t at = 0; rule_array != NULL && at < rule_array_bytes; at += KEYWORD_BYTES)
        if (memcmp(rule_array + at, keyword, KEYWORD_BYTES) == 0)
            return 1;
    return 0;
}

/* Wipes what a compiler may take for dead. */
static void wipe(void *memory, size_t bytes)
{
    volatile unsigned char *byte = memory;
    while (bytes-- > 0)
        *byte++ = 0;
}

static void release(struct shell_call *call)
{
    if (call->is_secret && call->bytes != NULL)
        wipe(call->bytes, call->length);
    free(call->bytes);
    call->bytes = NULL;
}

void shell_begin(struct shell_call *call, uint16_t verb, int is_secret, size_t request_bytes)
{
    memset(call, 0, sizeof *call);
    call->verb = verb;
    call->is_secret = is_secret;
    call->length = request_bytes;
    call->bytes = malloc(request_bytes + 1);
    if (call->bytes == NULL)
        refuse(call, NO_CARD);
}

void shell_need(struct shell_call *call, const void *field, size_t bytes, enum shell_null null)
{
    if (field == NULL && (null == NULL_REFUSED || (null == NULL_EMPTY && bytes != 0)))
        refuse(call, NULL_POINTER);
}

static void put(struct shell_call *call, uint64_t value, size_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        call->bytes[call->at++] = (unsigned char)value;
}

void shell_put_integer(struct shell_call *call, const long *value, enum shell_null null)
{
    shell_need(call, value, INTEGER_BYTES, null);
    if (!call->is_refused)
        put(call, null == NULL_IGNORED ? 0 : (uint64_t)(int64_t)*value, INTEGER_BYTES);
}

void shell_put_bytes(struct shell_call *call, const unsigned char *field, size_t bytes, enum shell_null null)
{
    shell_need(call, field, bytes, null);
    if (call->is_refused)
        return;
    put(call, bytes, LENGTH_BYTES);
    if (bytes != 0)
        memcpy(call->bytes + call->at, field, bytes);
    call->at += bytes;
}

int shell_carry(struct shell_call *call)
{
    unsigned char *reply = NULL;
    size_t reply_bytes = 0;

    if (call->is_refused)
        return 0;
    if (!cryptand_carry(call->verb, call->bytes, call->length, call->codes, &reply, &reply_bytes)) {
        refuse(call, NO_CARD);
        return 0;
    }
    release(call);
    call->bytes = reply;
    call->length = reply_bytes;
    call->at = 0;
    return reply_bytes != 0;
}

static uint64_t get(struct shell_call *call, size_t bytes)
{
    uint64_t value = 0;
    if (bytes > call->length - call->at) {
        refuse(call, NO_CARD);
        return 0;
    }
    for (size_t index = 0; index < bytes; index++)
        value |= (uint64_t)call->bytes[call->at++] << (8 * index);
    return value;
}

void shell_get_integer(struct shell_call *call, long *value)
{
    const uint64_t got = get(call, INTEGER_BYTES);
    if (!call->is_refused)
        *value = (long)(int64_t)got;
}

void shell_get_bytes(struct shell_call *call, unsigned char *field, size_t bytes)
{
    const size_t got = (size_t)get(call, LENGTH_BYTES);
    if (got > call->length - call->at)
        refuse(call, NO_CARD);
    else if (got > bytes)
        refuse(call, TOO_SMALL);
    if (call->is_refused)
        return;
    if (got != 0)
        memcpy(field, call->bytes + call->at, got);
    call->at += got;
}

void shell_end(struct shell_call *call, long *return_code, long *reason_code)
{
    release(call);
    if (return_code != NULL)
        *return_code = call->codes[0];
    if (reason_code != NULL)
        *reason_code = call->codes[1];
}
