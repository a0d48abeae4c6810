/* What programs in C do to the library: HOME RSA_LABEL P256_LABEL. It ends with 0 if everything was answered as the header says. */
#define _GNU_SOURCE
#include <cryptand-offload.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(expected, call) expect(__LINE__, #call, expected, call)

static const char *home;
static uint8_t digest[64];
static struct cryptand_offload_result result;

static void expect(int line, const char *call, long expected, long found) {
    if (expected == found) return;
    fprintf(stderr, "host.c:%d: %s is %ld, not %ld; %s\n", line, call, found, expected, cryptand_offload_text());
    exit(1);
}

static void expect_text(int line, const char *text, const char *part) {
    if (strstr(text, part)) return;
    fprintf(stderr, "host.c:%d: %s lacks %s\n", line, text, part);
    exit(1);
}

static cryptand_offload opened(void) {
    cryptand_offload handle;
    EXPECT(0, cryptand_offload_open(home, "", NULL, 0, &handle));
    return handle;
}

/* The next result. */
static void next(cryptand_offload handle) {
    while (cryptand_offload_collect(handle, &result, sizeof result) == 0) cryptand_offload_wait(handle, -1);
}

static void arguments(const char *rsa, const char *p256) {
    cryptand_offload one = opened(), two = opened(), none = 7;
    cryptand_offload_key_id key, other, same;
    EXPECT(1, cryptand_offload_abi());
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_open(home, "", NULL, 0, NULL));
    EXPECT(CRYPTAND_OFFLOAD_HOME, cryptand_offload_open("/nowhere", "", NULL, 0, &none));
    EXPECT(1, none == 0);
    expect_text(__LINE__, cryptand_offload_text(), "/nowhere");
    EXPECT(CRYPTAND_OFFLOAD_HOME, cryptand_offload_open(home, "/nowhere/credential", NULL, 0, &none));
    expect_text(__LINE__, cryptand_offload_text(), "/nowhere/credential");
    struct { struct cryptand_offload_options options; uint32_t more; } options = {{0, 2, 0, 0}, 0};
    options.more = 1;
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_open(home, "", &options.options, sizeof options, &none));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_open(home, "", &options.options, 0, &none));
    options.options.in_flight_max = 16385;
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_open(home, "", &options.options, sizeof options.options, &none));
    options.options.in_flight_max = 2;
    options.options.domain = 65536;
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_open(home, "", &options.options, sizeof options.options, &none));

    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_key(one, NULL, &key));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_key(one, rsa, NULL));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_key(one, "", &key));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_key(one, "no label", &key));
    char longest[66];
    memset(longest, 'A', sizeof longest);
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_key(one, longest, &key));
    EXPECT(0, cryptand_offload_key(one, rsa, &key));
    EXPECT(0, cryptand_offload_key(one, rsa, &same));
    EXPECT(1, key == same);
    EXPECT(0, cryptand_offload_key(two, rsa, &other));
    EXPECT(0, cryptand_offload_key(one, p256, &same));

    cryptand_offload wrong[] = {0, 1, 255, one + 1, two + 256, UINT64_MAX};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_descriptor(wrong[at]));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_sign(wrong[at], 1, key, 0x0804, digest, 32));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_premaster(wrong[at], 1, key, digest, 32));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_public_key(wrong[at], 1, key));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_collect(wrong[at], &result, sizeof result));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_arm(wrong[at]));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_cancel(wrong[at], 1));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_close(wrong[at]));
    }
    EXPECT(CRYPTAND_OFFLOAD_KEY, cryptand_offload_sign(one, 1, other, 0x0804, digest, 32));
    EXPECT(CRYPTAND_OFFLOAD_KEY, cryptand_offload_sign(one, 1, key + 2, 0x0804, digest, 32));
    EXPECT(CRYPTAND_OFFLOAD_KEY, cryptand_offload_premaster(one, 1, 0, digest, 32));
    unsigned schemes[] = {0, 0x0201, 0x0807, 0x10804, 0xffffffff};
    for (size_t at = 0; at < sizeof schemes / sizeof *schemes; at++)
        EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_sign(one, 1, key, schemes[at], digest, 32));
    size_t lengths[] = {0, 31, 33, 64, 65, SIZE_MAX};
    for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++)
        EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_sign(one, 1, key, 0x0804, digest, lengths[at]));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_sign(one, 1, key, 0x0804, NULL, 32));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_premaster(one, 1, key, NULL, 256));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_premaster(one, 1, key, digest, 0));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_premaster(one, 1, key, digest, 513));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_collect(one, NULL, sizeof result));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_collect(one, &result, sizeof result - 1));
    EXPECT(0, cryptand_offload_in_flight(one));

    /* Errors that are collected. */
    EXPECT(0, cryptand_offload_sign(one, 1, same, 0x0804, digest, 32));
    EXPECT(CRYPTAND_OFFLOAD_INVALID, cryptand_offload_sign(one, 1, key, 0x0804, digest, 32));
    next(one);
    EXPECT(CRYPTAND_OFFLOAD_REFUSED, result.status);
    EXPECT(8, result.return_code);
    expect_text(__LINE__, result.text, p256);
    EXPECT(0, cryptand_offload_key(one, "NO.SUCH.LABEL", &key));
    EXPECT(0, cryptand_offload_sign(one, 1, key, 0x0403, digest, 32));
    next(one);
    EXPECT(CRYPTAND_OFFLOAD_REFUSED, result.status);
    EXPECT(30, result.reason_code);
    expect_text(__LINE__, result.text, "sign with NO.SUCH.LABEL: ");
    EXPECT(0, cryptand_offload_premaster(one, 2, same, digest, 64));
    next(one);
    EXPECT(CRYPTAND_OFFLOAD_REFUSED, result.status);
    EXPECT(0, cryptand_offload_close(one));
    EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_close(one));
    EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_in_flight(one));
    EXPECT(0, cryptand_offload_close(two));
    EXPECT(0, strcmp(cryptand_offload_status_name(CRYPTAND_OFFLOAD_BUSY), "BUSY"));
    EXPECT(0, strcmp(cryptand_offload_status_name(1), "UNKNOWN"));
}

/* A million requests that nobody collects. */
static void flood(const char *rsa) {
    cryptand_offload handle = opened();
    cryptand_offload_key_id key;
    EXPECT(0, cryptand_offload_key(handle, rsa, &key));
    long taken = 0;
    for (uint64_t id = 0; id < 1000000; id++) {
        int status = cryptand_offload_sign(handle, id, key, 0x0804, digest, 32);
        if (status == 0) taken++;
        else expect(__LINE__, "sign", CRYPTAND_OFFLOAD_AGAIN, status);
    }
    EXPECT(16384, taken);
    for (uint64_t id = 0; id < 16384; id++) EXPECT(1, cryptand_offload_cancel(handle, id));
    EXPECT(0, cryptand_offload_cancel(handle, 0));
    EXPECT(0, cryptand_offload_close(handle));

    struct cryptand_offload_options few = {.in_flight_max = 2};
    EXPECT(0, cryptand_offload_open(home, "", &few, sizeof few, &handle));
    EXPECT(0, cryptand_offload_key(handle, rsa, &key));
    EXPECT(0, cryptand_offload_sign(handle, 1, key, 0x0804, digest, 32));
    EXPECT(0, cryptand_offload_sign(handle, 2, key, 0x0804, digest, 32));
    EXPECT(CRYPTAND_OFFLOAD_AGAIN, cryptand_offload_sign(handle, 3, key, 0x0804, digest, 32));
    EXPECT(1, cryptand_offload_cancel(handle, 1));
    next(handle);
    EXPECT(2, (long)result.id);
    EXPECT(0, result.status);
    EXPECT(256, result.length);
    EXPECT(0, cryptand_offload_close(handle));
}

/* Handles of a parent, in a child. */
static void forks(const char *rsa) {
    cryptand_offload handle = opened();
    cryptand_offload_key_id key;
    EXPECT(0, cryptand_offload_key(handle, rsa, &key));
    EXPECT(0, cryptand_offload_sign(handle, 1, key, 0x0804, digest, 32));
    pid_t child = fork();
    if (child == 0) {
        EXPECT(CRYPTAND_OFFLOAD_FORKED, cryptand_offload_sign(handle, 2, key, 0x0804, digest, 32));
        EXPECT(CRYPTAND_OFFLOAD_FORKED, cryptand_offload_collect(handle, &result, sizeof result));
        EXPECT(CRYPTAND_OFFLOAD_FORKED, cryptand_offload_descriptor(handle));
        EXPECT(0, cryptand_offload_close(handle));
        EXPECT(CRYPTAND_OFFLOAD_HANDLE, cryptand_offload_close(handle));
        handle = opened();
        EXPECT(0, cryptand_offload_key(handle, rsa, &key));
        EXPECT(0, cryptand_offload_sign(handle, 3, key, 0x0804, digest, 32));
        next(handle);
        EXPECT(0, result.status);
        EXPECT(3, (long)result.id);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT(0, status);
    next(handle);
    EXPECT(0, result.status);
    EXPECT(1, (long)result.id);
    EXPECT(0, cryptand_offload_close(handle));
}

/* Descriptors that others close. */
static void closes(const char *rsa) {
    cryptand_offload handle = opened();
    cryptand_offload_key_id key;
    close_range(3, ~0U, 0);
    int mine = dup(2);
    EXPECT(CRYPTAND_OFFLOAD_CLOSED, cryptand_offload_key(handle, rsa, &key));
    EXPECT(CRYPTAND_OFFLOAD_CLOSED, cryptand_offload_arm(handle));
    EXPECT(0, cryptand_offload_close(handle));
    EXPECT(0, close(mine));
    handle = opened();
    EXPECT(0, cryptand_offload_key(handle, rsa, &key));
    EXPECT(0, cryptand_offload_public_key(handle, 9, key));
    next(handle);
    EXPECT(0, result.status);
    EXPECT(CRYPTAND_OFFLOAD_RSA, result.kind);
    EXPECT(0, cryptand_offload_close(handle));
}

static int is_over;

static void *waits(void *handle) {
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) cryptand_offload_wait(*(cryptand_offload *)handle, 100);
    return NULL;
}

/* A second thread in a handle. */
static void threads(void) {
    cryptand_offload handle = opened();
    pthread_t thread;
    int status;
    EXPECT(0, pthread_create(&thread, NULL, waits, &handle));
    do status = cryptand_offload_in_flight(handle); while (status == 0);
    expect(__LINE__, "a second thread", CRYPTAND_OFFLOAD_BUSY, status);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    EXPECT(0, pthread_join(thread, NULL));
    EXPECT(0, cryptand_offload_close(handle));
}

int main(int count, char **given) {
    if (count != 4) return 2;
    home = given[1];
    arguments(given[2], given[3]);
    threads();
    forks(given[2]);
    closes(given[2]);
    flood(given[2]);
    puts("all as the header says");
    return 0;
}
