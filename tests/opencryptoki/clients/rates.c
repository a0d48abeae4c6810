/* What a call costs through openCryptoki with its token in software, with the token of CCA, and without openCryptoki, of the C
   library itself. Each round takes the three in turn; after each, what they made is compared. */
#include "cryptoki.h"
#include <time.h>

#define SIDES 3
#define ROUNDS_MAX 99
#define TEXT_BYTES 4096
#define SIGNED_BYTES 64

static const char *const names[SIDES] = {"software token", "CCA token", "verb alone"};
static ulong sessions[2], ciphers[2], macs[2];
static byte text[TEXT_BYTES], key[32], iv[16], made[SIDES][TEXT_BYTES];
static byte aes_token[64], hmac_token[900];
static long hmac_token_length = sizeof hmac_token;

typedef void verb(long *, long *, long *, byte *, ...);
static verb *CSNBCKM, *CSNBSAE, *CSNBKTB2, *CSNBKPI2, *CSNBHMG;
static long return_code, reason_code, none;

#define CODES &return_code, &reason_code, NULL, NULL

static void done(const char *what)
{
    if (return_code != 0)
        fail(what, return_code * 10000 + reason_code);
}

static void load_verbs(void)
{
    void *library = dlopen("libcsulcca.so", RTLD_NOW);
    holds(library != NULL, "libcsulcca.so");
#define VERB(name) holds((*(void **)&name = dlsym(library, #name)) != NULL, #name)
    VERB(CSNBCKM);
    VERB(CSNBSAE);
    VERB(CSNBKTB2);
    VERB(CSNBKPI2);
    VERB(CSNBHMG);
    long one = 1, two = 2, three = 3, four = 4, bytes = sizeof key, bits = 8 * sizeof key;
    CSNBCKM(CODES, &one, "AES     ", &bytes, key, aes_token);
    done("CSNBCKM");
    CSNBKTB2(CODES, &four, "INTERNALHMAC    MAC     GENERATE", &none, NULL, &none, NULL, &none, NULL, &none, NULL, &none, NULL,
        &hmac_token_length, hmac_token);
    done("CSNBKTB2");
    hmac_token_length = sizeof hmac_token;
    CSNBKPI2(CODES, &three, "HMAC    FIRST   MIN1PART", &bits, key, &hmac_token_length, hmac_token);
    done("CSNBKPI2");
    hmac_token_length = sizeof hmac_token;
    CSNBKPI2(CODES, &two, "HMAC    COMPLETE", &none, NULL, &hmac_token_length, hmac_token);
    done("CSNBKPI2");
}

static void encipher(int side)
{
    if (side < 2) {
        struct mechanism cbc = {CKM_AES_CBC, iv, sizeof iv};
        ulong length = TEXT_BYTES;
        MUST(C_EncryptInit(sessions[side], &cbc, ciphers[side]));
        MUST(C_Encrypt(sessions[side], text, TEXT_BYTES, made[side], &length));
    } else {
        long three = 3, token = 64, block = 16, iv_length = 16, chain_length = 32, length = TEXT_BYTES, room = TEXT_BYTES;
        byte chain[32];
        CSNBSAE(CODES, &three, "AES     KEYIDENTINITIAL ", &token, aes_token, &none, NULL, &block, &iv_length, iv, &chain_length,
            chain, &length, text, &room, made[side], &none, NULL);
        done("CSNBSAE");
    }
}

static void sign(int side)
{
    if (side < 2) {
        struct mechanism hmac = {CKM_SHA256_HMAC, NULL, 0};
        ulong length = 32;
        MUST(C_SignInit(sessions[side], &hmac, macs[side]));
        MUST(C_Sign(sessions[side], text, SIGNED_BYTES, made[side], &length));
    } else {
        long three = 3, length = SIGNED_BYTES, chain_length = 128, mac_length = 32;
        byte chain[128];
        CSNBHMG(CODES, &three, "HMAC    SHA-256 ONLY    ", &hmac_token_length, hmac_token, &length, text, &chain_length, chain,
            &mac_length, made[side]);
        done("CSNBHMG");
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static int smaller(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void measure(const char *what, void (*operation)(int), ulong bytes, int rounds, double seconds)
{
    static double times[SIDES][ROUNDS_MAX];
    doing = what;
    for (int round = 0; round < rounds; round++) {
        for (int side = 0; side < SIDES; side++) {
            long calls = 0;
            const double begin = now();
            double end;
            do {
                for (int call = 0; call < 16; call++)
                    operation(side);
                calls += 16;
                end = now();
            } while (end - begin < seconds);
            times[side][round] = (end - begin) / calls * 1e6;
        }
        holds(memcmp(made[0], made[1], bytes) == 0 && memcmp(made[0], made[2], bytes) == 0, "the sides differ");
    }
    for (int side = 0; side < SIDES; side++) {
        qsort(times[side], rounds, sizeof(double), smaller);
        printf("%s: %s: %.2f us (%.2f to %.2f)\n", what, names[side], times[side][rounds / 2], times[side][0],
            times[side][rounds - 1]);
    }
}

int main(int count, char **arguments)
{
    holds(count == 4, "usage: rates LIBRARY ROUNDS SECONDS");
    const int rounds = atoi(arguments[2]);
    const double seconds = atof(arguments[3]);
    holds(rounds > 0 && rounds <= ROUNDS_MAX && seconds > 0, "rounds, at most 99, and the seconds of each");
    for (ulong at = 0; at < sizeof text; at++)
        text[at] = at * 7 + at / 251;
    memcpy(key, text + 100, sizeof key);
    load(arguments[1]);
    MUST(C_Initialize(NULL));
    for (int token = 0; token < 2; token++) {
        sessions[token] = begin(token);
        ciphers[token] = import(sessions[token], CKK_AES, key, sizeof key);
        macs[token] = import(sessions[token], CKK_GENERIC_SECRET, key, sizeof key);
    }
    load_verbs();
    measure("AES-256-CBC of 4 KiB", encipher, TEXT_BYTES, rounds, seconds);
    measure("HMAC-SHA-256 of 64 bytes", sign, 32, rounds, seconds);
    return 0;
}
