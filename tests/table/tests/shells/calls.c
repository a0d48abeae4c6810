/* Calls three verbs as a program for CCA does: calls FOLDER. Each field ends where memory does, so that reading or writing one byte more than the
   field has is a fault. Keys are files of the folder; what the verbs answer goes to its file `answers`. */
#define _GNU_SOURCE
#include "cca.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *folder;
static FILE *answers;
static long return_code, reason_code;

static void must(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

/* So many bytes, at the end of memory. */
static unsigned char *field(const void *bytes, size_t length)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (length + page - 1) / page * page;
    unsigned char *begin = mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(begin != MAP_FAILED && mprotect(begin + pages, page, PROT_NONE) == 0, "no memory");
    if (bytes != NULL)
        memcpy(begin + pages - length, bytes, length);
    return begin + pages - length;
}

static long *integer(long value)
{
    return (long *)field(&value, sizeof value);
}

/* The keywords of a text, 8 characters each. */
static unsigned char *rules(const char *keywords, long **count)
{
    *count = integer((long)strlen(keywords) / 8);
    return field(keywords, strlen(keywords));
}

static unsigned char *file(const char *name, long **length)
{
    char path[4096];
    unsigned char bytes[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *from = fopen(path, "rb");
    must(from != NULL, path);
    const size_t read = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    *length = integer((long)read);
    return field(bytes, read);
}

static void answered(const char *name)
{
    fprintf(answers, "%s %ld/%ld", name, return_code, reason_code);
}

static void shown(const char *name, const unsigned char *bytes, long length)
{
    fprintf(answers, " %s=", name);
    for (long at = 0; at < length; at++)
        fprintf(answers, "%02x", bytes[at]);
}

static void shown_integer(const char *name, long value)
{
    fprintf(answers, " %s=%ld", name, value);
}

static void end(void)
{
    fputc('\n', answers);
}

/* CSNBENC. The field of the ciphertext has exactly as many bytes as come. */
static void encipher(const char *name, const char *text, const char *keywords, size_t ciphertext_bytes)
{
    long *key_bytes, *count;
    unsigned char *key = file("key", &key_bytes), *rule_array = rules(keywords, &count);
    long *text_length = integer((long)strlen(text));
    unsigned char *ciphertext = field(NULL, ciphertext_bytes);
    CSNBENC(&return_code, &reason_code, NULL, NULL, key, text_length, field(text, strlen(text)), field("12345678", 8),
        count, *count == 0 ? NULL : rule_array, integer(0), field(NULL, 18), ciphertext);
    answered(name);
    shown_integer("text_length", *text_length);
    shown("ciphertext", ciphertext, *text_length);
    end();
}

/* CSNBMGN, with the key under a label. */
static unsigned char *mac(const char *text, const char *keywords, unsigned char *chaining_vector, size_t mac_bytes)
{
    long *label_bytes, *count;
    unsigned char *label = file("label", &label_bytes), *rule_array = rules(keywords, &count);
    unsigned char *mac = field(NULL, mac_bytes);
    CSNBMGN(&return_code, &reason_code, NULL, NULL, label, integer((long)strlen(text)), field(text, strlen(text)), count,
        rule_array, chaining_vector, mac_bytes == 0 ? NULL : mac);
    return mac;
}

static void macs(void)
{
    unsigned char *chain = field(NULL, 18);
    const unsigned char *made = mac("a text", "", field(NULL, 18), 4);
    answered("mac");
    shown("mac", made, 4);
    end();
    made = mac("a text", "X9.9-1  HEX-9   ", field(NULL, 18), 9);
    answered("mac-hex9");
    shown("mac", made, 9);
    end();
    mac("two bl", "FIRST   ", chain, 0);
    answered("mac-first-of-odd-length");
    end();
    mac("two blocks here.", "FIRST   ", chain, 0);
    made = mac("and more", "LAST    MACLEN8 ", chain, 8);
    answered("mac-parts");
    shown("mac", made, 8);
    end();
}

/* CSNDPKE. */
static void pka_encrypt(const char *name, long room)
{
    long *public_bytes, *count, *enciphered_bytes = integer(room);
    unsigned char *public = file("public", &public_bytes), *rule_array = rules("ZERO-PAD", &count);
    unsigned char *enciphered = field(NULL, (size_t)room);
    CSNDPKE(&return_code, &reason_code, NULL, NULL, count, rule_array, integer(16), field("a clear value 16", 16), integer(0),
        NULL, public_bytes, public, enciphered_bytes, enciphered);
    answered(name);
    shown_integer("rsa_encipher_length", *enciphered_bytes);
    if (return_code < 8)
        shown("rsa_encipher", enciphered, *enciphered_bytes);
    else
        for (long at = 0; at < room; at++)
            must(enciphered[at] == 0, "a refused verb wrote");
    end();
}

/* What cannot be right. */
static void wrong(void)
{
    long *label_bytes, *none = integer(0);
    unsigned char *label = file("label", &label_bytes), *chain = field(NULL, 18), *mac = field(NULL, 4);
    CSNBMGN(&return_code, &reason_code, NULL, NULL, NULL, integer(1), field("a", 1), none, NULL, chain, mac);
    must(return_code == 8 && reason_code == 21, "a null key");
    CSNBMGN(&return_code, &reason_code, NULL, NULL, label, NULL, field("a", 1), none, NULL, chain, mac);
    must(return_code == 8 && reason_code == 21, "a null length");
    CSNBMGN(&return_code, &reason_code, NULL, NULL, label, integer(1), field("a", 1), none, NULL, chain, NULL);
    must(return_code == 8 && reason_code == 21, "a null output");
    CSNBMGN(&return_code, &reason_code, NULL, NULL, label, integer(3), NULL, none, NULL, chain, mac);
    answered("null-text");
    end();
    CSNBMGN(&return_code, &reason_code, NULL, NULL, label, integer(-1), NULL, none, NULL, chain, mac);
    answered("negative-length");
    end();
    CSNBMGN(&return_code, &reason_code, NULL, NULL, label, integer(1), field("a", 1), integer(33), NULL, chain, mac);
    answered("many-keywords");
    end();
}

int main(int count, char **arguments)
{
    char path[4096];
    must(count == 2, "calls FOLDER");
    folder = arguments[1];
    snprintf(path, sizeof path, "%s/answers", folder);
    answers = fopen(path, "w");
    must(answers != NULL, path);
    encipher("cbc", "twenty-four bytes of it.", "", 24);
    encipher("x9.23", "twenty-one bytes of i", "X9.23   ", 24);
    macs();
    pka_encrypt("pke", 128);
    pka_encrypt("pke-small", 127);
    wrong();
    must(fclose(answers) == 0, path);
    return 0;
}
