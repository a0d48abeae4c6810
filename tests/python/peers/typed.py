"""A program that uses the package, for mypy alone: what is annotated here is what callers get. It is not run."""

import cryptand
from cryptand import cipher, cvv, dukpt, emv, fpe, keyblock, keys, mac, pin, rsa, signature

home = cryptand.Home()
block = bytes(8)
ksn = bytes(12)

one_block: bytes = pin.translate(home, block, from_key="A", to_key=b"B", ksn=ksn, to_ksn=dukpt.Aes(ksn, "AES-128"))
many_blocks: list[bytes | cryptand.Error] = pin.reformat(home, [block], from_key=["A"], to_key="B", to_format="ISO-4", ksn=[None])
is_right: bool = pin.compare(home, block, block, block_key="A", reference_key="B")
are_right: list[bool | cryptand.Error] = pin.verify(home, [block], block_key="A", pin_key="B", method=[pin.Ibm("0")])
recovered: bytes = pin.recover(home, pin_key="A", block_key="B", method=pin.Ibm("0", offset="1234"))

token: bytes = keyblock.import_key(home, "text", under="K")
tokens: list[bytes | cryptand.Error] = keyblock.import_key(home, ["text"], under=["K"])
text: str = keyblock.export_key(home, b"token", under="K", usage="P0", mode="E")
texts: list[str | cryptand.Error] = keyblock.export_key(home, [token], under="K", usage=["P0"], mode="E")
header: keyblock.Header = keyblock.parse(home, text)
lengths: dict[str, int] = keyblock.optional_blocks(home, text)
data: str = keyblock.read_optional(home, text, "KS")
several: list[str | cryptand.Error] = keyblock.read_optional(home, text, ["KS", "TS"])
combined: bytes = cvv.combine(home, key="A", key_b="B")

card_key: bytes = emv.derive_icc_mk(home, "A", use="AC", pan="4")
session: bytes = emv.derive_common_sk(home, card_key, bytes(8))
sessions: list[bytes | cryptand.Error] = emv.derive_sk(home, "A", scheme="VISA", pan="4", atc=[bytes(2)])
is_card: bool = emv.verify_arqc(home, "A", bytes(8), pan="4", atc=bytes(2), data=b"")
arpc: bytes | None = emv.answer_arqc(home, "A", bytes(8), pan="4", atc=bytes(2), data=b"", arpc_rc=b"00")
arpcs: list[bytes | None | cryptand.Error] = emv.answer_arqc(home, "A", [bytes(8)], pan=["4"], atc=bytes(2), data=b"", csu=bytes(4))
command_mac: bytes = emv.generate_command_mac(home, session, b"")
change: bytes = emv.change_pin(home, block, block_key="A", ac_key="B", enc_key="C", pan="4", atc=bytes(2))

enciphered: str = fpe.encipher(home, "0123456789", key="A", tweak="1")
deciphered: list[str | cryptand.Error] = fpe.decipher(home, ["0123456789"], key="A", tweak=[b""], alphabet="0123456789")
translated: str = fpe.translate(home, "0123456789", from_key="A", to_key="B")

keys.generate(home, "A", "tdes-mac", usage=["CVVKEY-A"])
records: list[keys.KeyRecord] = keys.list_keys(home, "A.*", store="des")
values: dict[keys.CheckMethod, str] = keys.check_values(home, b"token")
method: keys.CheckMethod | None = keys.test(home, "A", "8B9802")
pem: str = keys.public_key(home, "A")
code: bytes = mac.generate(home, b"", key="A", method="AES-CMAC")
codes: list[bytes | cryptand.Error] = mac.generate(home, [b""], key=["A"], method="X9.19OPT", length=4)
verified: list[bool | cryptand.Error] = mac.verify(home, [code], b"", key="A", method=["HMAC-SHA-256"])
secret: bytes = cipher.encrypt(home, b"", key="A", mode="AES-GCM", iv=bytes(12), aad=b"")
clear: list[bytes | cryptand.Error] = cipher.decrypt(home, [secret], key="A", mode="TDES-CBC", iv=[bytes(8)])
moved: bytes = cipher.translate(home, secret, from_key="A", to_key="B", mode="AES-CBC", to_mode="TDES-CBC", iv=bytes(16), to_iv=bytes(8))
signed: bytes = signature.sign(home, b"", key="A", scheme="PSS", hash="SHA-384")
holds: bool = signature.verify(home, signed, b"", key="A", scheme="ECDSA")
wrapped: bytes = rsa.encrypt(home, b"", key="A", padding="OAEP", hash="SHA-1")
unwrapped: list[bytes | cryptand.Error] = rsa.decrypt(home, [wrapped], key="A")
of_transaction: bytes = dukpt.derive(home, "A", ksn, "aes128-mac", usage=["VERIFY"], terminal="makes")
of_transactions: list[bytes | cryptand.Error] = dukpt.derive(home, "A", [ksn, ksn], "tdes-mac")
initial: str = dukpt.initial(home, "A", ksn, under="B", kind="aes256")
refusals: list[type[cryptand.VerbError]] = [
    cryptand.BadInput, cryptand.KeyExists, cryptand.KeyNotFound, cryptand.NotPermitted, cryptand.NotVerified, cryptand.Unavailable,
    cryptand.WrongKey,
]
