/* Requests go out on standard output, answers come in on standard input: verb (2 bytes), length (4), payload; return code (4), reason
   code (4), length (4), payload; all of this machine's byte order. */
#include "shell.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int send_all(const unsigned char *bytes, size_t length)
{
    while (length != 0) {
        const ssize_t sent = write(1, bytes, length);
        if (sent <= 0)
            return 0;
        bytes += sent;
        length -= (size_t)sent;
    }
    return 1;
}

static int receive_all(void *bytes, size_t length)
{
    unsigned char *at = bytes;
    while (length != 0) {
        const ssize_t got = read(0, at, length);
        if (got <= 0)
            return 0;
        at += got;
        length -= (size_t)got;
    }
    return 1;
}

int cryptand_carry(uint16_t verb, const unsigned char *request, size_t request_bytes, long codes[2],
    unsigned char **reply, size_t *reply_bytes)
{
    unsigned char head[6];
    const uint32_t length = (uint32_t)request_bytes;
    int32_t answer[3];

    memcpy(head, &verb, 2);
    memcpy(head + 2, &length, 4);
    if (!send_all(head, sizeof head) || !send_all(request, request_bytes) || !receive_all(answer, sizeof answer))
        return 0;
    codes[0] = answer[0];
    codes[1] = answer[1];
    *reply_bytes = (size_t)answer[2];
    *reply = malloc(*reply_bytes + 1);
    return *reply != NULL && receive_all(*reply, *reply_bytes);
}
