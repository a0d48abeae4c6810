/* What the functions that are made from the verb table share: the request of a call, and its reply, field by field. */
#ifndef SHELL_H
#define SHELL_H

#include <stddef.h>
#include <stdint.h>

/* Lengths on the wire: of an integer, and of what stands before a field's bytes. */
#define INTEGER_BYTES 8
#define LENGTH_BYTES 4

/* Whether a pointer may be null. */
enum shell_null {
    NULL_REFUSED, /* never */
    NULL_EMPTY,   /* where its field has no bytes */
    NULL_IGNORED, /* always: it is reserved, and not looked at */
};

struct shell_call {
    uint16_t verb;
    int is_secret;        /* its memory is wiped */
    unsigned char *bytes; /* the request, then the reply */
    size_t length;
    size_t at;
    long codes[2];
    int is_refused; /* by the shell, with these codes */
};

/* Carries a request to whoever executes the verb: gives its codes, and a reply that free() takes. 0 where nobody does. The program
   that uses the shell has it. */
int cryptand_carry(uint16_t verb, const unsigned char *request, size_t request_bytes, long codes[2],
    unsigned char **reply, size_t *reply_bytes);

/* Lengths of fields. A null pointer, and a number that no field can have, say 0. */
size_t shell_by(const long *bytes);
size_t shell_bits(const long *bits);
size_t shell_padded(const long *bytes, size_t block);
size_t shell_keywords(const long *count);
size_t shell_longer(size_t one, size_t other);
size_t shell_own(const unsigned char *token);

/* Whether a rule array holds a keyword of 8 characters. */
int shell_has(const unsigned char *rule_array, size_t rule_array_bytes, const char *keyword);

void shell_begin(struct shell_call *call, uint16_t verb, int is_secret, size_t request_bytes);
void shell_put_integer(struct shell_call *call, const long *value, enum shell_null null);
void shell_put_bytes(struct shell_call *call, const unsigned char *field, size_t bytes, enum shell_null null);
/* An output that is not sent. */
void shell_need(struct shell_call *call, const void *field, size_t bytes, enum shell_null null);
/* Whether there is a reply, which is then read in the order of the parameters. */
int shell_carry(struct shell_call *call);
void shell_get_integer(struct shell_call *call, long *value);
void shell_get_bytes(struct shell_call *call, unsigned char *field, size_t bytes);
void shell_end(struct shell_call *call, long *return_code, long *reason_code);

#endif
