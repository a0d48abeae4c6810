/* What a shell sends of 17 bits, and of tokens that say how long they are. */
#include "cca.h"
#include "shell.h"

#include <stdlib.h>
#include <string.h>

static unsigned char sent[256];
static size_t sent_bytes;

int cryptand_carry(uint16_t verb, const unsigned char *request, size_t request_bytes, long codes[2],
    unsigned char **reply, size_t *reply_bytes)
{
    (void)verb, (void)codes, (void)reply, (void)reply_bytes;
    sent_bytes = request_bytes <= sizeof sent ? request_bytes : 0;
    memcpy(sent, request, sent_bytes);
    return 1;
}

/* Whether so many bytes of a token that begins so are sent. */
static int sends(const char *head, size_t length)
{
    const long bit_length = 17;
    long return_code = -1, reason_code = -1;
    unsigned char token[80] = {0};
    unsigned char *bits = malloc(3);
    unsigned char *exact = malloc(length);
    int is_right;

    memcpy(token, head, 8);
    memcpy(exact, token, length);
    memcpy(bits, "abc", 3);
    EXAMPLE(&return_code, &reason_code, NULL, NULL, &bit_length, bits, exact);
    is_right = return_code == 0 && reason_code == 0 && sent_bytes == 8 + (4 + 3) + (4 + length) && sent[0] == 17
        && sent[8] == 3 && memcmp(sent + 12, "abc", 3) == 0 && sent[15] == length
        && memcmp(sent + 19, token, length) == 0;
    free(bits);
    free(exact);
    return is_right;
}

int main(void)
{
    return sends("\x1E\0\0\x49\0\0\0\0", 73) && sends("\x1F\0\0\x0C\0\0\0\0", 12) && sends("\x01\0\0\x48\5\0\0\0", 72)
            && sends("\x01\0\0\x48\0\0\0\0", 64) && sends("A.LABEL ", 64)
        ? 0
        : 1;
}
