/* What the programs of this folder use of PKCS #11 2.20: the interface of the standard, in the order of its text. */
#pragma once
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long ulong;
typedef unsigned char byte;

struct mechanism {
    ulong mechanism;
    void *parameter;
    ulong length;
};

struct attribute {
    ulong type;
    void *value;
    ulong length;
};

enum { SLOT_SOFT = 0, SLOT_CCA = 1 };
enum { CKU_SO = 0, CKU_USER = 1 };
enum { CKF_SERIAL_RW = 6 };
enum { CKR_OK = 0, CKR_FUNCTION_FAILED = 6, CKR_SIGNATURE_INVALID = 0xC0 };
enum { CKO_SECRET_KEY = 4 };
enum { CKK_GENERIC_SECRET = 0x10, CKK_DES = 0x13, CKK_DES3 = 0x15, CKK_AES = 0x1F };
enum {
    CKA_CLASS = 0, CKA_TOKEN = 1, CKA_PRIVATE = 2, CKA_LABEL = 3, CKA_VALUE = 0x11, CKA_KEY_TYPE = 0x100,
    CKA_SENSITIVE = 0x103, CKA_ENCRYPT = 0x104, CKA_DECRYPT = 0x105, CKA_SIGN = 0x108, CKA_VERIFY = 0x10A,
    CKA_VALUE_LEN = 0x161, CKA_EC_PARAMS = 0x180, CKA_EC_POINT = 0x181
};
enum {
    CKM_DES_KEY_GEN = 0x120, CKM_DES_CBC = 0x122, CKM_DES_CBC_PAD = 0x125,
    CKM_DES3_KEY_GEN = 0x131, CKM_DES3_CBC = 0x133, CKM_DES3_CBC_PAD = 0x136,
    CKM_SHA_1 = 0x220, CKM_SHA_1_HMAC = 0x221, CKM_SHA_1_HMAC_GENERAL = 0x222,
    CKM_SHA256 = 0x250, CKM_SHA256_HMAC = 0x251, CKM_SHA256_HMAC_GENERAL = 0x252,
    CKM_SHA384 = 0x260, CKM_SHA384_HMAC = 0x261, CKM_SHA384_HMAC_GENERAL = 0x262,
    CKM_SHA512 = 0x270, CKM_SHA512_HMAC = 0x271, CKM_SHA512_HMAC_GENERAL = 0x272,
    CKM_GENERIC_SECRET_KEY_GEN = 0x350, CKM_EC_KEY_PAIR_GEN = 0x1040, CKM_ECDSA = 0x1041, CKM_ECDSA_SHA256 = 0x1044,
    CKM_AES_KEY_GEN = 0x1080, CKM_AES_ECB = 0x1081, CKM_AES_CBC = 0x1082, CKM_AES_CBC_PAD = 0x1085
};

#define FUNCTIONS(each) \
    each(Initialize, void *) \
    each(InitToken, ulong, byte *, ulong, byte *) \
    each(InitPIN, ulong, byte *, ulong) \
    each(SetPIN, ulong, byte *, ulong, byte *, ulong) \
    each(OpenSession, ulong, ulong, void *, void *, ulong *) \
    each(Login, ulong, ulong, byte *, ulong) \
    each(Logout, ulong) \
    each(CreateObject, ulong, struct attribute *, ulong, ulong *) \
    each(DestroyObject, ulong, ulong) \
    each(GetAttributeValue, ulong, ulong, struct attribute *, ulong) \
    each(EncryptInit, ulong, struct mechanism *, ulong) \
    each(Encrypt, ulong, byte *, ulong, byte *, ulong *) \
    each(EncryptUpdate, ulong, byte *, ulong, byte *, ulong *) \
    each(EncryptFinal, ulong, byte *, ulong *) \
    each(DecryptInit, ulong, struct mechanism *, ulong) \
    each(Decrypt, ulong, byte *, ulong, byte *, ulong *) \
    each(DigestInit, ulong, struct mechanism *) \
    each(Digest, ulong, byte *, ulong, byte *, ulong *) \
    each(DigestUpdate, ulong, byte *, ulong) \
    each(DigestFinal, ulong, byte *, ulong *) \
    each(SignInit, ulong, struct mechanism *, ulong) \
    each(Sign, ulong, byte *, ulong, byte *, ulong *) \
    each(SignUpdate, ulong, byte *, ulong) \
    each(SignFinal, ulong, byte *, ulong *) \
    each(VerifyInit, ulong, struct mechanism *, ulong) \
    each(Verify, ulong, byte *, ulong, byte *, ulong) \
    each(GenerateKey, ulong, struct mechanism *, struct attribute *, ulong, ulong *) \
    each(GenerateKeyPair, ulong, struct mechanism *, struct attribute *, ulong, struct attribute *, ulong, ulong *, ulong *) \
    each(GenerateRandom, ulong, byte *, ulong) \
    each(Finalize, void *)

#define DECLARE(name, ...) static ulong (*C_##name)(__VA_ARGS__);
FUNCTIONS(DECLARE)

/* Where an error is, for `must`. */
static const char *doing = "loading";

static void fail(const char *what, ulong code)
{
    printf("failed: %s: %s: 0x%lX\n", doing, what, code);
    exit(1);
}

#define MUST(call) must(#call, call)

static void must(const char *what, ulong code)
{
    if (code != CKR_OK)
        fail(what, code);
}

static void holds(int truth, const char *what)
{
    if (!truth)
        fail(what, 0);
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    holds(library != NULL, path);
#define FIND(name, ...) \
    *(void **)&C_##name = dlsym(library, "C_" #name); \
    holds(C_##name != NULL, "C_" #name);
    FUNCTIONS(FIND)
}

/* The PINs of a new token, and those that the tests give it. */
#define SO_PIN_FIRST (byte *)"87654321"
#define SO_PIN (byte *)"76543210"
#define USER_PIN_FIRST (byte *)"12345678"
#define USER_PIN (byte *)"01234567"
#define PIN_LENGTH 8

/* Initialises a token, sets both its PINs, and gives a session of its user. */
static ulong begin(ulong slot)
{
    ulong session;
    byte label[32];
    doing = "initialising a token";
    memset(label, ' ', sizeof label);
    memcpy(label, slot == SLOT_CCA ? "cca" : "soft", slot == SLOT_CCA ? 3 : 4);
    MUST(C_InitToken(slot, SO_PIN_FIRST, PIN_LENGTH, label));
    MUST(C_OpenSession(slot, CKF_SERIAL_RW, NULL, NULL, &session));
    MUST(C_Login(session, CKU_SO, SO_PIN_FIRST, PIN_LENGTH));
    MUST(C_SetPIN(session, SO_PIN_FIRST, PIN_LENGTH, SO_PIN, PIN_LENGTH));
    MUST(C_InitPIN(session, USER_PIN_FIRST, PIN_LENGTH));
    MUST(C_Logout(session));
    MUST(C_Login(session, CKU_USER, USER_PIN_FIRST, PIN_LENGTH));
    MUST(C_SetPIN(session, USER_PIN_FIRST, PIN_LENGTH, USER_PIN, PIN_LENGTH));
    return session;
}

/* A key of the caller's in a session; it may do everything that its type can. */
static ulong import(ulong session, ulong type, const byte *value, ulong length)
{
    ulong class = CKO_SECRET_KEY, key;
    byte yes = 1;
    const int is_cipher = type != CKK_GENERIC_SECRET;
    struct attribute attributes[] = {
        {CKA_CLASS, &class, sizeof class}, {CKA_KEY_TYPE, &type, sizeof type}, {CKA_VALUE, (byte *)value, length},
        {is_cipher ? CKA_ENCRYPT : CKA_SIGN, &yes, 1}, {is_cipher ? CKA_DECRYPT : CKA_VERIFY, &yes, 1},
    };
    MUST(C_CreateObject(session, attributes, 5, &key));
    return key;
}
