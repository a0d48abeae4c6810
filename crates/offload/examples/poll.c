/* Signs with the key under a label, many requests in flight, in a loop over poll:
 *
 *     cc poll.c $(pkg-config --cflags --libs cryptand-offload) && ./a.out HOME LABEL SCHEME REQUESTS DIGEST
 *
 * SCHEME and DIGEST are hexadecimal, SCHEME a code point of TLS such as 0804. It writes the public key (DER) and each signature in
 * hexadecimal, one a line. */
#include <cryptand-offload.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PUBLIC_KEY = 0, IN_FLIGHT = 64 };

static void failed(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void print(const struct cryptand_offload_result *result) {
    for (uint32_t at = 0; at < result->length; at++) printf("%02x", result->bytes[at]);
    putchar('\n');
}

int main(int count, char **given) {
    if (count != 6) failed("usage: poll HOME LABEL SCHEME REQUESTS DIGEST");
    unsigned scheme = (unsigned)strtoul(given[3], NULL, 16);
    long wanted = strtol(given[4], NULL, 10), asked = 0, answered = 0;
    uint8_t digest[64];
    size_t digest_bytes = strlen(given[5]) / 2;
    if (digest_bytes > sizeof digest) failed("a digest of at most 64 bytes");
    for (size_t at = 0; at < digest_bytes; at++) sscanf(given[5] + 2 * at, "%2hhx", &digest[at]);

    cryptand_offload offload;
    cryptand_offload_key_id key;
    if (cryptand_offload_open(given[1], NULL, NULL, 0, &offload) < 0) failed(cryptand_offload_text());
    if (cryptand_offload_key(offload, given[2], &key) < 0) failed(cryptand_offload_text());
    if (cryptand_offload_public_key(offload, PUBLIC_KEY, key) < 0) failed(cryptand_offload_text());
    /* A server watches its clients beside it. */
    struct pollfd watched = {.fd = cryptand_offload_descriptor(offload), .events = POLLIN};
    int is_known = 0;
    while (!is_known || answered < wanted) {
        while (asked < wanted && asked - answered < IN_FLIGHT) {
            asked++;
            if (cryptand_offload_sign(offload, (uint64_t)asked, key, scheme, digest, digest_bytes) < 0)
                failed(cryptand_offload_text());
        }
        struct cryptand_offload_result result;
        while (cryptand_offload_collect(offload, &result, sizeof result) == 1) {
            if (result.status != CRYPTAND_OFFLOAD_OK) failed(result.text);
            print(&result);
            if (result.id == PUBLIC_KEY) is_known = 1;
            else answered++;
        }
        if (asked - answered < IN_FLIGHT && asked < wanted) continue;
        if (cryptand_offload_arm(offload) == 1 && cryptand_offload_in_flight(offload) > 0) poll(&watched, 1, -1);
    }
    cryptand_offload_close(offload);
    return 0;
}
