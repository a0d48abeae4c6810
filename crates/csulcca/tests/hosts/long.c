/* Texts that no request carries: the library cuts them, and they are enciphered, hashed and authenticated as one. Each verb is
   also called with segments that this program cuts. */
#include "csulincl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(given) ((unsigned char *)(given))
#define CODES &return_code, &reason_code, NULL, NULL
#define MIB (1L << 20)
#define LENGTH (3 * MIB + 24)

static long return_code, reason_code;
static unsigned char *text, *made, *expected;

static void answers(long return_expected, long reason_expected, const char *what)
{
    if (return_code != return_expected || reason_code != reason_expected) {
        printf("%s: %ld/%ld\n", what, return_code, reason_code);
        exit(1);
    }
}

static void holds(int truth, const char *what)
{
    if (!truth) {
        printf("failed: %s\n", what);
        exit(1);
    }
}

static void encipher(unsigned char *key, unsigned char *from, long *length, const char *rules, unsigned char *chain,
    unsigned char *to)
{
    unsigned char iv[8] = "initial";
    long count = strlen(rules) / 8, pad = 0;
    CSNBENC(CODES, key, length, from, iv, &count, TEXT(rules), &pad, chain, to);
}

static void decipher(unsigned char *key, unsigned char *from, long *length, const char *rules, unsigned char *to)
{
    unsigned char iv[8] = "initial", chain[18];
    long count = strlen(rules) / 8;
    CSNBDEC(CODES, key, length, from, iv, &count, TEXT(rules), chain, to);
}

static void des(unsigned char *key)
{
    unsigned char chain[18] = {0}, own_chain[18] = {0};
    long length = LENGTH;
    encipher(key, text, &length, "CBC     ", chain, made);
    answers(0, 0, "CSNBENC");
    for (long at = 0; at < LENGTH; at += MIB) {
        long part = LENGTH - at < MIB ? LENGTH - at : MIB;
        encipher(key, text + at, &part, at == 0 ? "CBC     INITIAL " : "CBC     CONTINUE", own_chain, expected + at);
        answers(0, 0, "CSNBENC in parts");
    }
    holds(length == LENGTH && memcmp(made, expected, LENGTH) == 0, "CSNBENC cuts otherwise");
    holds(memcmp(chain, own_chain, sizeof chain) == 0, "the chaining vector of CSNBENC");

    /* In place, and with fields that overlap. */
    memcpy(made, text, LENGTH);
    encipher(key, made, &length, "CBC     ", chain, made + 8);
    answers(0, 0, "CSNBENC with fields that overlap");
    holds(memcmp(made + 8, expected, LENGTH) == 0, "CSNBENC with fields that overlap: another text");
    decipher(key, expected, &length, "CBC     ", expected);
    answers(0, 0, "CSNBDEC in place");
    holds(memcmp(text, expected, LENGTH) == 0, "CSNBDEC in place: another text");

    static const char *const padding[] = {"X9.23   ", "CUSP    ", "IPS     "};
    for (int at = 0; at < 3; at++) {
        length = LENGTH - 3;
        encipher(key, text, &length, padding[at], chain, made);
        answers(0, 0, padding[at]);
        holds(length == (at == 0 ? LENGTH : LENGTH - 3), "the length of a padded text");
        decipher(key, made, &length, padding[at], made);
        answers(0, 0, padding[at]);
        holds(length == LENGTH - 3 && memcmp(text, made, LENGTH - 3) == 0, "padding");
    }

    /* The last of the segments is refused: nothing of the others is seen. */
    length = LENGTH - 3;
    memset(made, 0xA5, LENGTH);
    encipher(key, text, &length, "CBC     ", chain, made);
    answers(8, 25, "CSNBENC of no whole blocks");
    for (long at = 0; at < LENGTH; at++)
        holds(made[at] == 0xA5, "a refused text was written");
    holds(length == LENGTH - 3, "a refused length was written");
}

static long aes_text(const char *rules, unsigned char *key, int enciphers, unsigned char *from, long length, unsigned char *to,
    long room)
{
    unsigned char iv[16] = "initial value 16", chain[32] = {0}, tag[16] = {0};
    long count = strlen(rules) / 8, key_length = 64, block = 16, iv_length = 16, chain_length = 32, none = 0;
    long tag_length = strstr(rules, "GCM") != NULL ? 16 : 0;
    (enciphers ? CSNBSAE : CSNBSAD)(CODES, &count, TEXT(rules), &key_length, key, &tag_length, tag, &block, &iv_length, iv,
        &chain_length, chain, &length, from, &room, to, &none, NULL);
    return room;
}

static void aes(unsigned char *key)
{
    static const char *const rules[] = {
        "AES     KEYIDENT", "AES     KEYIDENTONLY    ", "AES     ECB     KEYIDENT", "AES     PKCS-PADKEYIDENTONLY    ",
    };
    for (int at = 0; at < 4; at++) {
        const long length = at == 3 ? LENGTH - 11 : LENGTH - 8;
        long made_length = aes_text(rules[at], key, 1, text, length, made, LENGTH + 16);
        answers(0, 0, rules[at]);
        holds(made_length == LENGTH - 8, "the length of a ciphertext");
        made_length = aes_text(rules[at], key, 0, made, made_length, made, LENGTH);
        answers(0, 0, rules[at]);
        holds(made_length == length && memcmp(text, made, length) == 0, rules[at]);
        aes_text(rules[at], key, 1, text, length, made, LENGTH - 9);
        answers(8, 72, "a room that is too short");
    }
    /* A room beyond a request's, of a text that is not. */
    holds(aes_text(rules[0], key, 1, text, 32, made, LENGTH) == 32, "the length of a short text");
    answers(0, 0, "a room that is long");
    aes_text("AES     GCM     KEYIDENTONLY    ", key, 1, text, LENGTH, made, LENGTH);
    answers(8, 72, "GCM, which has no segments");
    aes_text(rules[0], key, 1, text, 64 * MIB + 16, made, 64 * MIB + 16);
    answers(8, 72, "more than 64 MiB");
}

static void macs(unsigned char *key)
{
    unsigned char chain[18] = {0}, mac[8], other[8], rules[] = "X9.19OPTMACLEN8 ";
    long length = LENGTH, count = 2;
    CSNBMGN(CODES, key, &length, text, &count, rules, chain, mac);
    answers(0, 0, "CSNBMGN");
    for (long at = 0; at < LENGTH; at += MIB) {
        const char *const place = at == 0 ? "X9.19OPTMACLEN8 FIRST   " : "X9.19OPTMACLEN8 MIDDLE  ";
        const int is_last = LENGTH - at <= MIB;
        length = is_last ? LENGTH - at : MIB;
        count = 3;
        CSNBMGN(CODES, key, &length, text + at, &count, TEXT(is_last ? "X9.19OPTMACLEN8 LAST    " : place), chain, other);
        answers(0, 0, "CSNBMGN in parts");
    }
    holds(memcmp(mac, other, 8) == 0, "CSNBMGN cuts otherwise");
    length = LENGTH;
    count = 2;
    CSNBMVR(CODES, key, &length, text, &count, rules, chain, mac);
    answers(0, 0, "CSNBMVR");
    text[2 * MIB] ^= 1;
    CSNBMVR(CODES, key, &length, text, &count, rules, chain, mac);
    answers(4, 1, "CSNBMVR of another text");
    text[2 * MIB] ^= 1;
}

static void hashes(void)
{
    unsigned char chain[128] = {0}, hash[32], other[32];
    long length = LENGTH, count = 1, chain_length = 0, hash_length = 32;
    CSNBOWH(CODES, &count, TEXT("SHA-256 "), &length, text, &chain_length, NULL, &hash_length, hash);
    answers(0, 0, "CSNBOWH");
    count = 2;
    chain_length = 128;
    length = 2 * MIB;
    CSNBOWH(CODES, &count, TEXT("SHA-256 FIRST   "), &length, text, &chain_length, chain, &hash_length, other);
    answers(0, 0, "CSNBOWH of a first part");
    length = LENGTH - 2 * MIB;
    CSNBOWH(CODES, &count, TEXT("SHA-256 LAST    "), &length, text + 2 * MIB, &chain_length, chain, &hash_length, other);
    answers(0, 0, "CSNBOWH of a last part");
    holds(memcmp(hash, other, 32) == 0, "CSNBOWH cuts otherwise");
    for (int at = 0; at < 32; at++)
        printf("%02x", hash[at]);
    printf("\n");
    chain_length = 127;
    length = 2 * MIB;
    CSNBOWH(CODES, &count, TEXT("SHA-256 FIRST   "), &length, text, &chain_length, chain, &hash_length, other);
    answers(8, 72, "CSNBOWH into a chaining vector that is too short");
    /* Blocks of 136 bytes, of which no whole number is a megabyte. */
    unsigned char state[256] = {0};
    const long first = 136 * 12000;
    count = 1;
    chain_length = 0;
    length = LENGTH;
    CSNBOWH(CODES, &count, TEXT("SHA3-256"), &length, text, &chain_length, NULL, &hash_length, hash);
    answers(0, 0, "CSNBOWH by SHA-3");
    count = 2;
    chain_length = 256;
    length = first;
    CSNBOWH(CODES, &count, TEXT("SHA3-256FIRST   "), &length, text, &chain_length, state, &hash_length, other);
    answers(0, 0, "CSNBOWH by SHA-3 of a first part");
    length = LENGTH - first;
    CSNBOWH(CODES, &count, TEXT("SHA3-256LAST    "), &length, text + first, &chain_length, state, &hash_length, other);
    answers(0, 0, "CSNBOWH by SHA-3 of a last part");
    holds(memcmp(hash, other, 32) == 0, "CSNBOWH by SHA-3 cuts otherwise");
}

static void hmacs(void)
{
    unsigned char key[725] = {0}, mac[32], chain[128];
    long count = 4, key_length = 725, none = 0, bits = 256, length = LENGTH, chain_length = 0, mac_length = 32;
    long token = 725, two = 2, three = 3;
    CSNBKTB2(CODES, &count, TEXT("INTERNALHMAC    MAC     GENERATE"), &none, NULL, &none, NULL, &none, NULL, &none, NULL, &none,
        NULL, &key_length, key);
    answers(0, 0, "CSNBKTB2");
    CSNBKGN2(CODES, &two, TEXT("HMAC    OP      "), &bits, TEXT("TOKEN   "), TEXT("        "), &none, NULL, &none, NULL, &none,
        NULL, &none, NULL, &none, NULL, &none, NULL, &token, key, &none, NULL);
    answers(0, 0, "CSNBKGN2");
    CSNBHMG(CODES, &two, TEXT("HMAC    SHA-256 "), &token, key, &length, text, &chain_length, NULL, &mac_length, mac);
    answers(0, 0, "CSNBHMG");
    CSNBHMV(CODES, &two, TEXT("HMAC    SHA-256 "), &token, key, &length, text, &chain_length, NULL, &mac_length, mac);
    answers(0, 0, "CSNBHMV");
    /* Begun in one call, ended in another. */
    chain_length = 128;
    length = 2 * MIB;
    CSNBHMV(CODES, &three, TEXT("HMAC    SHA-256 FIRST   "), &token, key, &length, text, &chain_length, chain, &mac_length, mac);
    answers(0, 0, "CSNBHMV of a first part");
    length = LENGTH - 2 * MIB;
    CSNBHMV(CODES, &three, TEXT("HMAC    SHA-256 LAST    "), &token, key, &length, text + 2 * MIB, &chain_length, chain,
        &mac_length, mac);
    answers(0, 0, "CSNBHMV of a last part");
    mac[31] ^= 1;
    length = LENGTH;
    CSNBHMV(CODES, &two, TEXT("HMAC    SHA-256 "), &token, key, &length, text, &chain_length, chain, &mac_length, mac);
    answers(4, 1, "CSNBHMV of another MAC");
}

/* CMACs and MDC-4, of which the latter goes on from its code as well as from its chaining vector. */
static void codes(void)
{
    unsigned char key[725] = {0}, whole[16], mac[16], chain[128], vector[18] = {0}, mdc[16] = {0};
    long count = 4, key_length = 725, none = 0, bits = 256, length = LENGTH, chain_length = 0, mac_length = 16;
    long token = 725, one = 1, two = 2;
    CSNBKTB2(CODES, &count, TEXT("INTERNALAES     MAC     GENERATE"), &none, NULL, &none, NULL, &none, NULL, &none, NULL, &none,
        NULL, &key_length, key);
    answers(0, 0, "CSNBKTB2");
    CSNBKGN2(CODES, &two, TEXT("AES     OP      "), &bits, TEXT("TOKEN   "), TEXT("        "), &none, NULL, &none, NULL, &none,
        NULL, &none, NULL, &none, NULL, &none, NULL, &token, key, &none, NULL);
    answers(0, 0, "CSNBKGN2");
    CSNBMGN2(CODES, &one, TEXT("AES     "), &token, key, &length, text, &chain_length, NULL, &mac_length, whole);
    answers(0, 0, "CSNBMGN2");
    chain_length = 128;
    length = 2 * MIB;
    CSNBMGN2(CODES, &two, TEXT("AES     FIRST   "), &token, key, &length, text, &chain_length, chain, &mac_length, mac);
    answers(0, 0, "CSNBMGN2 of a first part");
    length = LENGTH - 2 * MIB;
    mac_length = 16;
    CSNBMGN2(CODES, &two, TEXT("AES     LAST    "), &token, key, &length, text + 2 * MIB, &chain_length, chain, &mac_length, mac);
    answers(0, 0, "CSNBMGN2 of a last part");
    holds(memcmp(whole, mac, 16) == 0, "CSNBMGN2 cuts otherwise");
    length = LENGTH;
    CSNBMVR2(CODES, &one, TEXT("AES     "), &token, key, &length, text, &none, NULL, &mac_length, mac);
    answers(0, 0, "CSNBMVR2");
    mac[15] ^= 1;
    CSNBMVR2(CODES, &one, TEXT("AES     "), &token, key, &length, text, &none, NULL, &mac_length, mac);
    answers(4, 1, "CSNBMVR2 of another MAC");

    CSNBMDG(CODES, &length, text, &one, TEXT("MDC-4   "), vector, whole);
    answers(0, 0, "CSNBMDG");
    memset(vector, 0, sizeof vector);
    for (long at = 0; at < LENGTH; at += MIB) {
        long part = LENGTH - at < MIB ? LENGTH - at : MIB;
        const char *rules = at == 0 ? "MDC-4   FIRST   " : at + MIB < LENGTH ? "MDC-4   MIDDLE  " : "MDC-4   LAST    ";
        CSNBMDG(CODES, &part, text + at, &two, TEXT(rules), vector, mdc);
        answers(0, 0, "CSNBMDG in parts");
    }
    holds(memcmp(whole, mdc, 16) == 0, "CSNBMDG cuts otherwise");
}

int main(void)
{
    unsigned char data[64] = {0}, mac[64] = {0}, key[64] = {0}, unused[64] = {0};
    text = malloc(LENGTH + 16);
    made = malloc(LENGTH + 32);
    expected = malloc(LENGTH + 16);
    for (long at = 0; at < LENGTH; at++)
        text[at] = at * 7 + at / 251;
    CSNBCKI(CODES, TEXT("\x01\x23\x45\x67\x89\xab\xcd\xef"), data);
    answers(0, 0, "CSNBCKI");
    CSNBKGN(CODES, TEXT("OP      "), TEXT("DOUBLE  "), TEXT("MAC     "), TEXT("        "), unused, unused, mac, unused);
    answers(0, 0, "CSNBKGN");
    long count = 1, length = 32;
    CSNBCKM(CODES, &count, TEXT("AES     "), &length, text, key);
    answers(0, 0, "CSNBCKM");
    des(data);
    aes(key);
    macs(mac);
    hashes();
    hmacs();
    codes();
    printf("done\n");
    return 0;
}
