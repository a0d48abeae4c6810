/* Makes the calls of a file, each field in memory of its own that is exactly as long: what watches the heap, which are
   AddressSanitizer and valgrind, sees each access outside of it. The function that calls by number is made from the list of names.

   A call is its number, the number of its fields, and the fields: a length and as many bytes. A length of -1 is a null pointer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FIELDS_MAX 64
/* Return and reason code, and what is no longer used. */
#define COMMON 4

void call(int which, void **arguments);

static int read_number(int64_t *number)
{
    return fread(number, sizeof *number, 1, stdin) == 1;
}

int main(void)
{
    int64_t which, count, length;
    long calls = 0, answered = 0;
    while (read_number(&which)) {
        long *codes[2] = {malloc(sizeof(long)), malloc(sizeof(long))};
        void *arguments[COMMON + FIELDS_MAX] = {codes[0], codes[1], NULL, NULL};
        if (!read_number(&count) || count > FIELDS_MAX)
            return 1;
        for (int64_t at = 0; at < count; at++) {
            if (!read_number(&length))
                return 1;
            if (length < 0)
                continue;
            arguments[COMMON + at] = malloc(length);
            if (fread(arguments[COMMON + at], 1, length, stdin) != (size_t)length)
                return 1;
        }
        *codes[0] = *codes[1] = -1;
        call(which, arguments);
        if (*codes[0] < 0 || *codes[1] < 0)
            return 1;
        calls++;
        answered += *codes[0] == 0;
        for (int64_t at = 0; at < COMMON + count; at++)
            free(arguments[at]);
    }
    printf("%ld %ld\n", calls, answered);
    return 0;
}
