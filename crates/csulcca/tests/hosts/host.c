/* A program that uses the library as those do that load it: one command a line on standard input, one answer a line on
   standard output. An answer is return and reason code, or what a command says of itself. */
#define _GNU_SOURCE
#include "csulincl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 32
#define CALLS 2000
#define ROUNDS 8
#define CHILDREN 100
#define FILES 16
#define FUNCTION(name) ((__typeof__(name) *)function(#name))

struct codes {
    long return_code, reason_code;
};

static void *library;
static unsigned char key[64];

static void must(int holds, const char *what)
{
    if (!holds) {
        printf("failed: %s\n", what);
        exit(1);
    }
}

static void load(void)
{
    library = dlopen("libcsulcca.so", RTLD_GLOBAL | RTLD_NOW);
    must(library != NULL, "dlopen");
}

static void *function(const char *name)
{
    void *address = dlsym(library, name);
    must(address != NULL, name);
    return address;
}

static unsigned char *text(const char *given)
{
    return (unsigned char *)given;
}

static struct codes generate(unsigned char *made)
{
    struct codes codes = {-1, -1};
    unsigned char unused[64] = {0};
    FUNCTION(CSNBKGN)(&codes.return_code, &codes.reason_code, NULL, NULL, text("OP      "), text("DOUBLE  "),
        text("MAC     "), text("        "), unused, unused, made, unused);
    return codes;
}

static struct codes mac_of(const char *of, unsigned char *identifier, unsigned char *mac)
{
    struct codes codes = {-1, -1};
    long length = (long)strlen(of), count = 2;
    unsigned char chain[18] = {0};
    FUNCTION(CSNBMGN)(&codes.return_code, &codes.reason_code, NULL, NULL, identifier, &length, text(of), &count,
        text("X9.19OPTMACLEN8 "), chain, mac);
    return codes;
}

static struct codes mac_under(unsigned char *identifier, unsigned char *mac)
{
    return mac_of("fourteen bytes", identifier, mac);
}

static struct codes mac(void)
{
    unsigned char made[8];
    return mac_under(key, made);
}

/* The MAC that all must make. */
static unsigned char expected[8];

static int is_right(void)
{
    unsigned char made[8] = {0};
    const struct codes codes = mac_under(key, made);
    return codes.return_code == 0 && memcmp(made, expected, sizeof made) == 0;
}

/* A thread: its own key and text, the MAC that they make, and the calls that it is to make and that were wrong. */
static struct worker {
    pthread_t id;
    unsigned char key[64], mac[8];
    char text[64];
    int has_card;
    long calls, wrong;
} workers[THREADS_MAX];

static int over;
/* Threads work side by side: one that ends leaves its queues to another. */
static pthread_barrier_t together;

static void *works(void *given)
{
    struct worker *own = given;
    struct codes codes = {0, 0};
    unsigned char made[8];
    long count = 1, length = 5;
    pthread_barrier_wait(&together);
    if (own->has_card)
        FUNCTION(CSUACRA)(&codes.return_code, &codes.reason_code, NULL, NULL, &count, text("DEVICE  "), &length,
            text("CRP01"));
    own->wrong += codes.return_code != 0;
    for (long call = 0; call < own->calls || (own->calls == 0 && !__atomic_load_n(&over, __ATOMIC_ACQUIRE)); call++) {
        memset(made, 0, sizeof made);
        codes = mac_of(own->text, own->key, made);
        own->wrong += codes.return_code != 0 || memcmp(made, own->mac, sizeof made) != 0;
    }
    pthread_barrier_wait(&together);
    return NULL;
}

static void *first(void *given)
{
    struct worker *own = given;
    own->wrong += generate(own->key).return_code != 0;
    return NULL;
}

static void begin(int threads, void *(*with)(void *))
{
    must(threads <= THREADS_MAX, "so many threads");
    must(threads == 0 || pthread_barrier_init(&together, NULL, (unsigned)threads) == 0, "a barrier");
    for (int at = 0; at < threads; at++) {
        workers[at].wrong = 0;
        must(pthread_create(&workers[at].id, NULL, with, &workers[at]) == 0, "pthread_create");
    }
}

static long end(int threads)
{
    long wrong = 0;
    for (int at = 0; at < threads; at++) {
        pthread_join(workers[at].id, NULL);
        wrong += workers[at].wrong;
    }
    return wrong;
}

/* Gives each thread its key and text, and every other one a card of its choice; no two make the same MAC. */
static void prepare(int threads, long calls)
{
    for (int at = 0; at < threads; at++) {
        struct worker *own = &workers[at];
        snprintf(own->text, sizeof own->text, "the text of thread %d", at);
        must(generate(own->key).return_code == 0, "a key of its own");
        must(mac_of(own->text, own->key, own->mac).return_code == 0, "a MAC of its own");
        for (int other = 0; other < at; other++)
            must(memcmp(workers[other].mac, own->mac, sizeof own->mac) != 0, "another MAC");
        own->has_card = at % 2;
        own->calls = calls;
    }
}

/* Ends as the exit code says, and not by a signal. */
static int ended_well(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Children that call, every tenth with a child of its own, while the parent and so many threads call as well. */
static void forks(int threads)
{
    pid_t children[CHILDREN];
    long wrong = 0;
    prepare(threads, 0);
    __atomic_store_n(&over, 0, __ATOMIC_RELEASE);
    begin(threads, works);
    for (int at = 0; at < CHILDREN; at++) {
        children[at] = fork();
        if (children[at] == 0) {
            int right = is_right();
            if (at % 10 == 0) {
                const pid_t child = fork();
                if (child == 0)
                    _exit(!is_right());
                right = right && ended_well(child) && is_right();
            }
            _exit(!right);
        }
        wrong += children[at] < 0 || !is_right();
    }
    for (int at = 0; at < CHILDREN; at++)
        wrong += !ended_well(children[at]);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    printf("%ld wrong\n", wrong + end(threads));
}

/* Closes what others opened, gives the numbers to files of its own, and calls: the files must stay what they are. */
static int call_with_descriptors_closed(void)
{
    int files[FILES], right;
    char back[4];
    for (int number = 3; number < 1024; number++)
        close(number);
    for (int at = 0; at < FILES; at++) {
        files[at] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
        must(files[at] >= 0 && write(files[at], "mine", 4) == 4, "a file");
    }
    right = is_right() && is_right();
    for (int at = 0; at < FILES; at++)
        right = right && lseek(files[at], 0, SEEK_END) == 4 && pread(files[at], back, 4, 0) == 4
            && memcmp(back, "mine", 4) == 0;
    for (int at = 0; at < FILES; at++)
        close(files[at]);
    return right;
}

static void closing(void)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(!call_with_descriptors_closed());
    long wrong = !ended_well(child);
    wrong += !is_right();
    wrong += !call_with_descriptors_closed();
    wrong += !is_right();
    printf("%ld wrong\n", wrong);
}

static int called[2], closed[2];

static void *ends_later(void *wrong)
{
    char byte;
    *(long *)wrong += !is_right();
    must(write(called[1], "c", 1) == 1 && read(closed[0], &byte, 1) == 1, "a pipe");
    return NULL;
}

static long descriptors(void)
{
    long count = 0;
    for (int number = 0; number < 1024; number++)
        count += fcntl(number, F_GETFD) != -1;
    return count;
}

/* Threads that call, end, and begin again: none leaves a descriptor behind. */
static void turns(int threads)
{
    long wrong = 0, before = 0;
    prepare(threads, CALLS / threads);
    for (int round = 0; round < ROUNDS; round++) {
        begin(threads, works);
        wrong += end(threads);
        if (round == 0)
            before = descriptors();
    }
    wrong += descriptors() != before;
    printf("%ld wrong\n", wrong);
}

/* Closes the library while a thread that called it lives, and opens it again when that has ended: it is as it was. */
static void reload(void)
{
    pthread_t id;
    long wrong = 0;
    char byte;
    must(pipe(called) == 0 && pipe(closed) == 0, "a pipe");
    must(pthread_create(&id, NULL, ends_later, &wrong) == 0, "pthread_create");
    must(read(called[0], &byte, 1) == 1, "a pipe");
    /* With those of the thread's own queues. */
    const long before = descriptors();
    must(dlclose(library) == 0, "dlclose");
    must(write(closed[1], "c", 1) == 1, "a pipe");
    pthread_join(id, NULL);
    load();
    wrong += !is_right();
    wrong += descriptors() != before;
    printf("%ld wrong\n", wrong);
}

static void version(void)
{
    struct codes codes = {-1, -1};
    unsigned char version[20];
    long length = sizeof version, too_short = 16;
    memset(version, '#', sizeof version);
    FUNCTION(CSUACFV)(&codes.return_code, &codes.reason_code, NULL, NULL, &too_short, version);
    must(codes.return_code == 8 && codes.reason_code == 72 && version[0] == '#' && too_short == 16, "16 bytes");
    FUNCTION(CSUACFV)(&codes.return_code, &codes.reason_code, NULL, NULL, &length, version);
    printf("%ld/%ld %ld %s\n", codes.return_code, codes.reason_code, length, version);
    must(memcmp(version + 17, "###", 3) == 0, "more than the text is written");
}

static void show(struct codes codes)
{
    printf("%ld/%ld\n", codes.return_code, codes.reason_code);
}

int main(void)
{
    char line[128];
    load();
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, "generate") == 0)
            show(generate(key));
        else if (strcmp(line, "mac") == 0)
            show(mac());
        else if (strncmp(line, "mac ", 4) == 0) {
            unsigned char label[64], made[8];
            memset(label, ' ', sizeof label);
            memcpy(label, line + 4, strlen(line + 4));
            show(mac_under(label, made));
        } else if (strcmp(line, "expect") == 0)
            show(mac_under(key, expected));
        else if (strncmp(line, "threads ", 8) == 0)
            turns(atoi(line + 8));
        else if (strncmp(line, "first ", 6) == 0) {
            begin(atoi(line + 6), first);
            printf("%ld wrong\n", end(atoi(line + 6)));
        } else if (strncmp(line, "forks ", 6) == 0)
            forks(atoi(line + 6));
        else if (strcmp(line, "close") == 0)
            closing();
        else if (strcmp(line, "reload") == 0)
            reload();
        else if (strcmp(line, "version") == 0)
            version();
        else
            must(0, line);
        fflush(stdout);
    }
    return 0;
}
