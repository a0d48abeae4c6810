import ctypes


def words(rule_array):
    """A list of keywords as the interface has it; none is a null pointer."""
    if rule_array is None:
        return None
    return b"".join(word.encode("ascii").ljust(KEYWORD_BYTES) for word in rule_array)


def has(rule_array, keyword):
    """Whether a rule array holds a keyword of 8 characters."""
    rule_array = rule_array or b""
    return any(rule_array[at : at + KEYWORD_BYTES] == keyword for at in range(0, len(rule_array), KEYWORD_BYTES))


def count(value, field, unit):
    """An integer that is given, or that counts a field."""
    return value if value is not None else len(field or b"") // unit


def within(value, most):
    """A length that a field can have; none for any other."""
    return value if 0 <= value <= most else 0


def own(token):
    """The length that a token says."""
    if not token:
        return 0
    if token[0] in (0x1E, 0x1F) or (token[0] in (0x01, 0x02) and token[4] == 0x05):
        return int.from_bytes(token[2:4], "big")
    return LABEL_BYTES


class Call:
    """The parameters of one call, in order."""

    def __init__(self, function):
        self.function = function
        self.codes = [ctypes.c_long(), ctypes.c_long()]
        self.parameters = [ctypes.byref(code) for code in self.codes] + [None, None]
        self.integers = {}
        self.outputs = {}

    def ignored(self):
        self.parameters.append(None)

    def integer(self, value, name=None):
        value = ctypes.c_long(value)
        if name is not None:
            self.integers[name] = value
        self.parameters.append(ctypes.byref(value))

    def input(self, name, value, size):
        """A field that is read: exactly as many bytes as the verb reads, or a null pointer."""
        if value is not None and len(value) != size:
            raise ValueError(f"{name}: {size} bytes are read, and {len(value)} given")
        self.parameters.append(None if value is None else ctypes.create_string_buffer(value, size))

    def output(self, name, value, size, said_by=None, unit=1):
        """A field that is written, of exactly so many bytes."""
        value = value or b""
        if len(value) > size:
            raise ValueError(f"{name}: {size} bytes are read, and {len(value)} given")
        field = (ctypes.c_char * size).from_buffer_copy(value.ljust(size, b"\0")) if size else None
        self.outputs[name] = (field, said_by, unit)
        self.parameters.append(field)

    def answer(self):
        """Codes, integers, and, where the verb did what was asked, fields."""
        self.function.restype = None
        self.function(*self.parameters)
        answer = {"return_code": self.codes[0].value, "reason_code": self.codes[1].value}
        answer.update((name, value.value) for name, value in self.integers.items())
        if answer["return_code"] < 8:
            for name, (field, said_by, unit) in self.outputs.items():
                field = b"" if field is None else field.raw
                answer[name] = field if said_by is None else field[: answer[said_by] * unit]
        return answer
