"""Formats of PIN blocks and methods of PINs that no package has: a second implementation, written from the descriptions of them that are
published, which also makes the cases that both are asked.

twin_formats.py ROW COUNT SEED writes a case a line: what is asked, tabs between, and behind the last one what is right:

ok            done, or verified
wrong         not verified
=0412..       a clear block or a result of these digits; '?' stands for any digit, '+' for one of A to F
refuse:NAME   refused: a fault of the PIN block (block), or of what NAME says

Where the descriptions leave something open, such as whether what lies behind a PIN has to be the same digit each, what they allow stands there, '|' between.
"""

import random
import sys
import warnings

KEY = bytes.fromhex("0123456789ABCDEFFEDCBA9876543210")
DECIMAL, LETTERS, HEXADECIMAL = "0123456789", "ABCDEF", "0123456789ABCDEF"
FORMATS = "VISA-2 VISA-3 VISA-4 ECI-2 ECI-3 3621 3624 4704-EPP".split()
ALL = FORMATS + "ISO-0 ISO-1 ISO-2 ISO-3".split()
# Fewest and most digits of a PIN.
DIGITS = {"VISA-2": (4, 6), "ECI-2": (4, 4), "ECI-3": (4, 6), "3621": (1, 12), "3624": (1, 16)}
# Pad digits that a profile may ask for when a block is made; other formats ask for none.
PADS = {"VISA-2": DECIMAL, "VISA-3": HEXADECIMAL, "3621": HEXADECIMAL, "3624": HEXADECIMAL, "ISO-0": "F", "VISA-4": "F", "4704-EPP": "F"}
WITH_PAN = ("ISO-0", "ISO-3", "VISA-4")


class Refused(Exception):
    """What a refusal is for."""


def enciphering():
    try:
        from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    except ImportError:
        from cryptography.hazmat.primitives.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Cipher(TripleDES(KEY + KEY[:8]), modes.ECB()).encryptor()


ENCIPHERING = enciphering()


def cipher(block):
    return ENCIPHERING.update(bytes.fromhex(block)).hex().upper()


def limits(name):
    return DIGITS.get(name, (4, 12))


def mixed(field, pan):
    """A field beside the digits of a PAN, exclusive or."""
    return f"{int(field, 16) ^ int(pan, 16):016X}"


# Blocks that are made.


def made(name, pin, pad, pan, sequence):
    """What a new block looks like. A PIN that is longer than its format takes ends behind the last digit that it takes."""
    if pad and name in PADS and pad not in PADS[name]:
        raise Refused("pad")
    if name in ("VISA-2", "VISA-3", "3621", "3624") and not pad:
        raise Refused("pad")
    least, most = limits(name)
    if len(pin) < least:
        raise Refused("block")
    pin = pin[:most]
    length = f"{len(pin):X}"
    match name:
        case "ISO-0":
            return mixed(("0" + length + pin).ljust(16, "F"), pan)
        case "VISA-4":
            return mixed(("0" + length + pin).ljust(16, "F"), pan)
        case "ISO-1":
            return ("1" + length + pin).ljust(16, "?")
        case "ISO-2":
            return ("2" + length + pin).ljust(16, "F")
        case "ISO-3":
            return ("3" + length + pin).ljust(16, "+") + "^" + pan
        case "VISA-2":
            return length + pin.ljust(6, "0") + pad * 9
        case "VISA-3":
            return (pin + "F").ljust(16, pad)
        case "ECI-2":
            return pin + "?" * 12
        case "ECI-3":
            return length + pin.ljust(6, "0") + "?" * 9
        case "3621":
            return f"{sequence:04d}" + pin.ljust(12, pad)
        case "3624":
            return pin.ljust(16, pad)
        case "4704-EPP":
            return (length + pin).ljust(14, "F") + f"{sequence % 100:02d}"


# PINs that are taken out.


def methods(name):
    """Extraction methods that go with a format, the default first."""
    if name == "ECI-2":
        return ["PINLEN04"]
    if name in ("3621", "3624"):
        return ["PADDIGIT", "HEXDIGIT", "PADEXIST"] + [f"PINLEN{digits:02}" for digits in range(4, limits(name)[1] + 1)]
    return ["PINBLOCK"]


def by_delimiter(digits, pad, least):
    """Both ways to look for a pad digit: from the left to the first, and from the right over the last ones. Where every PIN has four
    digits, it is the latter; whether that stops at four, or fewer are refused, is said both ways."""
    from_right = digits.rstrip(pad)
    if least == 4:
        return {from_right} if len(from_right) >= 4 else {from_right, digits[:4]}
    return {digits.split(pad)[0], from_right}


def taken(name, method, pad, pan, block, fewest=1):
    """PINs that a clear block may be said to hold, and whether the descriptions say that the block is right."""
    least, most = limits(name)
    behind = True

    def counted(digits, at, room):
        """The digits behind their number, and what fills the room behind them."""
        count = int(digits[at], 16)
        if not least <= count <= most:
            raise Refused("block")
        return digits[at + 1 : at + 1 + count], digits[at + 1 + count : at + 1 + room]

    match name:
        case "ISO-0" | "VISA-4":
            field = mixed(block, pan)
            pin, fill = counted(field, 1, 14)
            if field[0] != "0" or fill.strip("F"):
                raise Refused("block")
            pins = {pin}
        case "ISO-3":
            field = mixed(block, pan)
            pin, fill = counted(field, 1, 14)
            if field[0] != "3" or fill.strip(LETTERS):
                raise Refused("block")
            pins = {pin}
        case "ISO-1":
            if block[0] != "1":
                raise Refused("block")
            pins = {counted(block, 1, 14)[0]}
        case "ISO-2":
            pin, fill = counted(block, 1, 14)
            if block[0] != "2" or fill.strip("F"):
                raise Refused("block")
            pins = {pin}
        case "VISA-2":
            pin, fill = counted(block, 0, 6)
            pins = {pin}
            behind = not fill.strip("0") and len(set(block[7:])) == 1 and block[7] in DECIMAL
        case "ECI-3":
            pin, fill = counted(block, 0, 6)
            pins = {pin}
            behind = not fill.strip("0")
        case "4704-EPP":
            pin, fill = counted(block, 0, 13)
            if fill.strip("F"):
                raise Refused("block")
            pins = {pin}
        case "VISA-3":
            pin, delimiter, fill = block.partition("F")
            if not delimiter:
                raise Refused("block")
            pins = {pin}
            behind = len(set(fill)) <= 1
        case "ECI-2":
            pins = {block[:4]}
        case "3621" | "3624":
            digits = block[4:] if name == "3621" else block
            if method.startswith("PINLEN"):
                pins = {digits[: int(method[6:])]}
                behind = len(set(digits[int(method[6:]) :])) <= 1
            else:
                if method == "HEXDIGIT":
                    pads = [digit for digit in digits if digit in LETTERS]
                    pad = pads[0] if pads else "F"
                elif method == "PADEXIST":
                    pad = digits[-1]
                # Of the other methods it is not said that they look from the right.
                pins = by_delimiter(digits, pad, fewest)
                if method != "PADDIGIT":
                    pins |= by_delimiter(digits, pad, 1)
                behind = all(not digits[len(pin) :].strip(pad) for pin in pins)
                behind = behind and not (method == "PADEXIST" and pad in DECIMAL)
    right = {pin for pin in pins if pin and not pin.strip(DECIMAL) and least <= len(pin) <= most}
    if not right:
        raise Refused("block")
    return right, behind and right == pins


# Methods of PINs.


def decimalised(table, validation):
    return "".join(table[int(digit, 16)] for digit in cipher(validation))


def checked_elements(elements):
    table, validation = elements[0], elements[1]
    if len(table) != 16 or table.strip(DECIMAL):
        raise Refused("table")
    if len(validation) != 16 or validation.strip(HEXADECIMAL):
        raise Refused("validation")


def sum10(one, two, sign=1):
    return "".join(str((int(a) + sign * int(b)) % 10) for a, b in zip(one, two, strict=True))


def no_zero(pin):
    return ("1" if pin[0] == "0" else pin[0]) + pin[1:]


def pool(elements, offset="0000"):
    """Of the German banking pool: the last four of six digits and the offset."""
    checked_elements(elements)
    if len(offset) != 4 or offset.strip(DECIMAL):
        raise Refused("offset")
    return no_zero(sum10(decimalised(*elements[:2])[2:6], offset))


def interbank(elements):
    """Of Interbank: decimal digits of what eleven of the PAN, 6, a key index and three of validation data are enciphered to."""
    parameter = elements[0]
    if len(parameter) != 16 or parameter.strip(DECIMAL) or parameter[11] != "6" or not "1" <= parameter[12] <= "6":
        raise Refused("parameter")
    digits = cipher(parameter)
    found = [digit for digit in digits if digit in DECIMAL]
    found += [str(int(digit, 16) - 10) for digit in digits if digit in LETTERS]
    pin = "".join(found[:4])
    return "0100" if pin == "0000" else pin


# Cases.


class Cases:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def digits(self, count, of=DECIMAL):
        return "".join(self.random.choices(of, k=count))

    def pick(self, *among):
        return self.random.choice(among)

    def pad(self, name):
        """A pad digit for a profile that makes blocks; sometimes a wrong one."""
        of = PADS.get(name, "")
        if self.random.random() < 0.04:
            return self.pick(*HEXADECIMAL, "")
        # Without one, formats of a single pad digit take that one.
        return self.pick(*of, *([""] if of == "F" else [])) if of else ""

    def pin(self, name):
        least, most = limits(name)
        return self.digits(self.random.randint(least, most))

    def filled(self, pattern):
        """A block of a pattern."""
        field, _, pan = pattern.partition("^")
        field = "".join({"?": self.digits(1, HEXADECIMAL), "+": self.digits(1, LETTERS)}.get(digit, digit) for digit in field)
        return mixed(field, pan) if pan else field

    def block(self, name, pin, pan, damaged):
        """A clear block, and the pad digit of it."""
        pad = self.pick(*PADS.get(name, "F"))
        if name in ("3621", "3624") and self.random.random() < 0.8:
            pad = self.pick(*LETTERS)
        block = self.filled(made(name, pin, pad, pan, self.random.randint(0, 9999)))
        if damaged:
            # A wrong digit where it is likely to be noticed, two of them, or digits that mean nothing.
            digits = list(block)
            for _ in range(self.random.randint(1, 2)):
                digits[self.pick(0, 1, *range(16))] = self.digits(1, HEXADECIMAL)
            block = self.pick("".join(digits), "".join(digits), self.digits(16, HEXADECIMAL))
            if self.random.random() < 0.25:
                pad = self.digits(1, HEXADECIMAL)
        return block, pad

    def profile(self, name, pad, least):
        """Whether a profile makes blocks; where no PIN of fewer than four digits is taken, 3621 and 3624 have no decimal pad digits."""
        made(name, "1111", pad, "0" * 12, 0)
        if least == 4 and name in ("3621", "3624") and pad in DECIMAL:
            raise Refused("pad")
        return True

    def outcome(self, call):
        try:
            return call()
        except Refused as fault:
            return f"refuse:{fault}"

    def translated(self, one, other, least):
        """A block that is put into another one, or goes under another key as it is."""
        damaged = self.random.random() < 0.7
        pan_in, pan_out = self.digits(12), self.digits(12)
        sequence = self.random.randint(0, 9999)
        pin = self.pin(one)
        block, pad = self.block(one, pin, pan_in, damaged)
        if damaged and self.random.random() < 0.2:
            pan_in = self.digits(12)
        method = self.pick(*methods(one))
        if method.startswith("PINLEN") and not damaged and one in ("3621", "3624"):
            # The keyword says how long the PIN is.
            method = f"PINLEN{max(len(pin), 4):02}"
        profile_pad = pad if one in ("3621", "3624") else ""
        given = "" if method == methods(one)[0] and self.random.random() < 0.5 else method
        out_pad = self.pad(other)
        if self.random.random() < 0.02:
            method = given = self.pick("PINBLOCK", "PADDIGIT", "HEXDIGIT", "PADEXIST", "PINLEN04", "PINLEN05", "PINLEN13", "PINLEN16")
        if self.random.random() < 0.1:
            out_pad = self.pad(one)
            asked = ["TRANSLAT", "", one, profile_pad, pan_in, cipher(block), one, out_pad, pan_in, sequence]
            return ["translate", *asked, self.outcome(lambda: "=" + block if self.profile(one, out_pad, least) else "")]

        def right():
            if given and given not in methods(one):
                raise Refused("method")
            self.profile(other, out_pad, least)
            pins, firm = taken(one, method, profile_pad, pan_in, block, least)
            answers = {self.outcome(lambda pin=pin: again(pin)) for pin in sorted(pins)}
            return "|".join(sorted(answers if firm else answers | {"refuse:block"}))

        def again(pin):
            if len(pin) < least:
                raise Refused("block")
            return "=" + made(other, pin, out_pad, pan_out, sequence)

        asked = ["REFORMAT", given, one, profile_pad, pan_in, cipher(block), other, out_pad, pan_out, sequence]
        return ["translate", *asked, self.outcome(right)]

    def format_row(self, name):
        """Half out of the format, half into it."""
        other = self.pick(*ALL)
        one, other = (name, other) if self.random.random() < 0.5 else (other, name)
        if self.random.random() < 0.15:
            return self.encrypted(other)
        return self.translated(one, other, 1)

    def encrypted(self, name):
        """A clear PIN that is put into a block."""
        pin, pan, pad, sequence = self.digits(self.random.randint(4, 16)), self.digits(12), self.pad(name), self.random.randint(0, 9999)
        right = self.outcome(lambda: "=" + made(name, pin, pad, pan, sequence))
        # That a longer PIN is cut is said of formats and of translation, of this verb it is not.
        if right.startswith("=") and len(pin) > limits(name)[1]:
            right += "|refuse:length"
        return ["encrypt", pin, name, pad, pan, sequence, right]

    def elements(self, method):
        """Elements of the data array, sometimes wrong ones."""
        wrong = self.random.random() < 0.12
        if method == "INBK-PIN":
            parameter = self.digits(11) + "6" + self.digits(1, "123456") + self.digits(3)
            if wrong:
                at = self.random.randint(0, 15)
                parameter = parameter[:at] + self.digits(1, "0789ABFa ") + parameter[at + 1 :]
            return [parameter, "", ""]
        table, validation = self.digits(16), self.digits(16, HEXADECIMAL)
        if wrong:
            at, bad = self.random.randint(0, 15), self.pick(*"aGx:/")
            if self.random.random() < 0.5:
                table = table[:at] + bad + table[at + 1 :]
            else:
                validation = validation[:at] + bad + validation[at + 1 :]
        return [table, validation, ""]

    def pin_of(self, method, elements, offset):
        if method == "INBK-PIN":
            return interbank(elements)
        return pool(elements, offset if method == "GBP-PINO" else "0000")

    def method_row(self, method):
        """A PIN or an offset that is made, and PINs that are verified, right ones and wrong ones."""
        elements = self.elements(method)
        offset = self.digits(4)
        way = self.random.random()
        if way < 0.15:
            if method != "GBP-PINO":
                return ["generate", method, 4, 4, *elements, self.outcome(lambda: "=" + self.pin_of(method, elements, offset))]
            # No PIN of the pool begins with a zero.
            pin = self.digits(1, "123456789") + self.digits(3)

            def right():
                checked_elements(elements)
                return "=" + sum10(pin, decimalised(*elements[:2])[2:6], -1)

            return ["generate", method, 4, 4, elements[0], elements[1], pin, self.outcome(right)]
        if way < 0.3 and method != "GBP-PINO":
            name, pan, sequence = self.pick(*ALL), self.digits(12), self.random.randint(0, 9999)
            pad = self.pad(name)

            def right():
                made(name, "1111", pad, pan, sequence)
                return "=" + made(name, self.pin_of(method, elements, offset), pad, pan, sequence)

            return ["encrypted", method, 4, *elements, name, pad, pan, sequence, self.outcome(right)]
        if method == "GBP-PINO":
            elements[2] = offset
            if self.random.random() < 0.04:
                elements[2] = self.pick(self.digits(3), self.digits(3) + "A", "")
        name, pan = self.pick(*ALL), self.digits(12)
        answer = self.outcome(lambda: self.pin_of(method, elements, elements[2]))
        pin = answer if not answer.startswith("refuse") else self.digits(4)
        given = pin
        if self.random.random() < 0.5:
            at = self.random.randint(0, 3)
            nearly = pin[:at] + self.digits(1) + pin[at + 1 :]
            given = self.pick(nearly, self.digits(4), pin[::-1], self.digits(limits(name)[1]))
        block, pad = self.block(name, given, pan, self.random.random() < 0.15)
        profile_pad = pad if name in ("3621", "3624") else ""

        def right():
            if answer.startswith("refuse"):
                return answer
            pins, firm = taken(name, methods(name)[0], profile_pad, pan, block)
            answers = {"ok" if one == pin else "wrong" for one in pins}
            # What becomes of more than four digits is said of the pool alone.
            if method == "INBK-PIN" and any(one != pin and one.startswith(pin) for one in pins):
                answers |= {"ok", "wrong"}
            return "|".join(sorted(answers if firm else answers | {"refuse:block"}))

        return ["verify", method, "", name, profile_pad, pan, cipher(block), 4, *elements, self.outcome(right)]

    def short_row(self):
        """PINs of few digits, where none of fewer than four is taken."""
        one, other = self.pick("3621", "3624"), self.pick(*ALL)
        return self.translated(one, other, 4)


def main():
    row, count, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    cases = Cases(f"{row} {seed}")
    lines = []
    for _ in range(count):
        if row == "short":
            case = cases.short_row()
        elif row in FORMATS:
            case = cases.format_row(row)
        else:
            case = cases.method_row(row)
        lines.append("\t".join(str(part) for part in case))
    print("\n".join(lines))


main()
