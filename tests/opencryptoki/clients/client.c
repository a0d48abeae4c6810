/* Debian's openCryptoki with two tokens: its own in software, and the one of CCA. Each does what the other does, in one
   process, and the answers are compared. What the software token cannot do is printed, for OpenSSL to verify. */
#include "cryptoki.h"

#define TEXT_MAX 5000
#define TOKENS 2

static ulong sessions[TOKENS];
static byte text[TEXT_MAX];

/* No pattern that a wrong chaining could meet by chance. */
static void fill(byte *bytes, ulong length, unsigned seed)
{
    for (ulong at = 0; at < length; at++) {
        seed = seed * 1664525 + 1013904223;
        bytes[at] = seed >> 24;
    }
}

/* DES keys have odd parity. */
static void set_parity(byte *key, ulong length)
{
    for (ulong at = 0; at < length; at++)
        key[at] = (key[at] & 0xFE) | !(__builtin_popcount(key[at] & 0xFE) & 1);
}

struct cipher {
    const char *name;
    ulong mechanism, type, key_length, block;
    int is_padded, has_iv;
};

static const struct cipher ciphers[] = {
    {"DES-CBC", CKM_DES_CBC, CKK_DES, 8, 8, 0, 1},
    {"DES-CBC-PAD", CKM_DES_CBC_PAD, CKK_DES, 8, 8, 1, 1},
    {"TDES-CBC", CKM_DES3_CBC, CKK_DES3, 24, 8, 0, 1},
    {"TDES-CBC-PAD", CKM_DES3_CBC_PAD, CKK_DES3, 24, 8, 1, 1},
    {"AES-128-ECB", CKM_AES_ECB, CKK_AES, 16, 16, 0, 0},
    {"AES-192-ECB", CKM_AES_ECB, CKK_AES, 24, 16, 0, 0},
    {"AES-256-ECB", CKM_AES_ECB, CKK_AES, 32, 16, 0, 0},
    {"AES-128-CBC", CKM_AES_CBC, CKK_AES, 16, 16, 0, 1},
    {"AES-192-CBC", CKM_AES_CBC, CKK_AES, 24, 16, 0, 1},
    {"AES-256-CBC", CKM_AES_CBC, CKK_AES, 32, 16, 0, 1},
    {"AES-128-CBC-PAD", CKM_AES_CBC_PAD, CKK_AES, 16, 16, 1, 1},
    {"AES-192-CBC-PAD", CKM_AES_CBC_PAD, CKK_AES, 24, 16, 1, 1},
    {"AES-256-CBC-PAD", CKM_AES_CBC_PAD, CKK_AES, 32, 16, 1, 1},
};

/* Both tokens encipher one text under one key, at once and in parts, and each deciphers what the other made. */
static void compare_cipher(const struct cipher *cipher, ulong length)
{
    byte key[32], iv[16], made[TOKENS][TEXT_MAX + 16], in_parts[TEXT_MAX + 32], back[TEXT_MAX + 16];
    ulong keys[TOKENS], lengths[TOKENS];
    struct mechanism mechanism = {cipher->mechanism, cipher->has_iv ? iv : NULL, cipher->has_iv ? cipher->block : 0};
    doing = cipher->name;
    fill(key, cipher->key_length, length);
    if (cipher->block == 8)
        set_parity(key, cipher->key_length);
    fill(iv, sizeof iv, length + 1);
    for (int token = 0; token < TOKENS; token++) {
        ulong part, done = 0;
        keys[token] = import(sessions[token], cipher->type, key, cipher->key_length);
        lengths[token] = sizeof made[token];
        MUST(C_EncryptInit(sessions[token], &mechanism, keys[token]));
        MUST(C_Encrypt(sessions[token], text, length, made[token], &lengths[token]));
        MUST(C_EncryptInit(sessions[token], &mechanism, keys[token]));
        for (ulong at = 0; at < length; at += 100) {
            part = sizeof in_parts - done;
            MUST(C_EncryptUpdate(sessions[token], text + at, length - at < 100 ? length - at : 100, in_parts + done, &part));
            done += part;
        }
        part = sizeof in_parts - done;
        MUST(C_EncryptFinal(sessions[token], in_parts + done, &part));
        done += part;
        holds(done == lengths[token] && memcmp(in_parts, made[token], done) == 0, "in parts it is another ciphertext");
    }
    holds(lengths[0] == lengths[1] && memcmp(made[0], made[1], lengths[0]) == 0, "the tokens encipher differently");
    for (int token = 0; token < TOKENS; token++) {
        ulong back_length = sizeof back;
        MUST(C_DecryptInit(sessions[token], &mechanism, keys[token]));
        MUST(C_Decrypt(sessions[token], made[!token], lengths[!token], back, &back_length));
        holds(back_length == length && memcmp(back, text, length) == 0, "another text comes back");
        MUST(C_DestroyObject(sessions[token], keys[token]));
    }
}

static void ciphers_agree(void)
{
    static const ulong lengths[] = {16, 64, 1, 15, 17, 1000, 4096, 4999};
    for (ulong at = 0; at < sizeof ciphers / sizeof *ciphers; at++)
        for (ulong which = 0; which < sizeof lengths / sizeof *lengths; which++)
            if (ciphers[at].is_padded || lengths[which] % ciphers[at].block == 0)
                compare_cipher(&ciphers[at], lengths[which]);
    printf("ciphers agree\n");
}

struct hash {
    const char *name;
    ulong digest, hmac, hmac_general, length, block;
};

static const struct hash hashes[] = {
    {"SHA-1", CKM_SHA_1, CKM_SHA_1_HMAC, CKM_SHA_1_HMAC_GENERAL, 20, 64},
    {"SHA-256", CKM_SHA256, CKM_SHA256_HMAC, CKM_SHA256_HMAC_GENERAL, 32, 64},
    {"SHA-384", CKM_SHA384, CKM_SHA384_HMAC, CKM_SHA384_HMAC_GENERAL, 48, 128},
    {"SHA-512", CKM_SHA512, CKM_SHA512_HMAC, CKM_SHA512_HMAC_GENERAL, 64, 128},
};

static void compare_digest(const struct hash *hash, ulong length)
{
    byte made[TOKENS][64], in_parts[64];
    struct mechanism mechanism = {hash->digest, NULL, 0};
    doing = hash->name;
    for (int token = 0; token < TOKENS; token++) {
        ulong made_length = sizeof made[token], parts_length = sizeof in_parts;
        MUST(C_DigestInit(sessions[token], &mechanism));
        MUST(C_Digest(sessions[token], text, length, made[token], &made_length));
        MUST(C_DigestInit(sessions[token], &mechanism));
        for (ulong at = 0; at < length; at += 333)
            MUST(C_DigestUpdate(sessions[token], text + at, length - at < 333 ? length - at : 333));
        MUST(C_DigestFinal(sessions[token], in_parts, &parts_length));
        holds(made_length == hash->length && parts_length == hash->length, "the length of a hash");
        holds(memcmp(made[token], in_parts, hash->length) == 0, "in parts it is another hash");
    }
    holds(memcmp(made[0], made[1], hash->length) == 0, "the tokens hash differently");
}

/* Both make one HMAC, at once, in parts and shortened; each verifies the other's, and refuses a changed one. */
static void compare_hmac(const struct hash *hash, ulong length, ulong key_length)
{
    byte key[128], made[TOKENS][64], in_parts[64], shortened[64];
    ulong keys[TOKENS], short_length = 10;
    struct mechanism mechanism = {hash->hmac, NULL, 0}, general = {hash->hmac_general, &short_length, sizeof short_length};
    doing = hash->name;
    fill(key, key_length, length);
    for (int token = 0; token < TOKENS; token++) {
        ulong made_length = sizeof made[token], parts_length = sizeof in_parts, shortened_length = sizeof shortened;
        keys[token] = import(sessions[token], CKK_GENERIC_SECRET, key, key_length);
        MUST(C_SignInit(sessions[token], &mechanism, keys[token]));
        MUST(C_Sign(sessions[token], text, length, made[token], &made_length));
        MUST(C_SignInit(sessions[token], &general, keys[token]));
        MUST(C_Sign(sessions[token], text, length, shortened, &shortened_length));
        holds(made_length == hash->length && shortened_length == short_length, "the length of an HMAC");
        holds(memcmp(made[token], shortened, short_length) == 0, "shortened it is another HMAC");
        if (token == SLOT_SOFT)
            continue;
        MUST(C_SignInit(sessions[token], &mechanism, keys[token]));
        for (ulong at = 0; at < length; at += 333)
            MUST(C_SignUpdate(sessions[token], text + at, length - at < 333 ? length - at : 333));
        MUST(C_SignFinal(sessions[token], in_parts, &parts_length));
        holds(parts_length == hash->length && memcmp(made[token], in_parts, hash->length) == 0, "in parts it is another HMAC");
    }
    holds(memcmp(made[0], made[1], hash->length) == 0, "the tokens make different HMACs");
    for (int token = 0; token < TOKENS; token++) {
        MUST(C_VerifyInit(sessions[token], &mechanism, keys[token]));
        MUST(C_Verify(sessions[token], text, length, made[!token], hash->length));
        made[!token][hash->length - 1] ^= 1;
        MUST(C_VerifyInit(sessions[token], &mechanism, keys[token]));
        const ulong refused = C_Verify(sessions[token], text, length, made[!token], hash->length);
        holds(refused == CKR_SIGNATURE_INVALID, "a changed HMAC");
        MUST(C_DestroyObject(sessions[token], keys[token]));
    }
}

static void hashes_agree(void)
{
    static const ulong lengths[] = {1, 63, 64, 65, 127, 128, 129, 1000, 4999}, key_lengths[] = {10, 32, 64, 128};
    for (ulong at = 0; at < sizeof hashes / sizeof *hashes; at++)
        for (ulong which = 0; which < sizeof lengths / sizeof *lengths; which++) {
            compare_digest(&hashes[at], lengths[which]);
            for (ulong key = 0; key < sizeof key_lengths / sizeof *key_lengths; key++)
                compare_hmac(&hashes[at], lengths[which], key_lengths[key]);
        }
    printf("hashes and HMACs agree\n");
}

/* Keys that a card made: what is enciphered comes back, and two keys are not the same. */
static void generated_keys(void)
{
    static const struct { ulong generate, length, cipher, block; } kinds[] = {
        {CKM_DES_KEY_GEN, 0, CKM_DES_CBC, 8},
        {CKM_DES3_KEY_GEN, 0, CKM_DES3_CBC, 8},
        {CKM_AES_KEY_GEN, 16, CKM_AES_CBC, 16},
        {CKM_AES_KEY_GEN, 24, CKM_AES_CBC, 16},
        {CKM_AES_KEY_GEN, 32, CKM_AES_CBC, 16},
    };
    const ulong session = sessions[SLOT_CCA];
    doing = "generated keys";
    for (ulong at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        byte yes = 1, iv[16] = {0}, made[2][64], back[64];
        for (int which = 0; which < 2; which++) {
            ulong length = kinds[at].length, key, made_length = 64, back_length = 64;
            struct attribute attributes[] = {
                {CKA_ENCRYPT, &yes, 1}, {CKA_DECRYPT, &yes, 1}, {CKA_VALUE_LEN, &length, sizeof length},
            };
            struct mechanism generate = {kinds[at].generate, NULL, 0}, cipher = {kinds[at].cipher, iv, kinds[at].block};
            MUST(C_GenerateKey(session, &generate, attributes, length == 0 ? 2 : 3, &key));
            MUST(C_EncryptInit(session, &cipher, key));
            MUST(C_Encrypt(session, text, 64, made[which], &made_length));
            MUST(C_DecryptInit(session, &cipher, key));
            MUST(C_Decrypt(session, made[which], 64, back, &back_length));
            holds(memcmp(back, text, 64) == 0 && memcmp(made[which], text, 64) != 0, "another text comes back");
        }
        holds(memcmp(made[0], made[1], 64) != 0, "two keys are the same");
    }
    ulong length = 32, key, mac_length = 32;
    byte yes = 1, mac[32];
    struct attribute attributes[] = {{CKA_SIGN, &yes, 1}, {CKA_VERIFY, &yes, 1}, {CKA_VALUE_LEN, &length, sizeof length}};
    struct mechanism generate = {CKM_GENERIC_SECRET_KEY_GEN, NULL, 0}, hmac = {CKM_SHA256_HMAC, NULL, 0};
    MUST(C_GenerateKey(session, &generate, attributes, 3, &key));
    MUST(C_SignInit(session, &hmac, key));
    MUST(C_Sign(session, text, 100, mac, &mac_length));
    MUST(C_VerifyInit(session, &hmac, key));
    MUST(C_Verify(session, text, 100, mac, mac_length));
    printf("generated keys work\n");
}

static void random_bytes(void)
{
    byte made[2][1000] = {0};
    doing = "random numbers";
    for (int which = 0; which < 2; which++)
        MUST(C_GenerateRandom(sessions[SLOT_CCA], made[which], sizeof made[which]));
    holds(memcmp(made[0], made[1], sizeof made[0]) != 0, "twice the same bytes");
    for (ulong at = 0; at + 8 <= sizeof made[0]; at += 8)
        holds(memcmp(made[0] + at, "\0\0\0\0\0\0\0\0", 8) != 0, "bytes that were not written");
    printf("random numbers differ\n");
}

static void print(const char *what, const byte *bytes, ulong length)
{
    printf(" %s=", what);
    for (ulong at = 0; at < length; at++)
        printf("%02x", bytes[at]);
}

/* Signatures, printed with what verifies them. */
static void sign(const char *name, const char *curve, ulong length)
{
    byte yes = 1, point[160], signature[160], hash[32];
    ulong public, private, signature_length = sizeof signature;
    const ulong session = sessions[SLOT_CCA];
    struct attribute public_attributes[] = {{CKA_EC_PARAMS, (void *)curve, length}, {CKA_VERIFY, &yes, 1}};
    struct attribute private_attributes[] = {{CKA_SIGN, &yes, 1}};
    struct attribute read = {CKA_EC_POINT, point, sizeof point};
    struct mechanism generate = {CKM_EC_KEY_PAIR_GEN, NULL, 0}, ecdsa = {CKM_ECDSA, NULL, 0}, hashed = {CKM_ECDSA_SHA256, NULL, 0};
    doing = name;
    fill(hash, sizeof hash, length);
    MUST(C_GenerateKeyPair(session, &generate, public_attributes, 2, private_attributes, 1, &public, &private));
    MUST(C_GetAttributeValue(session, public, &read, 1));
    MUST(C_SignInit(session, &ecdsa, private));
    MUST(C_Sign(session, hash, sizeof hash, signature, &signature_length));
    MUST(C_VerifyInit(session, &ecdsa, public));
    MUST(C_Verify(session, hash, sizeof hash, signature, signature_length));
    printf("signature curve=%s", name);
    print("point", point, read.length);
    print("hash", hash, sizeof hash);
    print("made", signature, signature_length);
    printf("\n");
    signature[signature_length - 1] ^= 1;
    MUST(C_VerifyInit(session, &ecdsa, public));
    holds(C_Verify(session, hash, sizeof hash, signature, signature_length) == CKR_SIGNATURE_INVALID, "a changed signature");
    signature_length = sizeof signature;
    MUST(C_SignInit(session, &hashed, private));
    MUST(C_Sign(session, text, 1000, signature, &signature_length));
    MUST(C_VerifyInit(session, &hashed, public));
    MUST(C_Verify(session, text, 1000, signature, signature_length));
    text[0] ^= 1;
    MUST(C_VerifyInit(session, &hashed, public));
    holds(C_Verify(session, text, 1000, signature, signature_length) == CKR_SIGNATURE_INVALID, "a changed text");
    text[0] ^= 1;
}

static void signatures(void)
{
    sign("P-224", "\x06\x05\x2b\x81\x04\x00\x21", 7);
    sign("P-256", "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 10);
    sign("P-384", "\x06\x05\x2b\x81\x04\x00\x22", 7);
    sign("P-521", "\x06\x05\x2b\x81\x04\x00\x23", 7);
    sign("brainpoolP256r1", "\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01\x07", 11);
    sign("brainpoolP384r1", "\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01\x0b", 11);
    printf("signatures verify\n");
}

/* Asks whoever started this program to stop the daemon and start it again. */
static void restart(void)
{
    char line[16];
    printf("restart\n");
    fflush(stdout);
    holds(fgets(line, sizeof line, stdin) != NULL, "no answer");
}

int main(int count, char **arguments)
{
    holds(count == 2, "usage: client LIBRARY");
    load(arguments[1]);
    MUST(C_Initialize(NULL));
    for (int token = 0; token < TOKENS; token++)
        sessions[token] = begin(token);
    fill(text, sizeof text, 1);
    const ulong kept = import(sessions[SLOT_CCA], CKK_AES, text, 32);
    byte before[64], after[64];
    ulong length = sizeof before;
    struct mechanism ecb = {CKM_AES_ECB, NULL, 0};
    MUST(C_EncryptInit(sessions[SLOT_CCA], &ecb, kept));
    MUST(C_Encrypt(sessions[SLOT_CCA], text, 64, before, &length));
    random_bytes();
    ciphers_agree();
    restart();
    doing = "the key from before the restart";
    MUST(C_EncryptInit(sessions[SLOT_CCA], &ecb, kept));
    MUST(C_Encrypt(sessions[SLOT_CCA], text, 64, after, &length));
    holds(memcmp(before, after, 64) == 0, "it is another key");
    hashes_agree();
    generated_keys();
    signatures();
    MUST(C_Finalize(NULL));
    printf("done\n");
    return 0;
}
