/* A terminal's PIN block by DUKPT, verified: cc pin.c $(pkg-config --cflags --libs csulcca) && ./a.out */
#include <csulincl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(text) ((unsigned char *)(text))
#define CODES &return_code, &reason_code, NULL, NULL

static long return_code, reason_code;
static unsigned char none[64];
static unsigned char base[64], zone_out[64], zone_in[64], making[64], verifying[64];

static void check(const char *verb)
{
    if (return_code >= 8) {
        fprintf(stderr, "%s: return code %ld, reason code %ld\n", verb, return_code, reason_code);
        exit(1);
    }
}

/* A key that two people enter, here with a last part of zeros. */
static void enter(unsigned char *key, const char *type, const char *rules, unsigned char *first)
{
    unsigned char last[16] = {0};
    long count = strlen(rules) / 8, one = 1;
    CSNBKTB(CODES, key, TEXT(type), &count, TEXT(rules), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    check("CSNBKTB");
    CSNBKPI(CODES, &one, TEXT("FIRST   "), first, key);
    check("CSNBKPI");
    CSNBKPI(CODES, &one, TEXT("LAST    "), last, key);
    check("CSNBKPI");
}

/* The profile of a block under a derived key: format, format control, pad digit and the key serial number in
   characters, with four blanks behind its twenty digits. */
static void verify(const char *serial, unsigned char *block, unsigned char *data)
{
    char profile[49];
    long two = 2, four = 4;
    snprintf(profile, sizeof profile, "%-8s%-8s%8s%-24s", "ISO-0", "NONE", "", serial);
    CSNBPVR(CODES, base, verifying, TEXT(profile), TEXT("401234567890"), block, &two, TEXT("VISA-PVVDUKPT-IP"), &four,
        data);
    if (return_code < 8)
        printf("%s: %s\n", serial, return_code == 0 ? "the PIN is right" : "the PIN is WRONG");
    else
        printf("%s: refused, %ld/%ld\n", serial, return_code, reason_code);
}

int main(void)
{
    unsigned char block[] = {0x1B, 0x9C, 0x18, 0x45, 0xEB, 0x99, 0x3A, 0x7A}, zone_block[8], result[16];
    char profile[] = "ISO-0   NONE            FFFF9876543210E00001    ", pan[] = "401234567890", data[49];
    long two = 2, one = 1, four = 4, sequence_number = 99999;

    unsigned char base_key[] = "\x01\x23\x45\x67\x89\xAB\xCD\xEF\xFE\xDC\xBA\x98\x76\x54\x32\x10";
    unsigned char pin_key[] = "\x4C\xA2\x16\x16\xD0\x13\x0D\xDF\x25\x97\x8A\x0B\xD5\x5E\x3E\x0D";

    enter(base, "KEYGENKY", "INTERNALUKPT    KEY-PART", base_key);
    enter(making, "PINGEN  ", "INTERNALVISA-PVVKEY-PART", pin_key);
    enter(verifying, "PINVER  ", "INTERNALVISA-PVVKEY-PART", pin_key);
    CSNBKGN(CODES, TEXT("OPOP"), TEXT("DOUBLE  "), TEXT("OPINENC "), TEXT("IPINENC "), none, none, zone_out, zone_in);
    check("CSNBKGN");

    /* Out of the terminal's block into one under the zone's key, which has no serial number. */
    CSNBPTR(CODES, base, zone_out, TEXT(profile), TEXT(pan), block, &two, TEXT("REFORMATDUKPT-IP"), TEXT(profile),
        TEXT(pan), &sequence_number, zone_block);
    check("CSNBPTR");
    /* The PVV of its PIN: 11 digits of the PAN and the number of the key; then the PIN is verified by it. */
    snprintf(data, sizeof data, "%-48s", "401234567891");
    CSNBCPA(CODES, zone_in, making, TEXT(profile), TEXT(pan), zone_block, &one, TEXT("VISA-PVV"), &four, TEXT(data),
        result);
    check("CSNBCPA");
    memcpy(data + 16, result, 4);
    verify("FFFF9876543210E00001", block, TEXT(data));
    data[19] = data[19] == '0' ? '1' : '0';
    verify("FFFF9876543210E00001", block, TEXT(data));
    /* Sixteen digits are no key serial number of a profile: it is refused, and counts as no wrong PIN. */
    verify("9876543210E00001", block, TEXT(data));
    return 0;
}
