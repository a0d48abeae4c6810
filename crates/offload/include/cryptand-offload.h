/* Private key operations of TLS on the cards of a Cryptand home, for event loops.
 *
 *     cryptand_offload_open, then for each label cryptand_offload_key
 *     loop:
 *         poll: cryptand_offload_descriptor is readable, or something else is
 *         cryptand_offload_sign or _premaster under a number of your own, as handshakes need it
 *         while (cryptand_offload_collect(..) == 1) go on with the handshake of that number
 *         if cryptand_offload_arm returns 0, collect again; if 1, sleep
 *
 * Waiting. Only open and wait wait. All else returns at once: labels that the daemon must be asked for, full queues, cards that are
 * not ready or have died are dealt with between calls, and what comes of them is collected.
 * Threads. Use one handle in each loop, at most 256 in a process; handles have nothing in common. One thread at a time is in a
 * handle: a second one is answered CRYPTAND_OFFLOAD_BUSY, and does not wait.
 * fork. In a child, each function answers CRYPTAND_OFFLOAD_FORKED to the parent's handles, but close, which frees what the child
 * holds of them; the parent's requests go on. The child opens its own.
 * Descriptors. All are close-on-exec. If the program closes descriptors that it did not open, the handle answers
 * CRYPTAND_OFFLOAD_CLOSED, and touches none of them any more; close it and open another.
 * Results. A function returns a status below 0 where it fails, and cryptand_offload_text() has operation, object and cause.
 * ABI. The library is libcryptand-offload.so.1 as long as programs built with this header run: it may get more functions, and
 * structures more fields at their ends, whose sizes are therefore passed.
 */
#ifndef CRYPTAND_OFFLOAD_H
#define CRYPTAND_OFFLOAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses. */
enum {
    CRYPTAND_OFFLOAD_OK = 0,
    CRYPTAND_OFFLOAD_AGAIN = -1,        /* as many requests are in flight as may be: collect, then try again */
    CRYPTAND_OFFLOAD_INVALID = -2,      /* an argument that nothing can be done with: a null pointer, a length, a scheme */
    CRYPTAND_OFFLOAD_HANDLE = -3,       /* no handle, or one that was closed */
    CRYPTAND_OFFLOAD_KEY = -4,          /* no key of this handle */
    CRYPTAND_OFFLOAD_FORKED = -5,       /* the handle is the parent process's */
    CRYPTAND_OFFLOAD_CLOSED = -6,       /* its descriptors were closed by the program */
    CRYPTAND_OFFLOAD_BUSY = -7,         /* another thread is in a call with this handle */
    CRYPTAND_OFFLOAD_HOME = -8,         /* no home there, or its files or the credential's cannot be read */
    CRYPTAND_OFFLOAD_DENIED = -9,       /* the caller may not */
    CRYPTAND_OFFLOAD_UNAVAILABLE = -10, /* no daemon or no card within card_wait_ms; it did not run */
    CRYPTAND_OFFLOAD_REFUSED = -11,     /* a card or the daemon refused it: return_code and reason_code say why */
    CRYPTAND_OFFLOAD_FAILED = -12,      /* no answer within answer_wait_ms, or cards that died with it, or the system */
    CRYPTAND_OFFLOAD_FAULT = -13        /* a fault in the library, which standard error shows; the handle is closed */
};

/* Operations of a result. */
enum { CRYPTAND_OFFLOAD_SIGN = 1, CRYPTAND_OFFLOAD_PREMASTER = 2, CRYPTAND_OFFLOAD_PUBLIC_KEY = 3 };

/* Kinds of public keys; others may follow. */
enum {
    CRYPTAND_OFFLOAD_OTHER = 0,
    CRYPTAND_OFFLOAD_RSA = 1,
    CRYPTAND_OFFLOAD_P256 = 2,
    CRYPTAND_OFFLOAD_P384 = 3,
    CRYPTAND_OFFLOAD_P521 = 4,
    CRYPTAND_OFFLOAD_ED25519 = 5
};

/* A loop, and a label in it. Numbers, not pointers: one that is wrong is refused. 0 is neither. */
typedef uint64_t cryptand_offload;
typedef uint64_t cryptand_offload_key_id;

/* Zeros stand for the values in brackets. */
struct cryptand_offload_options {
    uint32_t domain;         /* domain of the keys [0] */
    uint32_t in_flight_max;  /* requests submitted and not collected, 1 to 16384 [16384] */
    uint32_t card_wait_ms;   /* how long a request waits for a card that serves it, in milliseconds [10000] */
    uint32_t answer_wait_ms; /* how long it waits for the answer of a card that lives [120000] */
};

struct cryptand_offload_result {
    uint64_t id;          /* the caller's number */
    int32_t status;       /* CRYPTAND_OFFLOAD_OK, or why there is no answer */
    uint32_t operation;   /* CRYPTAND_OFFLOAD_SIGN .. */
    uint32_t return_code; /* with CRYPTAND_OFFLOAD_REFUSED, CCA's codes: 8 and 30 are no such label, 8 and 39 a key for other uses */
    uint32_t reason_code;
    uint32_t kind;        /* of a public key */
    uint32_t length;      /* bytes of the answer */
    uint8_t bytes[1024];  /* the answer; wipe a premaster when it was used */
    char text[512];       /* why there is none: operation, label and cause, with a zero byte at the end */
};

/* The version of this interface that the library has: 1. */
int cryptand_offload_abi(void);

/* Opens a home for one loop, and waits until its daemon answers.
 * home: its folder; null for the one that CRYPTAND_HOME names, or else the user's or the system's.
 * credential_file: the file of a tenant's credential; null for what CRYPTAND_CREDENTIAL_FILE names; "" for none: the tenant is then
 * that of the process's user.
 * options: null for all zeros; options_bytes: sizeof *options.
 * handle: where the handle goes; 0 goes there if there is none. */
int cryptand_offload_open(const char *home, const char *credential_file, const struct cryptand_offload_options *options,
                          size_t options_bytes, cryptand_offload *handle);

/* The descriptor to be watched for reading; it stays the same. Nothing may be read from it. */
int cryptand_offload_descriptor(cryptand_offload handle);

/* Names a label; the same label has the same key. Nothing is asked: whether there is such a label, and whether it may be used, results
 * say. At most 16384 labels in a handle. */
int cryptand_offload_key(cryptand_offload handle, const char *label, cryptand_offload_key_id *key);

/* Asks for a signature. id: a number that no request of this handle has that was not collected. scheme: the code point of TLS (RFC 8446,
 * 4.2.3): rsa_pkcs1_* 0x0401 0x0501 0x0601, rsa_pss_* 0x0804 to 0x0806 and 0x0809 to 0x080b, ecdsa_* 0x0403 0x0503 0x0603. digest: as long
 * as the scheme's hash says. The answer is as long as the modulus, or of ECDSA a DER structure, as TLS has it. */
int cryptand_offload_sign(cryptand_offload handle, uint64_t id, cryptand_offload_key_id key, unsigned scheme,
                          const uint8_t *digest, size_t digest_bytes);

/* Asks for the premaster secret of RSA key exchange (RFC 5246, 7.4.7.1). ciphertext: 1 to 512 bytes, as the client sent it. The answer is
 * 48 bytes whatever the ciphertext is, random ones where it does not open, in the same time. Compare its version with the client's in
 * constant time, or write over it. The key must be made for this (`cryptand key generate LABEL --type rsa2048-tls`). */
int cryptand_offload_premaster(cryptand_offload handle, uint64_t id, cryptand_offload_key_id key,
                               const uint8_t *ciphertext, size_t ciphertext_bytes);

/* Asks for the public key: SubjectPublicKeyInfo in DER, and its kind. */
int cryptand_offload_public_key(cryptand_offload handle, uint64_t id, cryptand_offload_key_id key);

/* Gives a request up: it is not collected, and its number is free. A card may compute it all the same, and it counts as in flight until
 * then. 1, or 0 where no request has this number. */
int cryptand_offload_cancel(cryptand_offload handle, uint64_t id);

/* The next request that has ended: 1, or 0 where there is none now. result_bytes: sizeof *result. What was submitted is handed to the
 * cards when there is none. */
int cryptand_offload_collect(cryptand_offload handle, struct cryptand_offload_result *result, size_t result_bytes);

/* To be called before sleeping on the descriptor: 1, or 0 where there is something to collect already. */
int cryptand_offload_arm(cryptand_offload handle);

/* Hands what was submitted to the cards at once, rather than at the end of a round. */
int cryptand_offload_flush(cryptand_offload handle);

/* Waits until there is something to collect, for programs without a loop: 1, or 0 after so many milliseconds (below 0: without end).
 * It may also return for no reason. */
int cryptand_offload_wait(cryptand_offload handle, int milliseconds);

/* Requests submitted and not collected, cancelled ones that have not ended among them. */
int cryptand_offload_in_flight(cryptand_offload handle);

/* Ends a handle. What was not collected is given up. */
int cryptand_offload_close(cryptand_offload handle);

/* Why the last call of this thread that failed did: operation, object and cause. The place stays the same while the thread lives, and is
 * written at its next failure. */
const char *cryptand_offload_text(void);

/* The name of a status: "OK", "AGAIN" and so on. */
const char *cryptand_offload_status_name(int status);

#ifdef __cplusplus
}
#endif

#endif
