/* Calls each payment verb as a program for CCA does, with every field in the form that docs/reference/payment-fields.md says, and
   compares what comes with published values and with those of other programs. Fields in the other form are refused. */
#include <csulincl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(text) ((unsigned char *)(text))
#define CODES &return_code, &reason_code, NULL, NULL
#define WORDS(rules) (count = strlen(rules) / 8, &count), TEXT(rules)
/* Lengths that a call reads; those that it writes have a variable of their own. */
#define OF(length) (&(long){length})
#define NONE OF(0), NULL
/* A token of fixed length, with its length before it. */
#define KEY(key) OF(64), key
#define PROFILE "ISO-0   NONE            "
#define SERIAL "FFFF9876543210E00001    "
#define PAN_12 "401234567890"
#define TABLE "0123456789012345"
#define VALIDATION "1122334455667788"
#define BLANKS "                "

static long return_code, reason_code, count;
static unsigned char none[64];
static const char *verb;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s (%ld/%ld)\n", verb, what, return_code, reason_code);
    exit(1);
}

static void answers(long expected_return, long expected_reason, const char *called)
{
    verb = called;
    if (return_code != expected_return || reason_code != expected_reason)
        fail("other codes");
}

static void done(const char *called)
{
    verb = called;
    /* 0/2: the halves of a key lack odd parity. */
    if (return_code != 0)
        fail("refused");
}

static void is(const void *found, const void *expected, size_t length)
{
    if (memcmp(found, expected, length) != 0)
        fail("another value");
}

static unsigned char issuer[] = "\x01\x23\x45\x67\x89\xAB\xCD\xEF\xFE\xDC\xBA\x98\x76\x54\x32\x10";
static unsigned char other_issuer[] = "\x23\x15\x20\x70\x01\x23\x45\x57\x89\x98\xBA\xBA\xDC\xDC\xFE\xFE";
/* The PIN key of the first transaction of ANSI X9.24-1, annex A, with odd parity. */
static unsigned char terminal_key[] = "\x04\x26\x67\xB5\x91\x85\xCE\x5D\x68\xDF\x97\x29\xD0\x38\x7A\x37";
/* PIN 1234 of the PAN 4012345678909 under that key. */
static unsigned char block[] = "\x1B\x9C\x18\x45\xEB\x99\x3A\x7A";
/* What a card's keys are derived from: the PAN 1234567890123456 with sequence number 01, and the counter 001C. */
static unsigned char card[] = "\x34\x56\x78\x90\x12\x34\x56\x01\xCB\xA9\x87\x6F\xED\xCB\xA9\xFE\x00\x1C";
static unsigned char transaction[] =
    "\x00\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00\x00\x01\x24\x00\x00\x08"
    "\x00\x01\x24\x11\x03\x09\x00\x38\x04\x82\x3E\x58\x00\x00\x01\x07";

/* A token without a key. */
static void build(unsigned char *key, const char *type, const char *rules)
{
    CSNBKTB(CODES, key, TEXT(type), WORDS(rules), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    done("CSNBKTB");
}

/* A key that two people enter, here with a last part of zeros. */
static unsigned char *entered(const char *type, const char *rules, unsigned char *value)
{
    unsigned char *key = calloc(1, 64), last[16] = {0};
    build(key, type, rules);
    CSNBKPI(CODES, WORDS("FIRST   "), value, key);
    done("CSNBKPI");
    CSNBKPI(CODES, WORDS("LAST    "), last, key);
    done("CSNBKPI");
    return key;
}

struct token {
    long length;
    unsigned char bytes[900];
};

/* An AES key of 128 bits of the caller's. */
static void entered2(struct token *key, const char *rules, unsigned char *value)
{
    long room = sizeof key->bytes, bits = 128;
    key->length = room;
    CSNBKTB2(CODES, WORDS(rules), NONE, NONE, NONE, NONE, NONE, &key->length, key->bytes);
    done("CSNBKTB2");
    key->length = room;
    CSNBKPI2(CODES, WORDS("AES     FIRST   MIN1PART"), &bits, value, &key->length, key->bytes);
    done("CSNBKPI2");
    key->length = room;
    CSNBKPI2(CODES, WORDS("AES     COMPLETE"), NONE, &key->length, key->bytes);
    done("CSNBKPI2");
}

/* The check value of a DES key. */
static void is_key(unsigned char *key, const char *expected)
{
    unsigned char pattern[8] = {0};
    long length = sizeof pattern;
    const char *made = verb;
    CSNBKYT2(CODES, WORDS("DES     GENERATEENC-ZERO"), KEY(key), NONE, NONE, &length, pattern);
    done("CSNBKYT2");
    verb = made;
    is(pattern, expected, 3);
}

/* Three elements of sixteen characters. */
static unsigned char *elements(const char *first, const char *second, const char *third)
{
    static char array[49];
    snprintf(array, sizeof array, "%-16s%-16s%-16s", first, second, third);
    return TEXT(array);
}

/* PIN methods and blocks: PANs, clear PINs, results and elements of data arrays are characters, blocks are bytes. */
static void pins(void)
{
    unsigned char *making = entered("PINGEN  ", "INTERNALKEY-PART", issuer);
    unsigned char *verifying = entered("PINVER  ", "INTERNALKEY-PART", issuer);
    unsigned char *outbound = entered("OPINENC ", "INTERNALKEY-PART", terminal_key);
    unsigned char *inbound = entered("IPINENC ", "INTERNALKEY-PART", terminal_key);
    unsigned char *base = entered("KEYGENKY", "INTERNALUKPT    KEY-PART", issuer);
    unsigned char result[16], made[8], recovered[8], digits[12] = {4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0};
    long four = 4, no_sequence = 99999, length, sixteen = 16;

    CSNBPGN(CODES, making, WORDS("IBM-PIN "), &four, &four, elements("1234567890123456", VALIDATION, ""), result);
    done("CSNBPGN");
    is(result, "4524            ", 16);
    CSNBPGN(CODES, making, WORDS("VISA-PVV"), &four, &four, elements("3344556677834524", "", ""), result);
    done("CSNBPGN VISA-PVV");
    is(result, "4021            ", 16);
    CSNBPGN(CODES, making, WORDS("IBM-PIN "), &four, &four, elements("1234567890123456", "11223344556677", ""), result);
    answers(8, 103, "CSNBPGN with validation data of 14 digits");
    /* The same data in bytes. */
    CSNBPGN(CODES, making, WORDS("IBM-PIN "), &four, &four,
        elements("1234567890123456", "\x11\x22\x33\x44\x55\x66\x77\x88", ""), result);
    answers(8, 103, "CSNBPGN with validation data in bytes");
    CSNBPGN(CODES, making, WORDS("IBM-PIN "), &four, &four, elements("\x12\x34\x56\x78\x90\x12\x34\x56", VALIDATION, ""),
        result);
    answers(8, 102, "CSNBPGN with a decimalization table in bytes");
    CSNBPGN(CODES, making, WORDS("IBM-PINO"), &four, &four, elements(TABLE, VALIDATION, "\x12\x34"), result);
    answers(8, 104, "CSNBPGN with a clear PIN in bytes");

    CSNBCPE(CODES, outbound, WORDS("ENCRYPT "), TEXT("1234            "), TEXT(PROFILE), TEXT(PAN_12), &no_sequence,
        made);
    done("CSNBCPE");
    is(made, block, 8);
    CSNBCPE(CODES, outbound, WORDS("ENCRYPT "), TEXT("\x12\x34              "), TEXT(PROFILE), TEXT(PAN_12),
        &no_sequence, made);
    answers(8, 116, "CSNBCPE with a clear PIN in bytes");
    CSNBCPE(CODES, outbound, WORDS("ENCRYPT "), TEXT("1234            "), TEXT(PROFILE), digits, &no_sequence, made);
    answers(8, 110, "CSNBCPE with a PAN in bytes");

    CSNBPTR(CODES, base, outbound, TEXT(PROFILE SERIAL), TEXT(PAN_12), block, WORDS("REFORMATDUKPT-IP"), TEXT(PROFILE),
        TEXT(PAN_12), &no_sequence, made);
    done("CSNBPTR");
    is(made, block, 8);
    CSNBPTR(CODES, base, outbound, TEXT(PROFILE SERIAL), digits, block, WORDS("REFORMATDUKPT-IP"), TEXT(PROFILE),
        TEXT(PAN_12), &no_sequence, made);
    answers(8, 110, "CSNBPTR with a PAN in bytes");

    length = 8;
    CSNBPTR2(CODES, WORDS("REFORMATDUKPT-IP"), KEY(base), KEY(outbound), NONE, OF(48), TEXT(PROFILE SERIAL), OF(12),
        TEXT(PAN_12), OF(8), block, OF(24), TEXT(PROFILE), OF(12), TEXT(PAN_12), NONE, &length, made, NONE, NONE, NONE);
    done("CSNBPTR2");
    is(made, block, 8);
    CSNBPTR2(CODES, WORDS("REFORMATDUKPT-IP"), KEY(base), KEY(outbound), NONE, OF(48), TEXT(PROFILE SERIAL), OF(12),
        digits, OF(8), block, OF(24), TEXT(PROFILE), OF(12), TEXT(PAN_12), NONE, &length, made, NONE, NONE, NONE);
    answers(8, 110, "CSNBPTR2 with a PAN in bytes");

    /* A PVV is made of the block, and verifies it. */
    CSNBCPA(CODES, inbound, making, TEXT(PROFILE), TEXT(PAN_12), block, WORDS("VISA-PVV"), &four,
        elements("401234567891", "", ""), result);
    done("CSNBCPA");
    result[4] = 0;
    CSNBPVR(CODES, base, verifying, TEXT(PROFILE SERIAL), TEXT(PAN_12), block, WORDS("VISA-PVVDUKPT-IP"), &four,
        elements("401234567891", (char *)result, ""));
    done("CSNBPVR");
    CSNBPVR(CODES, inbound, verifying, TEXT(PROFILE), TEXT(PAN_12), block, WORDS("VISA-PVV"), &four,
        elements("401234567891", "\x12\x34", ""));
    answers(8, 114, "CSNBPVR with a PVV in bytes");
    CSNBPVR(CODES, inbound, verifying, TEXT(PROFILE), TEXT(PAN_12), block, WORDS("VISA-PVV"), &four,
        elements("\x40\x12\x34\x56\x78\x91", (char *)result, ""));
    answers(8, 105, "CSNBPVR with a transaction security parameter in bytes");
    CSNBPVR(CODES, inbound, verifying, TEXT(PROFILE), TEXT(PAN_12), block, WORDS("IBM-PINO"), &four,
        elements(TABLE, VALIDATION, "\x01\x02"));
    answers(8, 112, "CSNBPVR with an offset in bytes");

    /* An assigned PIN in a block, the same by an offset of zeros, and both beside each other. */
    CSNBEPG(CODES, making, outbound, WORDS("IBM-PIN "), &four, elements("1234567890123456", VALIDATION, ""), TEXT(PROFILE),
        TEXT(PAN_12), &no_sequence, made);
    done("CSNBEPG");
    CSNBPFO(CODES, OF(0), NULL, KEY(outbound), KEY(making), TEXT(PROFILE), TEXT(PAN_12), TEXT("0000            "), OF(0),
        elements("1234567890123456", VALIDATION, ""), &sixteen, recovered);
    done("CSNBPFO");
    is(recovered, made, 8);
    CSNBPFO(CODES, OF(0), NULL, KEY(outbound), KEY(making), TEXT(PROFILE), TEXT(PAN_12), TEXT("\x01\x02\x03\x04            "),
        OF(0), elements("1234567890123456", VALIDATION, ""), &sixteen, recovered);
    answers(8, 112, "CSNBPFO with an offset in bytes");
    CSNBPVR2(CODES, WORDS("REFPIN  "), OF(0), NULL, &four, KEY(inbound), KEY(inbound), OF(24), TEXT(PROFILE), OF(8), made,
        OF(24), TEXT(PROFILE), OF(8), recovered, TEXT(PAN_12), TEXT(PAN_12), NONE, NONE, NONE, NONE);
    done("CSNBPVR2");
    CSNBPVR2(CODES, WORDS("REFPIN  "), OF(0), NULL, &four, KEY(inbound), KEY(inbound), OF(24), TEXT(PROFILE), OF(8), made,
        OF(24), TEXT(PROFILE), OF(8), recovered, digits, TEXT(PAN_12), NONE, NONE, NONE, NONE);
    answers(8, 110, "CSNBPVR2 with a PAN in bytes");

    /* Keys of the transaction: the key serial number is ten bytes, by itself. */
    unsigned char serial[] = "\xFF\xFF\x98\x76\x54\x32\x10\xE0\x00\x01", derived[64];
    build(derived, "MACVER  ", "INTERNALDOUBLE  ");
    length = 64;
    CSNBUKD(CODES, WORDS("K2MAC   "), KEY(base), OF(10), serial, OF(0), NULL, &length, derived, OF(0), NULL, NONE, NONE,
        NONE, NONE, NONE, NONE);
    done("CSNBUKD");
    is_key(derived, "\x91\xA1\xBB");
    CSNBUKD(CODES, WORDS("K2MAC   "), KEY(base), OF(20), TEXT(SERIAL), OF(0), NULL, &length, derived, OF(0), NULL, NONE,
        NONE, NONE, NONE, NONE, NONE);
    answers(8, 50, "CSNBUKD with a serial number in characters");
}

/* Values on cards: all fields are characters. */
static void values(void)
{
    unsigned char *combined = entered("MAC     ", "INTERNALDOUBLE  CVVKEY-AKEY-PART", issuer);
    unsigned char *codes = entered("MAC     ", "INTERNALDOUBLE  AMEX-CSCKEY-PART", issuer);
    unsigned char value[6] = {0}, date[] = "\x87\x01  ", one[64], two[64], both[64] = {0};
    long length = 5;

    CSNBCSG(CODES, WORDS("PAN-16  CVV-3   "), TEXT("4123456789012345"), TEXT("8701"), TEXT("101"), combined, none, value);
    done("CSNBCSG");
    is(value, "561  ", 5);
    CSNBCSV(CODES, WORDS("PAN-16  CVV-3   "), TEXT("4123456789012345"), TEXT("8701"), TEXT("101"), combined, none, value);
    done("CSNBCSV");
    CSNBCSG(CODES, WORDS("PAN-16  CVV-3   "), TEXT("\x41\x23\x45\x67\x89\x01\x23\x45        "), TEXT("8701"), TEXT("101"),
        combined, none, value);
    answers(8, 110, "CSNBCSG with a PAN in bytes");
    CSNBCSG(CODES, WORDS("PAN-16  CVV-3   "), TEXT("4123456789012345"), date, TEXT("101"), combined, none, value);
    answers(8, 42, "CSNBCSG with a date in bytes");
    CSNBCSG(CODES, WORDS("PAN-16  CVV-3   "), TEXT("4123456789012345"), TEXT("8701"), TEXT("\1\0\1"), combined, none, value);
    answers(8, 40, "CSNBCSG with a service code in bytes");
    CSNBCSV(CODES, WORDS("PAN-16  CVV-3   "), TEXT("4123456789012345"), TEXT("8701"), TEXT("101"), combined, none,
        TEXT("\5\6\1  "));
    answers(8, 46, "CSNBCSV with a value in bytes");

    CSNBTRV(CODES, WORDS("GENERATECSC-5   "), KEY(codes), OF(19), TEXT("9912371234567890123"), &length, value);
    done("CSNBTRV");
    is(value, "61247", 5);
    CSNBTRV(CODES, WORDS("VERIFY  CSC-5   "), KEY(codes), OF(19), TEXT("9912371234567890123"), OF(5), value);
    done("CSNBTRV");
    CSNBTRV(CODES, WORDS("VERIFY  CSC-5   "), KEY(codes), OF(19), TEXT("9912371234567890123"), OF(5), TEXT("\6\1\2\4\7"));
    answers(8, 46, "CSNBTRV with a code in bytes");

    /* Its fields are keys alone. */
    build(one, "MAC     ", "INTERNALSINGLE  CVVKEY-A");
    build(two, "MAC     ", "INTERNALSINGLE  CVVKEY-B");
    CSNBKGN(CODES, TEXT("OP  "), TEXT("SINGLE  "), TEXT("TOKEN   "), TEXT("        "), none, none, one, none);
    done("CSNBKGN");
    CSNBKGN(CODES, TEXT("OP  "), TEXT("SINGLE  "), TEXT("TOKEN   "), TEXT("        "), none, none, two, none);
    done("CSNBKGN");
    length = 64;
    CSNBCKC(CODES, OF(0), NULL, KEY(one), KEY(two), &length, both);
    done("CSNBCKC");
}

/* Chip cards: PANs and sequence numbers of their own fields are characters, all that comes from a card is bytes. */
static void chips(void)
{
    unsigned char *cryptograms = entered("DKYGENKY", "INTERNALDKYL0   DMAC    KEY-PART", issuer);
    unsigned char *above = entered("DKYGENKY", "INTERNALDKYL1   DMAC    KEY-PART", issuer);
    unsigned char *pins = entered("DKYGENKY", "INTERNALDKYL0   DMPIN   KEY-PART", other_issuer);
    unsigned char *inbound = entered("IPINENC ", "INTERNALKEY-PART", terminal_key);
    unsigned char derived[64], right[] = "\x50\x0F\xF7\x0D\xD2\xFA\xF8\x12", response[8], message[16];
    unsigned char packed[] = "\x12\x34\x56\x78\x90\x12\x34\x56";
    long length = 64;

    build(derived, "MAC     ", "INTERNALDOUBLE  ");
    CSNBDKG(CODES, WORDS("TDES-ENC"), cryptograms, OF(16), card, none, derived);
    done("CSNBDKG");
    is_key(derived, "\x02\x39\x6B");
    CSNBDKG(CODES, WORDS("TDES-ENC"), cryptograms, OF(32), TEXT("3456789012345601CBA9876FEDCBA9FE"), none, derived);
    answers(8, 25, "CSNBDKG with data in characters");

    memset(derived, 0, sizeof derived);
    CSNBDCM(CODES, WORDS("TDES    AC      APPANSEQ"), KEY(above), &length, derived, NONE, OF(16), TEXT("1234567890123456"),
        TEXT("01"), NONE, NONE);
    done("CSNBDCM");
    is_key(derived, "\x02\x39\x6B");
    CSNBDCM(CODES, WORDS("TDES    AC      APPANSEQ"), KEY(above), &length, derived, NONE, OF(8), packed, TEXT("01"), NONE,
        NONE);
    answers(8, 110, "CSNBDCM with a PAN in bytes");
    CSNBDCM(CODES, WORDS("TDES    AC      APPANSEQ"), KEY(above), &length, derived, NONE, OF(16), TEXT("1234567890123456"),
        TEXT("\0\1"), NONE, NONE);
    answers(8, 111, "CSNBDCM with a sequence number in bytes");

    CSNBEAC(CODES, WORDS("TDES    VERGEN  VISA    APPANSEQ"), KEY(cryptograms), NONE, OF(16), TEXT("1234567890123456"),
        TEXT("01"), OF(33), transaction, card + 16, TEXT("00"), right, response, NULL, NONE, NONE);
    done("CSNBEAC");
    is(response, "\x2E\x8C\x71\x96\xDD\x5A\x6E\x80", 8);
    CSNBEAC(CODES, WORDS("TDES    VERGEN  VISA    APPANSEQ"), KEY(cryptograms), NONE, OF(8), packed, TEXT("01"), OF(33),
        transaction, card + 16, TEXT("00"), right, response, NULL, NONE, NONE);
    answers(8, 110, "CSNBEAC with a PAN in bytes");

    CSNBPCU(CODES, WORDS("VISAPCU1TDES-XOR"), KEY(cryptograms), KEY(pins), OF(18), card, KEY(inbound), block, TEXT(PROFILE),
        TEXT(PAN_12), OF(0), NULL, NULL, NULL, NULL, NONE, TEXT("VISAPCU1NONE            "), OF(16), message);
    done("CSNBPCU");
    is(message, "\x18\x87\x18\xBF\xE6\xF2\x43\xFF\xD2\xE2\x7D\xC4\x23\x75\xDB\xAC", 16);
    CSNBPCU(CODES, WORDS("VISAPCU1TDES-XOR"), KEY(cryptograms), KEY(pins), OF(36),
        TEXT("3456789012345601CBA9876FEDCBA9FE001C"), KEY(inbound), block, TEXT(PROFILE), TEXT(PAN_12), OF(0), NULL, NULL,
        NULL, NULL, NONE, TEXT("VISAPCU1NONE            "), OF(16), message);
    answers(8, 25, "CSNBPCU with data in characters");

    /* A key and a PIN in a message, whose places are counted from zero or from one. */
    unsigned char *of_keys = entered("SECMSG  ", "INTERNALSMKEY   KEY-PART", issuer);
    unsigned char *of_pins = entered("SECMSG  ", "INTERNALSMPIN   KEY-PART", issuer);
    unsigned char *exported = entered("MAC     ", "INTERNALDOUBLE  KEY-PART", other_issuer);
    unsigned char text[24] = {0}, enciphered[2][24], chain[8], zeros[8] = {0};
    for (long from = 0; from < 2; from++) {
        long offset = 8 + from;
        CSNBSKY(CODES, WORDS("TDES-ECB"), exported, none, of_keys, OF(24), text, zeros, &offset, OF(16), enciphered[from],
            chain);
        done("CSNBSKY");
    }
    is(enciphered[0], enciphered[1], 24);
    CSNBSKY(CODES, WORDS("TDES-ECB"), exported, none, of_keys, OF(24), text, zeros, OF(10), OF(16), enciphered[0], chain);
    answers(8, 23, "CSNBSKY beyond the text");
    for (long from = 0; from < 2; from++) {
        CSNBSPN(CODES, WORDS("TDES-ECB"), block, inbound, TEXT(PROFILE), TEXT(PAN_12), of_pins, TEXT(PROFILE), TEXT(PAN_12),
            OF(8), text, zeros, &from, OF(8), enciphered[from], chain);
        done("CSNBSPN");
    }
    is(enciphered[0], enciphered[1], 8);
    CSNBSPN(CODES, WORDS("TDES-ECB"), block, inbound, TEXT(PROFILE), TEXT(PAN_12), of_pins, TEXT(PROFILE), TEXT(PAN_12),
        OF(8), text, zeros, OF(2), OF(8), enciphered[0], chain);
    answers(8, 23, "CSNBSPN beyond the text");
}

/* Keys of AES: derivation data are bytes; texts, tweaks and alphabets of FF1 are characters. */
static void aes(void)
{
    struct token cards, derived;
    unsigned char value[] = "\x2B\x7E\x15\x16\x28\xAE\xD2\xA6\xAB\xF7\x15\x88\x09\xCF\x4F\x3C", text[11] = {0};
    unsigned char digits[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    long length = 10;

    /* The second sample of NIST's for FF1. */
    entered2(&cards, "INTERNALAES     CIPHER  ENCRYPT DECRYPT FF1     ", value);
    CSNBFFXE(CODES, WORDS("FF1     AES     BASE10  "), &cards.length, cards.bytes, OF(10), TEXT("9876543210"), NONE, NONE,
        OF(10), TEXT("0123456789"), NONE, NONE, &length, text);
    done("CSNBFFXE");
    is(text, "6124200773", 10);
    CSNBFFXD(CODES, WORDS("FF1     AES     BASE10  "), &cards.length, cards.bytes, OF(10), TEXT("9876543210"), NONE, NONE,
        OF(10), text, NONE, NONE, &length, text);
    done("CSNBFFXD");
    is(text, "0123456789", 10);
    CSNBFFXE(CODES, WORDS("FF1     AES     BASE10  "), &cards.length, cards.bytes, OF(10), TEXT("9876543210"), NONE, NONE,
        OF(10), digits, NONE, NONE, &length, text);
    answers(8, 21, "CSNBFFXE with a text in bytes");
    CSNBFFXE(CODES, WORDS("FF1     AES     BASE10  "), &cards.length, cards.bytes, OF(10), digits, NONE, NONE, OF(10),
        TEXT("0123456789"), NONE, NONE, &length, text);
    answers(8, 21, "CSNBFFXE with a tweak in bytes");
    /* From one tweak to none: the first sample. */
    memcpy(text, "6124200773", 10);
    CSNBFFXT(CODES, WORDS("ICFF1   OCFF1   AES     IBASE10 OBASE10 "), &cards.length, cards.bytes, &cards.length,
        cards.bytes, OF(10), TEXT("9876543210"), NONE, NONE, NONE, NONE, NONE, NONE, NONE, &length, text);
    done("CSNBFFXT");
    is(text, "2433477484", 10);

    long room = sizeof derived.bytes;
    struct token deriving;
    entered2(&deriving, "INTERNALAES     DKYGENKYD-ALL   DKYL0   ", value);
    derived.length = room;
    CSNBKTB2(CODES, WORDS("INTERNALAES     MAC     GENERATECMAC    "), NONE, NONE, NONE, NONE, NONE, &derived.length,
        derived.bytes);
    done("CSNBKTB2");
    derived.length = room;
    CSNBDKG2(CODES, WORDS("MK-OPTC "), &deriving.length, deriving.bytes, OF(16), card, NONE, NONE, &derived.length,
        derived.bytes, NONE);
    done("CSNBDKG2");
    derived.length = room;
    CSNBDKG2(CODES, WORDS("MK-OPTC "), &deriving.length, deriving.bytes, OF(32), TEXT("3456789012345601CBA9876FEDCBA9FE"),
        NONE, NONE, &derived.length, derived.bytes, NONE);
    answers(8, 25, "CSNBDKG2 with data in characters");
}

/* Key blocks are characters, and so is each part of a header that has a field of its own; lengths are numbers. */
static void blocks(void)
{
    unsigned char *exporter = entered("EXPORTER", "INTERNALKEY-PART", issuer);
    unsigned char *importer = entered("IMPORTER", "INTERNALKEY-PART", issuer);
    unsigned char *key = entered("MAC     ", "INTERNALDOUBLE  KEY-PART", other_issuer);
    unsigned char optional[64], made[400], version, usage[2], algorithm, mode, number[2], exportability;
    unsigned char identifiers[8], data[64], imported[64] = {0};
    long of_optional = 0, length = sizeof made, block_length, blocks, source, method, room = 64;
    unsigned short lengths[4];

    CSNBT31O(CODES, OF(0), NULL, OF(64), &of_optional, optional, &blocks, TEXT("LB"), OF(5), TEXT("TEST1"));
    done("CSNBT31O");
    is(optional, "LB09TEST1", 9);
    CSNBT31O(CODES, OF(0), NULL, OF(64), &of_optional, optional, &blocks, TEXT("T1"), OF(2), TEXT("\1\2"));
    answers(8, 21, "CSNBT31O with data in bytes");
    CSNBT31X(CODES, WORDS("VARDRV-BISOMAC3 GENVER  EXP-NONE"), TEXT("07"), OF(24), KEY(key), NONE, KEY(exporter),
        &of_optional, optional, &length, made);
    done("CSNBT31X");
    is(made, "B", 1);
    CSNBT31P(CODES, OF(0), NULL, &length, made, &version, &block_length, usage, &algorithm, &mode, number, &exportability,
        &blocks);
    done("CSNBT31P");
    if (version != 'B' || block_length != length || algorithm != 'T' || mode != 'C' || exportability != 'N' || blocks < 1)
        fail("another header");
    is(usage, "M3", 2);
    is(number, "07", 2);
    blocks = 4;
    CSNBT31R(CODES, WORDS("INFO    "), &length, made, NULL, &blocks, identifiers, (unsigned char *)lengths, OF(0), NULL);
    done("CSNBT31R");
    is(identifiers, "LB", 2);
    if (lengths[0] != 5)
        fail("another length");
    blocks = 0;
    room = sizeof data;
    CSNBT31R(CODES, WORDS("DATA    "), &length, made, TEXT("LB"), &blocks, NULL, NULL, &room, data);
    done("CSNBT31R");
    is(data, "TEST1", 5);
    room = 64;
    CSNBT31I(CODES, WORDS("INTERNAL"), &length, made, KEY(importer), NONE, &room, imported, &blocks, &source, &method);
    done("CSNBT31I");
    CSNBT31X(CODES, WORDS("VARDRV-BISOMAC3 GENVER  EXP-NONE"), TEXT("\0\7"), OF(24), KEY(key), NONE, KEY(exporter), NONE,
        &length, made);
    answers(8, 21, "CSNBT31X with a key version number in bytes");
}

int main(void)
{
    pins();
    values();
    chips();
    aes();
    blocks();
    printf("done\n");
    return 0;
}
