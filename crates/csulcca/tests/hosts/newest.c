/* The calls of the newest openCryptoki, in its order and with its lengths and null pointers, and what it checks of the tokens that
   it gets. It is in no package of the systems that the tests run on, and none of its code is here: what it calls, and what it looks
   at, is known from its sources.

   A line "missing NAME" names a function that is refused with 8/713. After "change" the program that reads its output gives the
   domain new master keys, and answers. */
#include "csulincl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(given) ((unsigned char *)(given))
#define CODES &return_code, &reason_code, NULL, NULL
#define NOTHING &none, NULL
#define ROOM 3500

struct token {
    unsigned char bytes[ROOM];
    long length;
};

static long return_code, reason_code, none;
static unsigned char no_key[64];

static void holds(int truth, const char *what)
{
    if (!truth) {
        printf("failed: %s (last codes %ld/%ld)\n", what, return_code, reason_code);
        exit(1);
    }
}

static void answers(long return_expected, long reason_expected, const char *what)
{
    if (return_code != return_expected || reason_code != reason_expected) {
        printf("failed: %s: %ld/%ld\n", what, return_code, reason_code);
        exit(1);
    }
}

#define DONE(what) answers(0, 0, what)

static void is_missing(const char *name)
{
    static char said[1024];
    if (strstr(said, name) == NULL)
        printf("missing %s\n", name);
    strncat(said, name, sizeof said - strlen(said) - 1);
}

/* Whether the call that was just made is of a function that is served. */
static int is_served(const char *name)
{
    if (return_code != 8 || reason_code != 713)
        return 1;
    is_missing(name);
    return 0;
}

static unsigned number(const unsigned char *at)
{
    return at[0] << 8 | at[1];
}

/* Keywords, counted. */
static long words(const char *rules)
{
    return strlen(rules) / 8;
}

/* Patterns of the master keys that are current: DES, AES, and PKA keys. */
enum { SYM, AES, APKA, REGISTERS };
static unsigned char patterns[REGISTERS][8];
static int knows_patterns;

static void has_pattern(const unsigned char *at, int which, const char *what)
{
    holds(!knows_patterns || memcmp(at, patterns[which], 8) == 0, what);
}

/* What the client checks of a token before it keeps it. */
static void check_des(const unsigned char *token, unsigned bytes)
{
    const unsigned form = (token[32 + 5] >> 5) & 7;
    holds(token[0] == 1 && (token[4] == 0 || token[4] == 1), "a DES token begins otherwise");
    if (token[4] == 1 && bytes == 24)
        holds((token[59] & 0x30) == 0x20, "a DES token of triple length says another");
    else if (bytes == 16)
        holds(form == 2 || form == 6 || (token[4] == 1 && (token[59] & 0x30) == 0x10), "a DES token of double length says another");
    has_pattern(token + 8, SYM, "the pattern of a DES token");
}

static void check_aes_data(const unsigned char *token, unsigned bits)
{
    holds(token[0] == 1 && token[4] == 4 && number(token + 56) == bits, "an AES token begins otherwise");
    has_pattern(token + 8, AES, "the pattern of an AES token");
}

static void check_cipher(const struct token *token, unsigned bits)
{
    const unsigned char *at = token->bytes;
    holds(at[0] == 1 && at[4] == 5 && at[41] == 2 && number(at + 42) == 1, "a CIPHER token begins otherwise");
    holds(at[28] != 0 || number(at + 38) == 512 + (bits - 128), "the payload of a CIPHER token");
    holds(number(at + 2) == token->length, "the length of a CIPHER token");
    has_pattern(at + 10, AES, "the pattern of a CIPHER token");
}

static void check_hmac(const struct token *token)
{
    const unsigned char *at = token->bytes;
    const unsigned bits = number(at + 38);
    holds(at[0] == 1 && at[4] == 5 && at[41] == 3 && number(at + 42) == 2, "an HMAC token begins otherwise");
    holds(at[8] == 3 && at[26] == 2 && at[27] == 2 && at[28] == 0, "the wrapping of an HMAC token");
    holds(bits >= 80 && bits <= 2432, "the payload of an HMAC token");
    has_pattern(at + 10, AES, "the pattern of an HMAC token");
}

static const unsigned char *public_section(const struct token *token)
{
    return token->bytes + 8 + number(token->bytes + 8 + 2);
}

static void check_rsa_private(const struct token *token, unsigned bits)
{
    const unsigned char *private = token->bytes + 8, *public = public_section(token);
    holds(token->bytes[0] == 0x1F && (private[0] == 0x30 || private[0] == 0x31), "an RSA key begins otherwise");
    holds(public[0] == 4 && number(public + 8) == bits, "the public section of an RSA key");
    has_pattern(private + (private[0] == 0x30 ? 104 : 116), APKA, "the pattern of an RSA key");
    holds(number(private + (private[0] == 0x30 ? 52 : 62)) == bits / 8, "the modulus of an RSA key");
    holds(number(token->bytes + 2) == token->length, "the length of an RSA key");
}

static void check_ecc_private(const struct token *token, unsigned bits)
{
    const unsigned char *private = token->bytes + 8;
    holds(token->bytes[0] == 0x1F && private[0] == 0x20 && private[4] == 1 && private[10] == 8, "an EC key begins otherwise");
    holds(number(private + 12) == bits, "the length of an EC key");
    has_pattern(private + 16, APKA, "the pattern of an EC key");
}

static void check_public(const struct token *token, unsigned char section)
{
    holds(token->bytes[0] == 0x1E && token->bytes[8] == section, "a public key begins otherwise");
}

/* 3.1: what the client asks before anything else. */
static int query(const char *what, unsigned char *rules, unsigned char *data, long room)
{
    long count = 1;
    memset(rules, ' ', 256);
    memcpy(rules, what, 8);
    CSUACFQ(CODES, &count, rules, &room, data);
    if (!is_served("CSUACFQ"))
        return 0;
    DONE(what);
    return 1;
}

static void take_pattern(const unsigned char *data, int tag_at, unsigned tag, int which)
{
    holds(number(data + tag_at) == tag, "a tag of STATICSB");
    memcpy(patterns[which], data + tag_at + 2, 8);
}

static void initialise(void)
{
    static const char *const states[] = {"STATCCAE", "STATAES ", "STATAPKA"};
    unsigned char version[20], rules[256], data[256] = {0}, *roles = calloc(1, 4096), *role = calloc(1, 4096);
    long length = sizeof version, count, roles_length = 4096, role_length;
    int major = 0, minor = 0;
    CSUACFV(CODES, &length, version);
    DONE("CSUACFV");
    holds(sscanf((char *)version, "%d.%d", &major, &minor) == 2 && major * 10 + minor >= 71, "a version of 7.1 or later");
    if (query("STATCRD2", rules, NULL, 0)) {
        holds(rules[0] >= '1' && rules[0] <= '9' && rules[1] == ' ', "the number of adapters");
        holds(memchr(rules + 112, 0, 8) == NULL && rules[112] != ' ', "a serial number");
        for (int at = 0; at < 3; at++) {
            query(states[at], rules, NULL, 0);
            holds(rules[0] >= '1' && rules[0] <= '3' && rules[8] == '2', "the state of a master key");
        }
        query("STATICSB", rules, data, sizeof data);
        take_pattern(data, 134, 0x0F07, SYM);
        take_pattern(data, 182, 0x0F0B, AES);
        take_pattern(data, 218, 0x0F0E, APKA);
        holds(number(data + 146) == 0x0F06 && number(data + 194) == 0x0F0A && number(data + 230) == 0x0F0D, "tags of new keys");
        knows_patterns = 1;
        query("STATCCA ", rules, NULL, 0);
        holds(sscanf((char *)rules + 24, "%d.%d", &major, &minor) == 2, "the version of an adapter");
    }
    count = 1;
    CSUAACM(CODES, &count, TEXT("LSTROLES"), no_key, &roles_length, roles);
    if (is_served("CSUAACM")) {
        DONE("LSTROLES");
        holds(roles_length >= 8 && roles_length % 8 == 0, "the names of roles");
        for (long at = 0; at < roles_length; at += 8) {
            role_length = 4096;
            CSUAACM(CODES, &count, TEXT("GET-ROLE"), roles + at, &role_length, role);
            DONE("GET-ROLE");
            /* Segments of bits follow a head of 33 bytes. */
            long end = 33;
            for (unsigned segment = 0; segment < number(role + 29); segment++)
                end += 8 + number(role + end + 4);
            holds(role_length >= 33 && end <= role_length, "a role that ends within itself");
            if (memcmp(roles + at, "DFLT", 4) == 0 || memcmp(roles + at, "DEFAULT", 7) == 0) {
                const unsigned upper = number(role + 26);
                holds(number(role + 24) == 0 && (upper == 0 || upper == 0x173B) && role[28] == 0xFE, "the hours of a role");
            }
        }
    }
    free(roles);
    free(role);
}

static void random_numbers(void)
{
    static unsigned char made[8192];
    long count = 1, length = sizeof made;
    CSNBRNGL(CODES, &count, TEXT("RANDOM  "), NOTHING, &length, made);
    DONE("CSNBRNGL");
    for (int at = 0; at < 8192; at += 8)
        holds(memcmp(made + at, "\0\0\0\0\0\0\0\0", 8) != 0, "random bytes that were not written");
}

static void encipher_des(unsigned char *key)
{
    unsigned char iv[8] = "an iv 8", chain[18], text[16] = "sixteen bytes ..", made[16], back[16];
    long length = 16, count = 1, pad = 0;
    CSNBENC(CODES, key, &length, text, iv, &count, TEXT("CBC     "), &pad, chain, made);
    DONE("CSNBENC");
    CSNBDEC(CODES, key, &length, made, iv, &count, TEXT("CBC     "), chain, back);
    DONE("CSNBDEC");
    holds(memcmp(text, back, 16) == 0 && memcmp(text, made, 16) != 0, "another text comes back");
}

static unsigned char des_key[64];

static void des_keys(void)
{
    static const struct { const char *length; unsigned bytes; } kinds[] = {
        {"KEYLN8  ", 8}, {"KEYLN16 ", 16}, {"DOUBLE-O", 16}, {"KEYLN24 ", 24}, {"TRIPLE-O", 24},
    };
    for (int at = 0; at < 5; at++) {
        unsigned char unused[64] = {0};
        memset(des_key, 0, sizeof des_key);
        CSNBKGN(CODES, TEXT("OP      "), TEXT(kinds[at].length), TEXT("DATA    "), unused, no_key, no_key, des_key, unused);
        DONE(kinds[at].length);
        check_des(des_key, kinds[at].bytes);
        encipher_des(des_key);
    }
}

static long aes(struct token *key, int enciphers, const char *rules, unsigned char *from, long length, unsigned char *to,
    unsigned char *tag)
{
    unsigned char iv[16] = "initial value 16", chain[104] = {0};
    long count = words(rules), block = 16, iv_length = 16, room = 64, optional = 8;
    const int is_gcm = tag != NULL;
    long tag_length = is_gcm ? 16 : 0, chain_length = is_gcm ? sizeof chain : 32;
    (enciphers ? CSNBSAE : CSNBSAD)(CODES, &count, TEXT(rules), &key->length, key->bytes, &tag_length, tag, &block,
        &iv_length, iv, &chain_length, chain, &length, from, &room, to, is_gcm ? &optional : &none, TEXT("optional"));
    return room;
}

static void use_aes(struct token *key)
{
    unsigned char text[48] = "a text of forty-eight bytes, which is three b..", made[64], back[64], tag[16];
    static const char *const rules[] = {"AES     ECB     KEYIDENTINITIAL ", "AES     KEYIDENTINITIAL "};
    for (int at = 0; at < 2; at++) {
        holds(aes(key, 1, rules[at], text, 48, made, NULL) == 48, "the length of a ciphertext");
        DONE(rules[at]);
        aes(key, 0, rules[at], made, 48, back, NULL);
        DONE(rules[at]);
        holds(memcmp(text, back, 48) == 0, rules[at]);
    }
    const char *const gcm = "AES     GCM     KEYIDENTONLY    ";
    aes(key, 1, gcm, text, 41, made, tag);
    DONE("GCM");
    aes(key, 0, gcm, made, 41, back, tag);
    DONE("GCM");
    holds(memcmp(text, back, 41) == 0, "GCM: another text");
    tag[15] ^= 1;
    memset(back, 0xA5, sizeof back);
    aes(key, 0, gcm, made, 41, back, tag);
    answers(8, 2947, "GCM with another tag");
    holds(back[0] == 0xA5 && back[40] == 0xA5, "GCM: a refused text");
}

#define ANY_MODE "INTERNALAES     CIPHER  NO-KEY  ANY-MODE"
#define NO_EXPORT "NOEX-SYMNOEXUASYNOEXAASYNOEX-DESNOEX-AESNOEX-RSA"

static void build_cipher(struct token *key, const char *rules)
{
    long count = words(rules);
    key->length = 900;
    CSNBKTB2(CODES, &count, TEXT(rules), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, &key->length, key->bytes);
    DONE("CSNBKTB2");
}

static struct token cipher_key, data_key, hmac_key;

static void generate2(struct token *key, const char *rules, long bits)
{
    long two = 2, room = key->length;
    CSNBKGN2(CODES, &two, TEXT(rules), &bits, TEXT("TOKEN   "), TEXT("        "), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
        NOTHING, &room, key->bytes, NOTHING);
    DONE("CSNBKGN2");
    key->length = room;
}

static void aes_keys(void)
{
    unsigned char clear[32], blanks[8];
    for (int at = 0; at < 32; at++)
        clear[at] = at + 1;
    for (long bits = 128; bits <= 256; bits += 64) {
        long count = 4, one = 1, bytes = bits / 8;
        char build[33];
        snprintf(build, sizeof build, "INTERNALAES     NO-KEY  KEYLN%ld ", bytes);
        memset(data_key.bytes, 0, 64);
        CSNBKTB(CODES, data_key.bytes, TEXT("DATA    "), &count, TEXT(build), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, no_key);
        DONE("CSNBKTB");
        char length[9];
        snprintf(length, sizeof length, "KEYLN%ld ", bytes);
        memset(blanks, ' ', 8);
        CSNBKGN(CODES, TEXT("OP      "), bytes == 32 ? blanks : TEXT(length), TEXT("AESTOKEN"), no_key, no_key, no_key,
            data_key.bytes, no_key);
        DONE("CSNBKGN");
        data_key.length = 64;
        check_aes_data(data_key.bytes, bits);
        use_aes(&data_key);
        CSNBCKM(CODES, &one, TEXT("AES     "), &bytes, clear, data_key.bytes);
        DONE("CSNBCKM");
        check_aes_data(data_key.bytes, bits);

        for (int exports = 0; exports < 2; exports++) {
            build_cipher(&cipher_key, exports ? ANY_MODE : ANY_MODE NO_EXPORT);
            cipher_key.length = 900;
            generate2(&cipher_key, "AES     OP      ", bits);
            check_cipher(&cipher_key, bits);
            use_aes(&cipher_key);
        }
        /* A key of the caller's. */
        struct token imported;
        long three = 3, two = 2, clear_bits = bits, room = 900;
        build_cipher(&imported, ANY_MODE);
        CSNBKPI2(CODES, &three, TEXT("AES     FIRST   MIN1PART"), &clear_bits, clear, &room, imported.bytes);
        DONE("CSNBKPI2 FIRST");
        room = 900;
        CSNBKPI2(CODES, &two, TEXT("AES     COMPLETE"), NOTHING, &room, imported.bytes);
        DONE("CSNBKPI2 COMPLETE");
        imported.length = room;
        check_cipher(&imported, bits);
        unsigned char text[16] = "a block of text.", one_made[16], other_made[16];
        aes(&imported, 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, one_made, NULL);
        DONE("an imported CIPHER key");
        aes(&data_key, 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, other_made, NULL);
        DONE("an imported DATA key");
        holds(memcmp(one_made, other_made, 16) == 0, "one clear key becomes two");

        /* From a DATA key to a CIPHER key. */
        struct token reformed;
        build_cipher(&reformed, ANY_MODE);
        reformed.length = 900;
        CSNBKTR2(CODES, &two, TEXT("AES     REFORMAT"), &data_key.length, data_key.bytes, NOTHING, NOTHING, &reformed.length,
            reformed.bytes);
        if (is_served("CSNBKTR2")) {
            DONE("CSNBKTR2");
            check_cipher(&reformed, bits);
            aes(&reformed, 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, one_made, NULL);
            DONE("a reformed key");
            holds(memcmp(one_made, other_made, 16) == 0, "a reformed key is another");
        }
        long seven = 7;
        CSNBRKA(CODES, &seven, TEXT("AES     " NO_EXPORT), &imported.length, imported.bytes, NOTHING, NOTHING, NOTHING);
        if (is_served("CSNBRKA")) {
            DONE("CSNBRKA");
            check_cipher(&imported, bits);
        }
    }
}

static void translate(void)
{
    static const char *const rules[] = {
        "IKEY-AESI-ECB   OKEY-AESO-ECB   ", "IKEY-AESI-CBC   OKEY-AESO-CBC   ", "IKEY-AESIPKCSPADOKEY-AESOPKCSPAD",
        "IKEY-DESI-CBC   OKEY-AESO-CBC   ",
    };
    for (int at = 0; at < 4; at++) {
        unsigned char text[32] = "thirty-two bytes of text, in all", made[32], again[48] = {0}, back[32], iv[16] = "initial value 16";
        unsigned char chain[128] = {0}, des_iv[8] = "an iv 8", des_chain[18];
        long count = 4, iv_length = at == 0 ? 0 : 16, in = 32, chain_length = 128, out = 48, out_iv = at == 0 ? 0 : 16, length = 64;
        const int is_des = at == 3;
        if (is_des) {
            long one = 1, pad = 0;
            CSNBENC(CODES, des_key, &in, text, des_iv, &one, TEXT("CBC     "), &pad, des_chain, made);
            iv_length = 8;
        } else if (at == 2) {
            /* One byte less, since padding is taken off. */
            aes(&data_key, 1, "AES     PKCS-PADKEYIDENTONLY    ", text, 31, made, NULL);
        } else
            aes(&data_key, 1, at == 0 ? "AES     ECB     KEYIDENTINITIAL " : "AES     KEYIDENTINITIAL ", text, 32, made, NULL);
        DONE("a text to be translated");
        CSNBCTT2(CODES, &count, TEXT(rules[at]), is_des ? &length : &data_key.length,
            is_des ? des_key : data_key.bytes, &iv_length, is_des ? des_iv : iv, &in, made, &chain_length, chain,
            &cipher_key.length, cipher_key.bytes, &out_iv, iv, &out, again, NOTHING, NOTHING);
        if (!is_served("CSNBCTT2"))
            return;
        DONE(rules[at]);
        holds(out == 32, "the length of a translated text");
        if (at == 2)
            holds(aes(&cipher_key, 0, "AES     PKCS-PADKEYIDENTONLY    ", again, 32, back, NULL) == 31, "the padding");
        else
            aes(&cipher_key, 0, at == 0 ? "AES     ECB     KEYIDENTINITIAL " : "AES     KEYIDENTINITIAL ", again, 32, back, NULL);
        DONE("a translated text");
        holds(memcmp(text, back, at == 2 ? 31 : 32) == 0, "a translated text is another");
    }
}

static void hmac(void)
{
    static const char *const hashes[] = {"SHA-1   ", "SHA-224 ", "SHA-256 ", "SHA-384 ", "SHA-512 "};
    static const long lengths[] = {20, 28, 32, 48, 64};
    unsigned char mac[64], clear[32] = "a key of the caller's, of 32 b.";
    long count = 4, two = 2, three = 3, bits = 256;
    hmac_key.length = ROOM;
    CSNBKTB2(CODES, &count, TEXT("INTERNALHMAC    MAC     GENERATE"), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, &hmac_key.length,
        hmac_key.bytes);
    DONE("CSNBKTB2 of HMAC");
    hmac_key.length = ROOM;
    CSNBKPI2(CODES, &three, TEXT("HMAC    FIRST   MIN1PART"), &bits, clear, &hmac_key.length, hmac_key.bytes);
    DONE("CSNBKPI2 FIRST of HMAC");
    hmac_key.length = ROOM;
    CSNBKPI2(CODES, &two, TEXT("HMAC    COMPLETE"), NOTHING, &hmac_key.length, hmac_key.bytes);
    DONE("CSNBKPI2 COMPLETE of HMAC");
    check_hmac(&hmac_key);
    hmac_key.length = ROOM;
    count = 4;
    CSNBKTB2(CODES, &count, TEXT("INTERNALHMAC    MAC     GENERATE"), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, &hmac_key.length,
        hmac_key.bytes);
    hmac_key.length = ROOM;
    generate2(&hmac_key, "HMAC    OP      ", 512);
    check_hmac(&hmac_key);
    for (int at = 0; at < 5; at++) {
        char rules[25];
        long text = 11, chain_length = 128, mac_length = lengths[at];
        unsigned char chain[128] = {0};
        snprintf(rules, sizeof rules, "HMAC    %sONLY    ", hashes[at]);
        CSNBHMG(CODES, &three, TEXT(rules), &hmac_key.length, hmac_key.bytes, &text, TEXT("eleven byte"), &chain_length, chain,
            &mac_length, mac);
        DONE(rules);
        CSNBHMV(CODES, &three, TEXT(rules), &hmac_key.length, hmac_key.bytes, &text, TEXT("eleven byte"), &chain_length, chain,
            &mac_length, mac);
        DONE(rules);
        mac[0] ^= 1;
        CSNBHMV(CODES, &three, TEXT(rules), &hmac_key.length, hmac_key.bytes, &text, TEXT("eleven byte"), &chain_length, chain,
            &mac_length, mac);
        holds(return_code == 4 && (reason_code == 1 || reason_code == 429), "an HMAC that does not verify");
    }
}

static void hashes(void)
{
    static const struct { const char *method; long length; const char *begins; int has_parts; } kinds[] = {
        {"SHA-1   ", 20, "\xa9\x99\x3e\x36", 1}, {"SHA-224 ", 28, "\x23\x09\x7d\x22", 1},
        {"SHA-256 ", 32, "\xba\x78\x16\xbf", 1}, {"SHA-384 ", 48, "\xcb\x00\x75\x3f", 1},
        {"SHA-512 ", 64, "\xdd\xaf\x35\xa1", 1}, {"SHA3-224", 28, "\xe6\x42\x82\x4c", 0},
        {"SHA3-256", 32, "\x3a\x98\x5d\xa7", 0}, {"SHA3-384", 48, "\xec\x01\x49\x82", 0},
        {"SHA3-512", 64, "\xb7\x51\x85\x0b", 0},
    };
    for (int at = 0; at < 9; at++) {
        unsigned char chain[256] = {0}, hash[64], parts[64], rules[17] = {0}, text[256] = {0};
        long two = 2, length = 3, chain_length = 256, hash_length = kinds[at].length;
        snprintf((char *)rules, sizeof rules, "%sONLY    ", kinds[at].method);
        CSNBOWH(CODES, &two, rules, &length, TEXT("abc"), &chain_length, chain, &hash_length, hash);
        DONE((char *)rules);
        holds(memcmp(hash, kinds[at].begins, 4) == 0, "another hash");
        if (!kinds[at].has_parts)
            continue;
        length = 256;
        CSNBOWH(CODES, &two, rules, &length, text, &chain_length, chain, &hash_length, hash);
        length = 128;
        memcpy(rules + 8, "FIRST   ", 8);
        CSNBOWH(CODES, &two, rules, &length, text, &chain_length, chain, &hash_length, parts);
        DONE((char *)rules);
        memcpy(rules + 8, "MIDDLE  ", 8);
        CSNBOWH(CODES, &two, rules, &length, text, &chain_length, chain, &hash_length, parts);
        DONE((char *)rules);
        memcpy(rules + 8, "LAST    ", 8);
        CSNBOWH(CODES, &two, rules, &none, text, &chain_length, chain, &hash_length, parts);
        DONE((char *)rules);
        holds(memcmp(hash, parts, kinds[at].length) == 0, "in parts it is another hash");
    }
}

/* A key pair of what is described, and its public half. */
static void generate_pair(struct token *key, struct token *public, const char *rules, unsigned char *values, long length,
    unsigned char *derivation)
{
    struct token skeleton;
    long count = words(rules), one = 1, four = 4;
    skeleton.length = key->length = public->length = ROOM;
    memset(skeleton.bytes, 0, ROOM);
    memset(key->bytes, 0, ROOM);
    CSNDPKB(CODES, &count, TEXT(rules), &length, values, NOTHING, NOTHING, derivation == NULL ? &none : &four, derivation,
        NOTHING, NOTHING, NOTHING, &skeleton.length, skeleton.bytes);
    DONE(rules);
    CSNDPKG(CODES, &one, TEXT("MASTER  "), NOTHING, &skeleton.length, skeleton.bytes, no_key, &key->length, key->bytes);
    DONE("CSNDPKG");
    CSNDPKX(CODES, &none, NULL, &key->length, key->bytes, &public->length, public->bytes);
    DONE("CSNDPKX");
}

static void sign(struct token *key, struct token *public, const char *rules, unsigned char *data, long length)
{
    unsigned char signature[512];
    long count = words(rules), signature_length = sizeof signature, bits;
    CSNDDSG(CODES, &count, TEXT(rules), &key->length, key->bytes, &length, data, &signature_length, &bits, signature);
    DONE(rules);
    CSNDDSV(CODES, &count, TEXT(rules), &public->length, public->bytes, &length, data, &signature_length, signature);
    DONE(rules);
    data[length - 1] ^= 1;
    CSNDDSV(CODES, &count, TEXT(rules), &public->length, public->bytes, &length, data, &signature_length, signature);
    data[length - 1] ^= 1;
    answers(4, 429, rules);
}

static void encrypt(struct token *key, struct token *public, const char *rules)
{
    unsigned char text[20] = "a message of 20 byte", enciphered[512], back[512];
    long count = words(rules), length = sizeof text, enciphered_length = sizeof enciphered, back_length = sizeof back;
    CSNDPKE(CODES, &count, TEXT(rules), &length, text, NOTHING, &public->length, public->bytes, &enciphered_length, enciphered);
    DONE(rules);
    CSNDPKD(CODES, &count, TEXT(rules), &enciphered_length, enciphered, NOTHING, &key->length, key->bytes, &back_length, back);
    DONE(rules);
    holds(back_length == 20 && memcmp(text, back, 20) == 0, rules);
}

/* Keys under an RSA key, out and in again. */
static void transport(struct token *key, struct token *public)
{
    static const struct { const char *out; int is_des; } kinds[] = {
        {"AES     PKCS-1.2", 0}, {"DES     PKCS-1.2", 1}, {"AES     PKCSOAEPSHA-1   ", 0}, {"AES     PKCSOAEPSHA-256 ", 0},
    };
    for (int at = 0; at < 4; at++) {
        unsigned char enciphered[512];
        struct token back = {{0}, ROOM};
        long count = words(kinds[at].out), enciphered_length = sizeof enciphered, length = 64;
        struct token *data = &data_key;
        unsigned char plain_des[64], unused[64] = {0};
        CSNBKGN(CODES, TEXT("OP      "), TEXT("KEYLN16 "), TEXT("DATA    "), unused, no_key, no_key, memset(plain_des, 0, 64), unused);
        DONE("a DES key to be sent");
        CSNDSYX(CODES, &count, TEXT(kinds[at].out), &length, kinds[at].is_des ? plain_des : data->bytes, &public->length,
            public->bytes, &enciphered_length, enciphered);
        DONE(kinds[at].out);
        CSNDSYI(CODES, &count, TEXT(kinds[at].out), &enciphered_length, enciphered, &key->length, key->bytes, &back.length, back.bytes);
        DONE(kinds[at].out);
        if (kinds[at].is_des)
            check_des(back.bytes, 16);
        else
            check_aes_data(back.bytes, number(data->bytes + 56));
    }
    /* CIPHER keys, by the mechanism that wraps any length. */
    unsigned char wrapped[900];
    struct token back;
    long two = 2, wrapped_length = sizeof wrapped;
    CSNDSYX(CODES, &two, TEXT("AES     CKM-RAKW"), &cipher_key.length, cipher_key.bytes, &public->length, public->bytes,
        &wrapped_length, wrapped);
    if (return_code == 8 && (reason_code == 33 || reason_code == 34))
        is_missing("CKM-RAKW");
    else {
        DONE("CKM-RAKW");
        build_cipher(&back, ANY_MODE);
        back.length = 900;
        CSNDSYI2(CODES, &two, TEXT("AES     CKM-RAKW"), &wrapped_length, wrapped, &key->length, key->bytes, NOTHING, &back.length,
            back.bytes);
        if (is_served("CSNDSYI2")) {
            DONE("CSNDSYI2");
            use_aes(&back);
        }
    }
}

static struct token rsa_key, rsa_public;

static void rsa(void)
{
    /* SHA-256 in its DER form; a salt's length and a hash. */
    unsigned char der[51] = "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20";
    unsigned char salted[36] = {0, 0, 0, 32};
    for (unsigned bits = 2048; bits <= 4096; bits += 1024) {
        unsigned char values[21] = {bits >> 8, bits & 0xFF, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1};
        struct token key, public;
        generate_pair(&key, &public, "RSA-AESCKEY-MGMT", values, sizeof values, NULL);
        check_rsa_private(&key, bits);
        check_public(&public, 4);
        sign(&key, &public, "PKCS-1.1", der, sizeof der);
        sign(&key, &public, "PKCS-PSSSHA-256 ", salted, sizeof salted);
        encrypt(&key, &public, "PKCS-1.2");
        encrypt(&key, &public, "PKCSOAEPSHA-1   ");
        encrypt(&key, &public, "PKOAEP2 SHA-256 ");
        if (bits == 2048) {
            transport(&key, &public);
            rsa_key = key;
            rsa_public = public;
        }
        /* A public key of a modulus and an exponent. */
        unsigned char public_values[600] = {bits >> 8, bits & 0xFF, bits / 8 >> 8, bits / 8 & 0xFF, 0, 3};
        const unsigned char *const section = public.bytes + 8;
        const long modulus_at = 12 + number(section + 6);
        struct token built = {{0}, ROOM};
        long one = 1, values_length = 8 + bits / 8 + 3;
        memcpy(public_values + 8, section + modulus_at, bits / 8);
        memcpy(public_values + 8 + bits / 8, "\1\0\1", 3);
        CSNDPKB(CODES, &one, TEXT("RSA-PUBL"), &values_length, public_values, NOTHING, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, &built.length, built.bytes);
        DONE("RSA-PUBL");
        encrypt(&key, &built, "PKCS-1.2");
    }
}

static struct token ec_key, ec_public;

static void curves(void)
{
    static const struct { unsigned char curve; unsigned bits, hash; } kinds[] = {
        {0, 224, 28}, {0, 256, 32}, {0, 384, 48}, {0, 521, 64}, {1, 256, 32}, {1, 384, 48}, {3, 256, 32},
    };
    unsigned char hash[64] = "what is signed: as long as the hash that its curve is used with", message[100];
    struct token key, public;
    for (int at = 0; at < 7; at++) {
        unsigned char values[8] = {kinds[at].curve, 0, kinds[at].bits >> 8, kinds[at].bits & 0xFF};
        generate_pair(&key, &public, "ECC-PAIRSIG-ONLY", values, sizeof values, NULL);
        check_ecc_private(&key, kinds[at].bits);
        check_public(&public, 0x21);
        sign(&key, &public, "ECDSA   ", hash, kinds[at].hash);
    }
    unsigned char edwards[8] = {2, 0, 0, 255};
    generate_pair(&key, &public, "ECC-PAIR", edwards, sizeof edwards, NULL);
    check_ecc_private(&key, 255);
    memset(message, 'm', sizeof message);
    sign(&key, &public, "EDDSA   ED-HASH MESSAGE ", message, sizeof message);

    /* Two sides agree on a key of a kind that their keys name. */
    unsigned char values[8] = {0, 0, 1, 0}, derivation[4] = {2, 1, 1, 0}, party[16] = "shared by both.";
    struct token other, other_public, agreed[2];
    generate_pair(&ec_key, &ec_public, "ECC-PAIRKEY-MGMTECC-VER1", values, sizeof values, derivation);
    generate_pair(&other, &other_public, "ECC-PAIRKEY-MGMTECC-VER1", values, sizeof values, derivation);
    check_ecc_private(&ec_key, 256);
    for (int side = 0; side < 2; side++) {
        struct token *private = side == 0 ? &ec_key : &other, *theirs = side == 0 ? &other_public : &ec_public;
        long three = 3, bits = 256, party_length = sizeof party;
        agreed[side].length = ROOM;
        memset(agreed[side].bytes, 0, ROOM);
        CSNDEDH(CODES, &three, TEXT("DERIV02 KEY-AES SHA-256 "), &private->length, private->bytes, NOTHING, &theirs->length,
            theirs->bytes, NOTHING, &party_length, party, &bits, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
            &agreed[side].length, agreed[side].bytes);
        if (!is_served("CSNDEDH"))
            return;
        DONE("CSNDEDH");
        check_aes_data(agreed[side].bytes, 256);
    }
    unsigned char text[16] = "a block of text.", made[2][16];
    for (int side = 0; side < 2; side++) {
        aes(&agreed[side], 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, made[side], NULL);
        DONE("an agreed key");
    }
    holds(memcmp(made[0], made[1], 16) == 0, "two sides agree on two keys");
}

static void no_post_quantum_keys(void)
{
    struct token skeleton = {{0}, ROOM};
    unsigned char values[8] = {2, 0, 6, 5};
    long two = 2, length = sizeof values;
    CSNDPKB(CODES, &two, TEXT("QSA-PAIRU-DIGSIG"), &length, values, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
        &skeleton.length, skeleton.bytes);
    answers(8, 33, "a key pair that no quantum computer breaks");
}

/* Asks for the change of all master keys, and waits for it. */
static void change(void)
{
    char line[16];
    printf("change\n");
    fflush(stdout);
    holds(fgets(line, sizeof line, stdin) != NULL, "no answer");
}

/* Keys of before: under the old master keys they work and are renewed; under those before them, reason 48 says so. */
static void renew(void)
{
    struct token old_data = data_key, old_cipher = cipher_key, old_rsa = rsa_key, old_ec = ec_key;
    unsigned char old_des[64], iv[8] = {0}, chain[18], text[16] = {0}, block[16], des_made[16], aes_made[16];
    long one = 1, two = 2, pad = 0, length = 16;
    memcpy(old_des, des_key, 64);
    CSNBENC(CODES, des_key, &length, text, iv, &one, TEXT("CBC     "), &pad, chain, des_made);
    DONE("CSNBENC");
    aes(&cipher_key, 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, aes_made, NULL);
    DONE("CSNBSAE");
    change();
    CSNBKTC(CODES, &one, TEXT("RTCMK   "), des_key);
    DONE("CSNBKTC of DES");
    CSNBKTC(CODES, &two, TEXT("RTCMK   AES     "), data_key.bytes);
    DONE("CSNBKTC of AES");
    CSNBKTC2(CODES, &two, TEXT("RTCMK   AES     "), &cipher_key.length, cipher_key.bytes);
    DONE("CSNBKTC2 of AES");
    CSNBKTC2(CODES, &two, TEXT("RTCMK   HMAC    "), &hmac_key.length, hmac_key.bytes);
    DONE("CSNBKTC2 of HMAC");
    CSNDKTC(CODES, &two, TEXT("RTCMK   RSA     "), &rsa_key.length, rsa_key.bytes);
    DONE("CSNDKTC of RSA");
    CSNDKTC(CODES, &two, TEXT("RTCMK   ECC     "), &ec_key.length, ec_key.bytes);
    DONE("CSNDKTC of EC");
    holds(memcmp(old_des + 8, des_key + 8, 8) != 0, "the pattern stays");
    change();
    /* The renewed keys are one change old, the others two. */
    CSNBENC(CODES, old_des, &length, text, iv, &one, TEXT("CBC     "), &pad, chain, block);
    answers(8, 48, "a DES key under a forgotten master key");
    aes(&old_data, 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, block, NULL);
    answers(8, 48, "an AES key under a forgotten master key");
    aes(&old_cipher, 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, block, NULL);
    answers(8, 48, "a CIPHER key under a forgotten master key");
    unsigned char signature[512], hash[51] = {0};
    long signature_length = sizeof signature, bits, hash_length = 32;
    CSNDDSG(CODES, &one, TEXT("PKCS-1.1"), &old_rsa.length, old_rsa.bytes, &hash_length, hash, &signature_length, &bits, signature);
    answers(8, 48, "an RSA key under a forgotten master key");
    long room = ROOM;
    CSNDPKX(CODES, &none, NULL, &old_ec.length, old_ec.bytes, &room, block);
    answers(8, 48, "an EC key under a forgotten master key");
    CSNBENC(CODES, des_key, &length, text, iv, &one, TEXT("CBC     "), &pad, chain, block);
    holds(return_code == 0 && memcmp(block, des_made, 16) == 0, "a renewed DES key");
    aes(&cipher_key, 1, "AES     ECB     KEYIDENTINITIAL ", text, 16, block, NULL);
    holds(return_code == 0 && memcmp(block, aes_made, 16) == 0, "a renewed CIPHER key");
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    initialise();
    random_numbers();
    des_keys();
    aes_keys();
    translate();
    hmac();
    hashes();
    rsa();
    curves();
    no_post_quantum_keys();
    renew();
    printf("done\n");
    return 0;
}
