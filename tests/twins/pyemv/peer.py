"""Says what pyemv 1.5.0 computes: a line of fields in, a line of values out."""

import sys

from pyemv import ac, cvv, kd, sm


def unhex(text):
    return bytes.fromhex("" if text == "-" else text)


def card(option, issuer, pan, sequence):
    derive = {"A": kd.derive_icc_mk_a, "B": kd.derive_icc_mk_b}[option]
    return derive(unhex(issuer), pan, sequence)


def transaction(scheme, filling, option, issuer, other, pan, sequence, counter, number, text, code, update, own):
    key = card(option, issuer, pan, sequence)
    counter, number, text = unhex(counter), unhex(number), unhex(text)
    padding = ac.PaddingType.EMV
    if scheme == "VISA":
        session, padding = key, ac.PaddingType.VISA
    elif scheme == "MC":
        session = kd.derive_common_sk(key, counter + b"\x00\x00" + number)
    elif scheme in ("CSK1", "CSK2"):
        session = kd.derive_common_sk(key, counter + bytes(6))
    elif scheme == "TREE2":
        session = kd.derive_emv2000_tree_sk(key, counter, height=16, branch_factor=2)
    else:
        session = kd.derive_emv2000_tree_sk(key, counter, height=8, branch_factor=4)
    if filling == "NONE":
        # What is whole blocks already gets no zeros.
        assert len(text) % 8 == 0
    padding = {"-": padding, "ZEROS": ac.PaddingType.VISA, "BIT": ac.PaddingType.EMV, "NONE": ac.PaddingType.VISA}[filling]
    cryptogram = ac.generate_ac(session, text, padding)
    if scheme == "CSK2":
        response = ac.generate_arpc_2(session, cryptogram, unhex(update), unhex(own)) + bytes(4)
    else:
        under = session if scheme != "MC" else card(option, other, pan, sequence)
        response = ac.generate_arpc_1(under, cryptogram, unhex(code))
    return cryptogram.hex() + " " + response.hex()


def script(issuer, pan, sequence, counter, command):
    key = kd.derive_visa_sm_sk(card("A", issuer, pan, sequence), unhex(counter))
    return sm.generate_command_mac(key, unhex(command)).hex()


def pin(issuer, other, pan, sequence, counter, new, current):
    block = sm.format_vis_pin_block(
        card("A", issuer, pan, sequence), new, None if current == "-" else current
    )
    key = kd.derive_visa_sm_sk(card("A", other, pan, sequence), unhex(counter))
    return sm.encrypt_command_data(key, block, sm.EncryptionType.VISA).hex()


def change(issuer, pan, sequence, method, session, given, new):
    key = card("A", issuer, pan, sequence)
    if session == "CSK":
        key = kd.derive_common_sk(key, unhex(given))
    else:
        height, branches = {"TREE2": (16, 2), "TREE4": (8, 4)}[session]
        key = kd.derive_emv2000_tree_sk(key, unhex(given), height=height, branch_factor=branches)
    block = sm.format_iso9564_2_pin_block(new)
    return sm.encrypt_command_data(key, block, sm.EncryptionType[method]).hex()


def data(key, method, text):
    return sm.encrypt_command_data(unhex(key), unhex(text), sm.EncryptionType[method]).hex()


def cvc3(key, track, counter, number):
    # The package leaves zeros in front out.
    return cvv.generate_cvc3(unhex(key), unhex(track), unhex(counter), unhex(number)).zfill(5)


OPERATIONS = {function.__name__: function for function in (transaction, script, pin, change, data, cvc3)}
for line in sys.stdin:
    operation, *fields = line.split()
    print(OPERATIONS[operation](*fields))
