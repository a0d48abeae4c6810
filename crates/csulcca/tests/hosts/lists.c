/* Lists key records as its arguments say: a verb and a pattern, and how many bytes a file may have. Before the list it asks for random
   bytes, so that the library has opened its home. */
#include "csulincl.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LABEL 64
#define NAME 64
#define BEHIND 0xE7

static long return_code, reason_code;

int main(int count, char **given)
{
    unsigned char label[LABEL + 1], name[NAME + 1], random_number[8], *server = NULL;
    long length = -7, none = 0;

    if (count < 3)
        return 1;
    CSNBRNG(&return_code, &reason_code, NULL, NULL, (unsigned char *)"RANDOM  ", random_number);
    if (return_code != 0 && reason_code != 90)
        return 1;
    if (count > 3) {
        struct rlimit limit = {(rlim_t)atol(given[3]), (rlim_t)atol(given[3])};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            return 1;
    }
    memset(label, ' ', sizeof label);
    memcpy(label, given[2], strlen(given[2]));
    memset(name, BEHIND, sizeof name);
    if (strcmp(given[1], "CSNBKRL") == 0)
        CSNBKRL(&return_code, &reason_code, NULL, NULL, label, &length, name, server);
    else if (strcmp(given[1], "CSNBAKRL") == 0)
        CSNBAKRL(&return_code, &reason_code, NULL, NULL, &none, NULL, label, &length, name, server);
    else
        CSNDKRL(&return_code, &reason_code, NULL, NULL, &none, NULL, label, &length, name, server);
    /* A refusal writes nothing, and an answer no more than its length. */
    size_t written = return_code == 0 ? (size_t)length : 0;
    if (return_code != 0 && length != -7)
        return 1;
    for (size_t at = written; at < sizeof name; at++)
        if (name[at] != BEHIND)
            return 1;
    printf("%ld/%ld %.*s\n", return_code, reason_code, (int)written, (char *)name);
    return 0;
}
