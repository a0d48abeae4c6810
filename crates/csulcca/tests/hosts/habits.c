/* Calls as openCryptoki and other programs make them: null pointers for what is reserved, and lengths of buffers in place of
   lengths of tokens. */
#include "csulincl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 2500
#define TEXT(given) ((unsigned char *)(given))
#define CODES &return_code, &reason_code, NULL, NULL

static long return_code, reason_code;

static void answers(long return_expected, long reason_expected, const char *what)
{
    if (return_code != return_expected || reason_code != reason_expected) {
        printf("%s: %ld/%ld\n", what, return_code, reason_code);
        exit(1);
    }
}

static void aes(void)
{
    unsigned char key[64] = {0}, pattern[16] = {0}, none[64] = {0}, blanks[8], iv[16] = {0}, chain[32] = {0};
    unsigned char clear[40] = "forty bytes of text, which are no blocks", enciphered[48], back[48] = {0};
    long count = 4, key_length = 64, zero = 0, block = 16, iv_length = 16, chain_length = 32;
    long clear_length = 40, enciphered_length = 48, back_length = 48;

    CSNBKTB(CODES, key, TEXT("DATA    "), &count, TEXT("INTERNALAES     NO-KEY  KEYLN32 "), NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, pattern);
    answers(0, 0, "CSNBKTB");
    memset(blanks, ' ', sizeof blanks);
    CSNBKGN(CODES, TEXT("OP      "), blanks, TEXT("AESTOKEN"), none, none, none, key, none);
    answers(0, 0, "CSNBKGN");
    count = 3;
    CSNBSAE(CODES, &count, TEXT("AES     PKCS-PADKEYIDENT"), &key_length, key, &zero, NULL, &block, &iv_length, iv,
        &chain_length, chain, &clear_length, clear, &enciphered_length, enciphered, &zero, NULL);
    answers(0, 0, "CSNBSAE");
    chain_length = 32;
    CSNBSAD(CODES, &count, TEXT("AES     PKCS-PADKEYIDENT"), &key_length, key, &zero, NULL, &block, &iv_length, iv,
        &chain_length, chain, &enciphered_length, enciphered, &back_length, back, &zero, NULL);
    answers(0, 0, "CSNBSAD");
    if (enciphered_length != 48 || back_length != 40 || memcmp(back, clear, 40) != 0) {
        printf("CSNBSAD: another text\n");
        exit(1);
    }
}

/* Encipher where the text is. */
static void in_place(void)
{
    unsigned char key[64] = {0}, iv[8] = {0}, chain[18] = {0}, text[24] = "twenty-four bytes of it", before[24];
    long length = 24, count = 1, pad = 0;
    CSNBCKI(CODES, TEXT("\x01\x23\x45\x67\x89\xab\xcd\xef"), key);
    answers(0, 0, "CSNBCKI");
    memcpy(before, text, sizeof text);
    CSNBENC(CODES, key, &length, text, iv, &count, TEXT("CBC     "), &pad, chain, text);
    answers(0, 0, "CSNBENC");
    CSNBDEC(CODES, key, &length, text, iv, &count, TEXT("CBC     "), chain, text);
    answers(0, 0, "CSNBDEC");
    if (memcmp(before, text, sizeof text) != 0) {
        printf("CSNBDEC: another text\n");
        exit(1);
    }
}

static void rsa(void)
{
    /* 1,024 bits, no modulus, an exponent of three bytes, no primes. */
    unsigned char values[21] = {0x04, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1};
    /* A SHA-1 hash in its DER form. */
    unsigned char hash[35] = "\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14";
    unsigned char skeleton[ROOM], key[ROOM], public[ROOM], none[64] = {0}, signature[512];
    long count = 2, values_length = sizeof values, zero = 0, room = ROOM, skeleton_room = ROOM, public_length = ROOM;
    long one = 1, hash_length = sizeof hash, signature_length = sizeof signature, bits;

    memset(skeleton, 0xA5, sizeof skeleton);
    memset(key, 0xA5, sizeof key);
    key[0] = 0;
    CSNDPKB(CODES, &count, TEXT("RSA-CRT KEY-MGMT"), &values_length, values, &zero, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, &skeleton_room, skeleton);
    answers(0, 0, "CSNDPKB");
    CSNDPKG(CODES, &one, TEXT("MASTER  "), &zero, NULL, &room, skeleton, none, &room, key);
    answers(0, 0, "CSNDPKG");
    if (room < 600 || room >= ROOM || key[0] != 0x1F || key[room] != 0xA5) {
        printf("CSNDPKG: %ld bytes\n", room);
        exit(1);
    }
    room = ROOM;
    public_length = 100;
    CSNDPKX(CODES, &zero, NULL, &room, key, &public_length, public);
    answers(8, 72, "CSNDPKX into 100 bytes");
    if (public_length != 100) {
        printf("CSNDPKX: a refused verb wrote\n");
        exit(1);
    }
    public_length = ROOM;
    CSNDPKX(CODES, &zero, NULL, &room, key, &public_length, public);
    answers(0, 0, "CSNDPKX");
    CSNDDSG(CODES, &one, TEXT("PKCS-1.1"), &room, key, &hash_length, hash, &signature_length, &bits, signature);
    answers(0, 0, "CSNDDSG");
    if (signature_length != 128 || bits != 1024) {
        printf("CSNDDSG: %ld bytes, %ld bits\n", signature_length, bits);
        exit(1);
    }
    CSNDDSV(CODES, &one, TEXT("PKCS-1.1"), &room, public, &hash_length, hash, &signature_length, signature);
    answers(0, 0, "CSNDDSV");
    hash[34] ^= 1;
    CSNDDSV(CODES, &one, TEXT("PKCS-1.1"), &room, public, &hash_length, hash, &signature_length, signature);
    answers(4, 429, "CSNDDSV of another hash");
}

static void refused(void)
{
    unsigned char key[64] = {0}, chain[18] = {0}, mac[8], unread[1];
    long length = 1, count = 0, long_count = 33, negative = -1, longer = (64L << 20) + 1;
    CSNBMGN(CODES, key, &length, NULL, &count, NULL, chain, mac);
    answers(8, 184, "a text of one byte that is null");
    CSNBMGN(CODES, NULL, &length, unread, &count, NULL, chain, mac);
    answers(8, 184, "a key that is null");
    CSNBMGN(CODES, key, NULL, unread, &count, NULL, chain, mac);
    answers(8, 184, "a length that is null");
    CSNBMGN(CODES, key, &negative, unread, &count, NULL, chain, mac);
    answers(8, 72, "a negative length");
    CSNBMGN(CODES, key, &longer, unread, &count, NULL, chain, mac);
    answers(8, 72, "more than 64 MiB");
    CSNBMGN(CODES, key, &length, unread, &long_count, unread, chain, mac);
    answers(8, 35, "33 keywords");
    CSNBAPG(CODES, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    answers(8, 713, "CSNBAPG");
    CSNBMGN(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

int main(void)
{
    refused();
    aes();
    in_place();
    rsa();
    printf("done\n");
    return 0;
}
