#!/usr/bin/env python3
"""Copies the vectors that the engine's tests read from an unpacked `cryptography_vectors` package.

    python3 select.py <folder of the unpacked package>/cryptography_vectors

Files are kept as they are, less what the rules below leave out; comments stay, so that each keeps its origin.
"""

import re
import sys
from pathlib import Path

WHOLE = [
    "ciphers/AES/ECB/*.rsp",
    "ciphers/AES/CBC/*.rsp",
    "ciphers/AES/CTR/*.txt",
    "ciphers/3DES/ECB/TECB*.rsp",
    "ciphers/3DES/CBC/TCBC[Mipsv]*.rsp",  # not the interleaved mode, TCBCI*
    "CMAC/*.txt",
    "HMAC/rfc-2202-*.txt",
    "HMAC/rfc-4231-*.txt",
    "KDF/rfc-5869-HKDF-SHA256.txt",
    "hashes/MD5/*.txt",
    "hashes/SHA1/*Monte.rsp",
    "hashes/SHA1/*ShortMsg.rsp",
    "hashes/SHA2/SHA[2358]??Monte.rsp",
    "hashes/SHA2/SHA[2358]??ShortMsg.rsp",
    "hashes/SHA3/*Monte.rsp",
    "hashes/SHA3/*ShortMsg.rsp",
    "asymmetric/RSA/FIPS_186-2/SigGen15_186-3.rsp",
    "asymmetric/RSA/FIPS_186-2/SigGenPSS_186-3.rsp",
    "asymmetric/RSA/pkcs-1v2-1d2-vec/oaep-vect.txt",
    "asymmetric/RSA/pkcs-1v2-1d2-vec/pss-vect.txt",
    "asymmetric/ECDH/KASValidityTest_ECCStaticUnified_NOKC_ZZOnly_init.fax",
    "asymmetric/X25519/rfc7748.txt",
]
LONG_MESSAGES = ["hashes/SHA1/*LongMsg.rsp", "hashes/SHA2/SHA[2358]??LongMsg.rsp", "hashes/SHA3/*LongMsg.rsp"]
LONG_MESSAGE_BITS_MAX = 16384
GCM = "ciphers/AES/GCM/gcm*.rsp"
ECDSA = ["asymmetric/ECDSA/FIPS_186-3/SigVer.rsp", "asymmetric/ECDSA/FIPS_186-3/KeyPair.rsp"]
CURVES = ("P-256", "P-384", "P-521")
RSA_VERIFY = ["asymmetric/RSA/FIPS_186-2/SigVer15_186-3.rsp", "asymmetric/RSA/FIPS_186-2/SigVerPSS_186-3.rsp"]
ED25519 = "asymmetric/Ed25519/sign.input"
ED25519_LINES = 256


def paragraphs(text):
    return [p for p in re.split(r"\n\s*\n", text.replace("\r\n", "\n")) if p.strip()]


def short_messages(text):
    def keep(paragraph):
        length = re.search(r"^Len = (\d+)", paragraph, re.M)
        return not length or int(length[1]) <= LONG_MESSAGE_BITS_MAX

    return [p for p in paragraphs(text) if keep(p)]


def gcm_sample(text):
    """Of each section (a set of lengths) the first case, and the first that fails."""
    kept, seen = [], set()
    for p in paragraphs(text):
        if p.startswith("["):
            seen = set()
        kind = "FAIL" if "FAIL" in p else "PT"
        if p.startswith(("[", "#")) or kind not in seen:
            kept.append(p)
        if not p.startswith(("[", "#")):
            seen.add(kind)
    return kept


def curves_only(text):
    """The sections of our curves, with the sections inside them."""
    kept, wanted = [], True
    for p in paragraphs(text):
        if re.match(r"\[[PKB]-\d", p):
            wanted = p.startswith(tuple("[" + c for c in CURVES))
        if wanted or p.startswith("#"):
            kept.append(p)
    return kept


def rsa_sample(text):
    """Of each modulus the first key, with all its cases."""
    kept, keys = [], 0
    for p in paragraphs(text):
        if p.startswith("[mod"):
            keys = 0
        if re.match(r"n = ", p):
            keys += 1
        if p.startswith(("[", "#")) or keys <= 1:
            kept.append(p)
    return kept


def main():
    source, here = Path(sys.argv[1]), Path(__file__).parent

    def copy(path, parts=None):
        target = here / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        target.write_text("\n\n".join(parts(text)) + "\n" if parts else text.replace("\r\n", "\n"))

    for pattern in WHOLE:
        for path in sorted(source.glob(pattern)):
            copy(path)
    for pattern in LONG_MESSAGES:
        for path in sorted(source.glob(pattern)):
            copy(path, short_messages)
    for path in sorted(source.glob(GCM)):
        copy(path, gcm_sample)
    for name in ECDSA:
        copy(source / name, curves_only)
    for name in RSA_VERIFY:
        copy(source / name, rsa_sample)
    copy(source / ED25519, lambda text: ["\n".join(text.splitlines()[:ED25519_LINES])])


main()
