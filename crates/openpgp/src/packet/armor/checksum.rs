//! The CRC-24 of armor (RFC 9580, 6.1.1), sixteen bytes at a time.
//!
//! The register is kept in the upper three of four bytes. Once a byte is XORed in, its effect on the register depends
//! on this byte alone. `TABLES[n]` holds the effect of a byte with n more bytes behind it, so that the effects of
//! sixteen bytes add up.

/// A checksum over the bytes so far.
#[derive(Clone, Debug)]
pub(super) struct Checksum {
    register: u32,
}

impl Checksum {
    pub(super) fn new() -> Self {
        Self { register: 0xb7_04ce << 8 }
    }

    pub(super) fn update(&mut self, data: &[u8]) {
        let mut register = self.register;
        let (groups, rest) = data.as_chunks::<16>();
        for group in groups {
            let bytes = (u128::from_be_bytes(*group) ^ u128::from(register) << 96).to_be_bytes();
            register = 0;
            for (byte, table) in bytes.iter().zip(TABLES.iter().rev()) {
                register ^= table[usize::from(*byte)];
            }
        }
        for byte in rest {
            register = register << 8 ^ TABLES[0][usize::from(register.to_be_bytes()[0] ^ byte)];
        }
        self.register = register;
    }

    pub(super) fn value(&self) -> [u8; 3] {
        let [a, b, c, _] = self.register.to_be_bytes();
        [a, b, c]
    }
}

static TABLES: [[u32; 256]; 16] = tables();

const fn tables() -> [[u32; 256]; 16] {
    let mut tables = [[0; 256]; 16];
    let mut table = 0;
    while table < 16 {
        let mut byte = 0;
        while byte < 256 {
            let mut register = if table == 0 { (byte as u32) << 24 } else { tables[table - 1][byte] };
            let mut bit = 0;
            while bit < 8 {
                register = register << 1 ^ if register >> 31 == 1 { POLYNOMIAL } else { 0 };
                bit += 1;
            }
            tables[table][byte] = register;
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// The polynomial without its highest bit, in the upper three bytes.
const POLYNOMIAL: u32 = 0x86_4cfb << 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue() {
        // CRC-24/OPENPGP of "123456789".
        let mut checksum = Checksum::new();
        checksum.update(b"123456789");
        assert_eq!(checksum.value(), [0x21, 0xcf, 0x02]);
    }

    #[test]
    fn pieces_make_no_difference() {
        let text: Vec<u8> = (0..1000u32).map(|at| (at * 7) as u8).collect();
        let mut whole = Checksum::new();
        whole.update(&text);
        for bytes in [1, 3, 15, 16, 17, 48] {
            let mut pieces = Checksum::new();
            text.chunks(bytes).for_each(|piece| pieces.update(piece));
            assert_eq!(pieces.value(), whole.value());
        }
    }
}
