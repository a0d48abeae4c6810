/* Threads with a handle and a key each: HOME THREADS REQUESTS LABEL... It writes lines of a label's number, the number of
   a request and the answer: of request 0 the public key, of each other one a signature of the digest whose first half is
   the label's number in each byte, and whose second half the request's. Each thread ends after its requests, and another
   one goes on with the key; the program ends with 0 if none left a descriptor behind. */
#define _GNU_SOURCE
#include <cryptand-offload.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 32, IN_FLIGHT = 4, TURNS = 3, DIGEST = 32 };

static const char *home;
static long requests;

static struct worker {
    pthread_t id;
    int number;
    const char *label;
    uint64_t first;
} workers[THREADS_MAX];

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s: %s\n", what, cryptand_offload_text());
    exit(1);
}

static void print(const struct worker *own, const struct cryptand_offload_result *result) {
    must(result->status == CRYPTAND_OFFLOAD_OK, result->text);
    flockfile(stdout);
    printf("%d %lu ", own->number, (unsigned long)result->id);
    for (uint32_t at = 0; at < result->length; at++) printf("%02x", result->bytes[at]);
    putchar('\n');
    funlockfile(stdout);
}

static void *works(void *given) {
    struct worker *own = given;
    struct cryptand_offload_result result;
    uint8_t digest[DIGEST];
    cryptand_offload handle;
    cryptand_offload_key_id key;
    uint64_t next = own->first, end = own->first + (uint64_t)requests, outstanding = 0;
    must(cryptand_offload_open(home, NULL, NULL, 0, &handle) == 0, "open");
    must(cryptand_offload_key(handle, own->label, &key) == 0, own->label);
    if (next == 0) {
        must(cryptand_offload_public_key(handle, next++, key) == 0, "ask for the public key");
        outstanding++;
    }
    struct pollfd watched = {.fd = cryptand_offload_descriptor(handle), .events = POLLIN};
    while (next < end || outstanding > 0) {
        for (; next < end && outstanding < IN_FLIGHT; next++, outstanding++) {
            memset(digest, own->number, DIGEST / 2);
            memset(digest + DIGEST / 2, (int)next, DIGEST / 2);
            must(cryptand_offload_sign(handle, next, key, 0x0403, digest, DIGEST) == 0, "sign");
        }
        for (; cryptand_offload_collect(handle, &result, sizeof result) == 1; outstanding--) print(own, &result);
        if (outstanding == IN_FLIGHT && cryptand_offload_arm(handle) == 1) poll(&watched, 1, -1);
        if (next == end && outstanding > 0) cryptand_offload_wait(handle, -1);
    }
    must(cryptand_offload_close(handle) == 0, "close");
    return NULL;
}

static long descriptors(void) {
    long count = 0;
    for (int number = 0; number < 1024; number++) count += fcntl(number, F_GETFD) != -1;
    return count;
}

int main(int count, char **given) {
    int threads = count > 3 ? atoi(given[2]) : 0;
    if (threads < 1 || threads > THREADS_MAX || count != 4 + threads) return 2;
    home = given[1];
    requests = atol(given[3]);
    long before = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int at = 0; at < threads; at++) {
            struct worker *own = &workers[at];
            own->number = at;
            own->label = given[4 + at];
            own->first = (uint64_t)(turn * requests);
            must(pthread_create(&own->id, NULL, works, own) == 0, "pthread_create");
        }
        for (int at = 0; at < threads; at++) pthread_join(workers[at].id, NULL);
        if (turn == 0) before = descriptors();
    }
    return descriptors() != before;
}
