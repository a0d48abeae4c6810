"""The library pysequoia behind lines of JSON: see src/helper.rs."""

import json
import sys

import pysequoia as pgp

MODES = {
    "inline": pgp.SignatureMode.INLINE,
    "detached": pgp.SignatureMode.DETACHED,
    "cleartext": pgp.SignatureMode.CLEAR,
}


def octets(request, field):
    return bytes.fromhex(request[field])


def signer_of(request):
    key = pgp.Tsk.from_bytes(octets(request, "signer"))
    return key.signer(request.get("key_passphrase"))


def checked(opened, is_demanded):
    """The text; where a signature is demanded, only with a valid one."""
    if is_demanded and not opened.valid_sigs:
        raise ValueError("no valid signature")
    return opened.bytes


def generate(request):
    key = pgp.Tsk.generate(
        request["user_id"],
        profile=getattr(pgp.Profile, request["profile"]),
        cipher_suite=getattr(pgp.CipherSuite, request["suite"]),
    )
    certificate = key.extract_certificate()
    return {"secret": str(key).encode().hex(), "certificate": str(certificate).encode().hex()}


def encrypt(request):
    recipients = [pgp.Cert.from_bytes(bytes.fromhex(one)) for one in request["recipients"]]
    signer = signer_of(request) if request["signer"] else None
    message = pgp.encrypt(
        octets(request, "text"),
        recipients=recipients,
        signer=signer,
        passwords=request["passphrases"],
        armor="--no-armor" not in request["options"],
    )
    return {"output": message.hex()}


def decrypt(request):
    options = {}
    if request["key"]:
        key = pgp.Tsk.from_bytes(octets(request, "key"))
        options["decryptor"] = key.decryptor(request["key_passphrase"])
    if request["passphrase"] is not None:
        options["passwords"] = [request["passphrase"]]
    if request["signer"]:
        certificate = pgp.Cert.from_bytes(octets(request, "signer"))
        options["store"] = lambda _: [certificate]
    opened = pgp.decrypt(octets(request, "message"), **options)
    return {"output": checked(opened, bool(request["signer"])).hex()}


def sign(request):
    mode = MODES[request["kind"]]
    return {"output": pgp.sign(signer_of(request), octets(request, "text"), mode=mode).hex()}


def verify(request):
    certificate = pgp.Cert.from_bytes(octets(request, "signer"))
    signed = octets(request, "signed")
    if request["kind"] == "detached":
        text = octets(request, "text")
        opened = pgp.verify(text, store=lambda _: [certificate], signature=pgp.Sig.from_bytes(signed))
        checked(opened, True)
        return {"output": text.hex()}
    opened = pgp.verify(signed, store=lambda _: [certificate])
    return {"output": checked(opened, True).hex()}


OPERATIONS = {
    "generate": generate,
    "encrypt": encrypt,
    "decrypt": decrypt,
    "sign": sign,
    "verify": verify,
}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = OPERATIONS[asked["op"]](asked)
    except Exception as error:  # whatever the library says goes back as its word
        answer = {"error": str(error).split("\n\nStack backtrace")[0]}
    print(json.dumps(answer), flush=True)
