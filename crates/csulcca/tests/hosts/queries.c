/* Queries as openCryptoki, zkey and libekmfweb make them: one keyword is counted, and the answer has more elements. The home has
   one card, and a current key in each register. */
#include "csulincl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(given) ((unsigned char *)(given))
#define ELEMENT 8
#define BEHIND 0xE7

static long return_code, reason_code;
static unsigned char elements[32 * ELEMENT];
static unsigned char data[256];

static void fail(const char *query, const char *what)
{
    printf("%s: %s (%ld/%ld)\n", query, what, return_code, reason_code);
    exit(1);
}

/* Asks, and checks that nothing behind the answer was touched. */
static void ask(const char *query, long count, long expected, long room, long length)
{
    memset(elements, ' ', sizeof elements);
    memset(data, BEHIND, sizeof data);
    memcpy(elements, query, ELEMENT);
    memset(elements + expected * ELEMENT, BEHIND, sizeof elements - (size_t)expected * ELEMENT);
    if (expected == 0)
        memcpy(elements, query, ELEMENT);
    CSUACFQ(&return_code, &reason_code, NULL, NULL, &count, elements, &room, room == 0 ? NULL : data);
    if (return_code != 0 || reason_code != 0)
        fail(query, "refused");
    if (count != expected || room != length)
        fail(query, "another length");
    for (size_t at = (size_t)expected * ELEMENT + (expected == 0 ? ELEMENT : 0); at < sizeof elements; at++)
        if (elements[at] != BEHIND)
            fail(query, "an element too many");
    for (size_t at = (size_t)length; at < sizeof data; at++)
        if (data[at] != BEHIND)
            fail(query, "a byte too many");
}

static void is(const char *query, long at, const char *expected)
{
    if (memcmp(elements + at * ELEMENT, expected, ELEMENT) != 0)
        fail(query, "another element");
}

/* openCryptoki 3.27: one role, which is the default and holds at any time, and two of its points. */
static void roles(void)
{
    unsigned char names[80], record[2500];
    long count = 1, length = sizeof names;

    CSUAACM(&return_code, &reason_code, NULL, NULL, &count, TEXT("LSTROLES"), NULL, &length, names);
    if (return_code != 0 || length != ELEMENT || memcmp(names, "DFLT", 4) != 0)
        fail("LSTROLES", "another role");
    length = sizeof record;
    CSUAACM(&return_code, &reason_code, NULL, NULL, &count, TEXT("GET-ROLE"), names, &length, record);
    if (return_code != 0 || length <= 33 || memcmp(record + 24, "\0\0\x17\x3B\xFE", 5) != 0)
        fail("GET-ROLE", "another record");
    CSUAACM(&return_code, &reason_code, NULL, NULL, &count, TEXT("GET-ROLE"), TEXT("DFLTELSE"), &length, record);
    if (return_code != 8 || reason_code != 772)
        fail("GET-ROLE", "a role of others");
}

static void allocation(int takes, const char *rules, const char *name, long return_expected, long reason_expected)
{
    long count = (long)strlen(rules) / ELEMENT, length = (long)strlen(name);
    (takes ? CSUACRA : CSUACRD)(&return_code, &reason_code, NULL, NULL, &count, TEXT(rules), &length, TEXT(name));
    if (return_code != return_expected || reason_code != reason_expected)
        fail(rules, takes ? "another allocation" : "another deallocation");
}

/* openCryptoki allocates each card by number or serial number, and with it a domain; zkey gives the choice back. */
static void allocations(const char *serial)
{
    allocation(1, "DEVICE  ", "CRP01", 0, 0);
    ask("STATCCAE", 1, 9, 0, 0);
    allocation(1, "DEVICE  ", "CRP01", 8, 2089);
    allocation(0, "DEVICE  ", "CRP02", 8, 2089);
    allocation(0, "DEV-ANY ", "", 8, 2089);
    allocation(0, "SERIAL  ", "00000000", 8, 2089);
    allocation(0, "DEVICE  ", "CRP01", 0, 0);
    allocation(0, "DEVICE  ", "CRP01", 8, 2089);
    allocation(1, "SERIAL  DOMN0000", serial, 0, 0);
    ask("STATICSB", 1, 13, 256, 240);
    if (memcmp(elements, serial, ELEMENT) != 0)
        fail("SERIAL", "another card");
    allocation(0, "SERIAL  DOMN0000", serial, 0, 0);
    allocation(1, "DEV-ANY ", "CRP00", 0, 0);
    allocation(0, "DEV-ANY ", "CRP00", 0, 0);
    /* A domain that the home lacks fails with the request. */
    allocation(1, "DOMN0009", "", 0, 0);
    memcpy(elements, "STATCCAE", ELEMENT);
    long count = 1, none = 0;
    CSUACFQ(&return_code, &reason_code, NULL, NULL, &count, elements, &none, NULL);
    if (return_code < 8)
        fail("DOMN0009", "there is no such domain");
    allocation(0, "DOMN-DEF", "", 0, 0);
    ask("STATCCAE", 1, 9, 0, 0);
    allocation(1, "DEVICE  ", "CRP02", 12, 338);
    allocation(1, "SERIAL  ", "00000000", 12, 338);
    allocation(1, "DEVICE  ", "1", 8, 21);
    allocation(1, "HCPUACLR", "", 8, 33);
    allocation(1, "DEVICE  SERIAL  ", "CRP01", 8, 34);
}

int main(void)
{
    unsigned char version[20], serial[ELEMENT + 1] = {0}, null[8] = {0};
    long version_length = sizeof version, count, room;

    CSUACFV(&return_code, &reason_code, NULL, NULL, &version_length, version);
    if (return_code != 0 || strncmp((char *)version, "8.3.", 4) != 0)
        fail("CSUACFV", "another version");

    /* openCryptoki 3.8.1: no length of exit data, no verb data. */
    ask("STATCCAE", 1, 9, 0, 0);
    is("STATCCAE", 0, "1       ");
    is("STATCCAE", 1, "2       ");
    is("STATCCAE", 7, "2       ");
    ask("STATCCA ", 1, 6, 0, 0);
    is("STATCCA", 3, "8.3.0   ");
    is("STATCCA", 5, "DFLTOWNE");
    ask("STATAES ", 1, 4, 0, 0);
    is("STATAES", 1, "2       ");
    ask("STATAPKA", 1, 4, 0, 0);
    is("STATAPKA", 1, "2       ");
    ask("STATCRD2", 1, 15, 0, 0);
    is("STATCRD2", 0, "1       ");
    memcpy(serial, elements + 14 * ELEMENT, ELEMENT);
    if (memcmp(serial, "        ", ELEMENT) == 0)
        fail("STATCRD2", "no serial number");

    /* Room for as many as are hoped for, counted or not. */
    ask("STATICSB", 1, 13, 256, 240);
    if (memcmp(elements, serial, ELEMENT) != 0)
        fail("STATICSB", "another serial number");
    if (memcmp(data + 134, "\x0F\x07", 2) != 0 || memcmp(data + 136, null, 8) == 0)
        fail("STATICSB", "no pattern");
    ask("STATICSB", 13, 13, 240, 240);
    ask("STATICSA", 1, 10, 204, 204);
    ask("DOM-NUMS", 1, 0, 4, 4);
    ask("DOM-USAG", 1, 0, 32, 2);

    roles();
    allocations((char *)serial);

    /* Too little room: nothing is written. */
    memcpy(elements, "STATICSB", ELEMENT);
    elements[ELEMENT] = BEHIND;
    count = 1;
    room = 239;
    data[0] = BEHIND;
    CSUACFQ(&return_code, &reason_code, NULL, NULL, &count, elements, &room, data);
    if (return_code != 8 || reason_code != 72 || data[0] != BEHIND || elements[ELEMENT] != BEHIND || room != 239)
        fail("STATICSB", "not refused");
    memcpy(elements, "STATEID ", ELEMENT);
    CSUACFQ(&return_code, &reason_code, NULL, NULL, &count, elements, &room, data);
    if (return_code != 8 || reason_code != 33)
        fail("STATEID", "not refused");
    puts("done");
    return 0;
}
