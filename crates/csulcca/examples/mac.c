/* A MAC under a key that this program never has: cc mac.c $(pkg-config --cflags --libs csulcca) && ./a.out */
#include <csulincl.h>
#include <stdio.h>
#include <stdlib.h>

static long return_code, reason_code;

static void check(const char *verb)
{
    if (return_code >= 8) {
        fprintf(stderr, "%s: return code %ld, reason code %ld\n", verb, return_code, reason_code);
        exit(1);
    }
}

static void verify(unsigned char *key, unsigned char *text, long text_length, unsigned char *rules, unsigned char *mac)
{
    unsigned char chaining_vector[18] = {0};
    long rule_count = 2;
    CSNBMVR(&return_code, &reason_code, NULL, NULL, key, &text_length, text, &rule_count, rules, chaining_vector, mac);
    check("CSNBMVR");
    printf("%s: %s\n", text, return_code == 0 ? "verifies" : "DOES NOT VERIFY");
}

int main(void)
{
    unsigned char key[64] = {0}, unused[64] = {0}, chaining_vector[18] = {0}, mac[8];
    unsigned char rules[] = "X9.19OPTMACLEN8 ", bob[] = "pay 10 to Bob", eve[] = "pay 99 to Eve";
    long rule_count = 2, text_length = sizeof bob - 1;

    CSNBKGN(&return_code, &reason_code, NULL, NULL, (unsigned char *)"OP  ", (unsigned char *)"DOUBLE  ",
        (unsigned char *)"MAC     ", (unsigned char *)"        ", unused, unused, key, unused);
    check("CSNBKGN");
    CSNBMGN(&return_code, &reason_code, NULL, NULL, key, &text_length, bob, &rule_count, rules, chaining_vector, mac);
    check("CSNBMGN");
    for (int at = 0; at < 8; at++)
        printf("%02X%s", mac[at], at == 7 ? "\n" : "");
    verify(key, bob, text_length, rules, mac);
    verify(key, eve, text_length, rules, mac);
    return 0;
}
