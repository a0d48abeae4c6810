//! DUKPT with AES (ANSI X9.24-3:2017): the data that derive one key from another. A key is made of one or two blocks of
//! [`Derivation`], numbered from one, each enciphered under the deriving key. The result is cut to the key's length.

/// Length of the identifier of an initial key in bytes.
pub const INITIAL_ID_BYTES: usize = 8;
/// At most this many bits are set in a counter.
const BITS_SET_MAX: u32 = 16;
/// The greatest counter.
const COUNTER_MAX: u32 = 0xFFFF_0000;

/// The algorithm and length of a derived key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// Two-part TDES.
    Tdes2,
    /// Three-part TDES.
    Tdes3,
    /// AES with a key of 128 bits.
    Aes128,
    /// AES with a key of 192 bits.
    Aes192,
    /// AES with a key of 256 bits.
    Aes256,
}

impl KeyKind {
    /// All kinds of keys.
    pub const ALL: [Self; 5] = [Self::Tdes2, Self::Tdes3, Self::Aes128, Self::Aes192, Self::Aes256];

    /// Length of the key in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Tdes2 | Self::Aes128 => 16,
            Self::Tdes3 | Self::Aes192 => 24,
            Self::Aes256 => 32,
        }
    }

    /// The number of 16-byte blocks that make the key.
    pub const fn blocks(self) -> usize {
        self.bytes().div_ceil(16)
    }

    /// The kind of an AES key of this many bytes; `None` if no AES key has that length.
    pub const fn aes(bytes: usize) -> Option<Self> {
        match bytes {
            16 => Some(Self::Aes128),
            24 => Some(Self::Aes192),
            32 => Some(Self::Aes256),
            _ => None,
        }
    }

    /// Whether the key is an AES key.
    pub const fn is_aes(self) -> bool {
        matches!(self, Self::Aes128 | Self::Aes192 | Self::Aes256)
    }

    const fn code(self) -> u16 {
        match self {
            Self::Tdes2 => 0,
            Self::Tdes3 => 1,
            Self::Aes128 => 2,
            Self::Aes192 => 3,
            Self::Aes256 => 4,
        }
    }
}

/// The purpose of a derived key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Enciphers other keys.
    KeyEncryption,
    /// Enciphers PIN blocks.
    Pin,
    /// Generates MACs.
    MacGenerate,
    /// Verifies MACs.
    MacVerify,
    /// Generates and verifies MACs.
    MacBoth,
    /// Enciphers data.
    DataEncrypt,
    /// Deciphers data.
    DataDecrypt,
    /// Enciphers and deciphers data.
    DataBoth,
    /// Derives the next key on the way to a transaction.
    Derivation,
    /// Serves as the initial key of a terminal.
    Initial,
}

impl Purpose {
    /// The purposes of the keys that [`Transaction`] reads: working keys except key-encrypting ones, and the initial
    /// key.
    const OF_TERMINALS: [Self; 8] = [
        Self::Pin,
        Self::MacGenerate,
        Self::MacVerify,
        Self::MacBoth,
        Self::DataEncrypt,
        Self::DataDecrypt,
        Self::DataBoth,
        Self::Initial,
    ];

    const fn code(self) -> u16 {
        match self {
            Self::KeyEncryption => 0x0002,
            Self::Pin => 0x1000,
            Self::MacGenerate => 0x2000,
            Self::MacVerify => 0x2001,
            Self::MacBoth => 0x2002,
            Self::DataEncrypt => 0x3000,
            Self::DataDecrypt => 0x3001,
            Self::DataBoth => 0x3002,
            Self::Derivation => 0x8000,
            Self::Initial => 0x8001,
        }
    }
}

/// The data of one derivation step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// The purpose of the derived key.
    pub purpose: Purpose,
    /// The algorithm and length of the derived key.
    pub kind: KeyKind,
    /// The identifier of the initial key.
    pub initial_id: [u8; INITIAL_ID_BYTES],
    /// The transaction counter; for an intermediate step, its highest set bits up to that step.
    pub counter: u32,
}

impl Derivation {
    /// The derivation data of block `number` (from 1), to be enciphered under the deriving key.
    pub fn block(&self, number: u8) -> [u8; 16] {
        let mut data = [0; 16];
        (data[0], data[1]) = (1, number);
        data[2..4].copy_from_slice(&self.purpose.code().to_be_bytes());
        data[4..6].copy_from_slice(&self.kind.code().to_be_bytes());
        data[6..8].copy_from_slice(&((self.kind.bytes() * 8) as u16).to_be_bytes());
        if self.purpose == Purpose::Initial {
            data[8..].copy_from_slice(&self.initial_id);
        } else {
            data[8..12].copy_from_slice(&self.initial_id[4..]);
            data[12..].copy_from_slice(&self.counter.to_be_bytes());
        }
        data
    }
}

/// Length of the derivation data of a transaction in bytes.
pub const TRANSACTION_BYTES: usize = 20;

/// A working key of a transaction, or the initial key of a terminal, as derivation data describe it. The data begin as
/// a block of [`Derivation`], but hold the whole identifier: `01 01`, usage, algorithm and length in bits of the key,
/// identifier of the initial key, counter. The counter of an initial key is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The purpose of the key.
    pub purpose: Purpose,
    /// The algorithm and length of the key.
    pub kind: KeyKind,
    /// The identifier of the terminal's initial key.
    pub initial_id: [u8; INITIAL_ID_BYTES],
    /// The transaction counter; zero for an initial key.
    counter: u32,
}

/// Why derivation data describe no key of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionFault {
    /// The first eight bytes are not those of a key with an allowed purpose.
    Head,
    /// The counter is not one of a transaction ([`CounterFault`]), or not zero for an initial key.
    Counter,
}

impl std::fmt::Display for TransactionFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Head => f.write_str("the derivation data are not those of a key for this"),
            Self::Counter => CounterFault.fmt(f),
        }
    }
}

impl std::error::Error for TransactionFault {}

impl Transaction {
    /// Reads the derivation data of a PIN key.
    ///
    /// # Errors
    /// [`TransactionFault`].
    pub fn read(data: &[u8; TRANSACTION_BYTES]) -> Result<Self, TransactionFault> {
        Self::read_any(data, &[Purpose::Pin])
    }

    /// Reads the derivation data of a working key of any purpose except key encryption, or of an initial key.
    ///
    /// # Errors
    /// [`TransactionFault`].
    pub fn read_for_any(data: &[u8; TRANSACTION_BYTES]) -> Result<Self, TransactionFault> {
        Self::read_any(data, &Purpose::OF_TERMINALS)
    }

    fn read_any(data: &[u8; TRANSACTION_BYTES], purposes: &[Purpose]) -> Result<Self, TransactionFault> {
        let (head, rest) = data.split_at(8);
        let (id, counter) = rest.split_at(INITIAL_ID_BYTES);
        let mut initial_id = [0; INITIAL_ID_BYTES];
        initial_id.copy_from_slice(id);
        let counter = counter.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
        let all = purposes.iter().flat_map(|purpose| KeyKind::ALL.map(|kind| (*purpose, kind)));
        let is_it = |(purpose, kind): &(Purpose, KeyKind)| {
            Derivation { purpose: *purpose, kind: *kind, initial_id, counter }.block(1)[..8] == *head
        };
        let (purpose, kind) = all.into_iter().find(is_it).ok_or(TransactionFault::Head)?;
        let is_counter = if purpose == Purpose::Initial { counter == 0 } else { steps(counter).is_ok() };
        if !is_counter {
            return Err(TransactionFault::Counter);
        }
        Ok(Self { purpose, kind, initial_id, counter })
    }

    /// The derivation data of each step from a base key of this kind to this key. Each step's key derives the next.
    pub fn derivations(self, base: KeyKind) -> impl Iterator<Item = Derivation> {
        let of =
            move |purpose, kind, counter| Derivation { purpose, kind, initial_id: self.initial_id, counter };
        let counters = steps(self.counter).into_iter().flatten();
        let between = counters.map(move |so_far| of(Purpose::Derivation, base, so_far));
        let last = of(self.purpose, self.kind, self.counter);
        let has_last = self.purpose != Purpose::Initial;
        std::iter::once(of(Purpose::Initial, base, 0)).chain(between).chain(has_last.then_some(last))
    }
}

/// A counter that no terminal reaches: zero, above the greatest, or with more than 16 bits set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterFault;

impl std::fmt::Display for CounterFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the counter of an AES DUKPT transaction has 1 to 16 bits set, and is FFFF0000 at most")
    }
}

impl std::error::Error for CounterFault {}

/// The counters of the steps from the initial key to the key that derives working keys: one for each set bit, highest
/// first.
///
/// # Errors
/// [`CounterFault`].
pub fn steps(counter: u32) -> Result<impl Iterator<Item = u32>, CounterFault> {
    if counter == 0 || counter > COUNTER_MAX || counter.count_ones() > BITS_SET_MAX {
        return Err(CounterFault);
    }
    let mut so_far = 0;
    Ok((0..u32::BITS).rev().filter(move |bit| counter >> bit & 1 == 1).map(move |bit| {
        so_far |= 1 << bit;
        so_far
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{encipher, hex};
    use engine::CipherAlgorithm;

    const ID: [u8; 8] = [0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56];

    fn derive(key: &[u8], purpose: Purpose, kind: KeyKind, counter: u32) -> Vec<u8> {
        let algorithm = match key.len() {
            16 => CipherAlgorithm::Aes128,
            _ => CipherAlgorithm::Aes256,
        };
        let data = Derivation { purpose, kind, initial_id: ID, counter };
        let blocks =
            (1..=kind.blocks()).flat_map(|number| encipher(algorithm, key, &data.block(number as u8)));
        blocks.take(kind.bytes()).collect()
    }

    fn transaction(base: &[u8], counter: u32) -> Vec<u8> {
        let kind = KeyKind::aes(base.len()).unwrap();
        let initial = derive(base, Purpose::Initial, kind, 0);
        steps(counter).unwrap().fold(initial, |key, so_far| derive(&key, Purpose::Derivation, kind, so_far))
    }

    /// Vectors of ANSI X9.24-3, as the tests of openemv/dukpt repeat them.
    #[test]
    fn keys_of_128_bits_are_the_published_ones() {
        let base = hex::<16>("FEDCBA9876543210F1F1F1F1F1F1F1F1");
        assert_eq!(
            derive(&base, Purpose::Initial, KeyKind::Aes128, 0),
            hex::<16>("1273671EA26AC29AFA4D1084127652A1")
        );
        for (counter, key) in [
            (1, "4F21B565BAD9835E112B6465635EAE44"),
            (2, "2F34D68DE10F68D38091A73B9E7C437C"),
            (3, "031504E530365CF81264238540518318"),
            (8, "718EE6CF0B27E53D5F7AF99C4D8146A2"),
            (0x1FFFE, "E21E8C8D347F8561A2BE752DAA85A111"),
            (0x20000, "F7AE9025468A25D37B7249CFFED224C8"),
            (0xFFFF_0000, "F6BA59389BD14A9855BE9727E7C52E3C"),
        ] {
            assert_eq!(transaction(&base, counter), hex::<16>(key), "{counter:X}");
        }
        for (counter, purpose, key) in [
            (1, Purpose::Pin, "AF8CB133A78F8DC2D1359F18527593FB"),
            (1, Purpose::MacGenerate, "A2DC23DE6FDE0824A2BC321E08E4B8B7"),
            (1, Purpose::DataEncrypt, "A35C412EFD41FDB98B69797C02DCD08F"),
            (2, Purpose::Pin, "D30BDC73EC9714B000BEC66BDB7B6D09"),
            (3, Purpose::Pin, "7D69F01F3B45449F62C7816ECE723268"),
            (8, Purpose::Pin, "4D9DF3FBEE3448FC3E676D04320A90F5"),
        ] {
            let working = derive(&transaction(&base, counter), purpose, KeyKind::Aes128, counter);
            assert_eq!(working, hex::<16>(key), "{counter} {purpose:?}");
        }
    }

    #[test]
    fn keys_of_256_bits_are_the_published_ones() {
        let base = hex::<32>("FEDCBA9876543210F1F1F1F1F1F1F1F1FEDCBA9876543210F1F1F1F1F1F1F1F1");
        let initial = derive(&base, Purpose::Initial, KeyKind::Aes256, 0);
        assert_eq!(initial, hex::<32>("CE9CE0C101D1138F97FB6CAD4DF045A7083D4EAE2D35A31789D01CCF0949550F"));
        let key = transaction(&base, 1);
        assert_eq!(key, hex::<32>("54AC2B32B145EA4A554CB8BC44B17467063A799856B1CCC2A138D36E8DBF78B3"));
        let pin = |kind| derive(&key, Purpose::Pin, kind, 1);
        assert_eq!(pin(KeyKind::Aes128), hex::<16>("09C9C432966811D6B2C3336BAC1B1202"));
        assert_eq!(
            pin(KeyKind::Aes256),
            hex::<32>("8C1AB7BEE973829E30242E0BBBDD4946D540C98FC1B5BDCF94790001A23FD502")
        );
    }

    #[test]
    fn derivation_data_say_a_pin_key_and_how_it_is_derived() {
        let data = hex::<20>("0101100000020080123456789012345600000003");
        let transaction = Transaction::read(&data).unwrap();
        assert_eq!((transaction.kind, transaction.initial_id), (KeyKind::Aes128, ID));
        let base = hex::<16>("FEDCBA9876543210F1F1F1F1F1F1F1F1").to_vec();
        let key = transaction
            .derivations(KeyKind::Aes128)
            .fold(base, |key, one| derive(&key, one.purpose, one.kind, one.counter));
        assert_eq!(key, hex::<16>("7D69F01F3B45449F62C7816ECE723268"));
        for (at, head) in [(0, 2), (1, 2), (3, 1), (5, 5), (5, 0), (7, 0x81), (6, 1)] {
            let mut wrong = data;
            wrong[at] = head;
            let expected =
                if (at, head) == (5, 0) { Ok(KeyKind::Tdes2) } else { Err(TransactionFault::Head) };
            assert_eq!(Transaction::read(&wrong).map(|read| read.kind), expected, "{at} {head}");
        }
        let mut wrong = data;
        wrong[16..].copy_from_slice(&0x1_FFFF_u32.to_be_bytes());
        assert_eq!(Transaction::read(&wrong), Err(TransactionFault::Counter));
        for (kind, head) in [(KeyKind::Tdes3, "00C0"), (KeyKind::Aes192, "00C0"), (KeyKind::Aes256, "0100")] {
            let text = format!("01011000{:04X}{head}123456789012345600000001", kind.code());
            assert_eq!(Transaction::read(&hex::<20>(&text)).unwrap().kind, kind);
        }
    }

    #[test]
    fn derivation_data_say_what_a_key_is_for() {
        let base = hex::<16>("FEDCBA9876543210F1F1F1F1F1F1F1F1").to_vec();
        let key = |text: &str| {
            let transaction = Transaction::read_for_any(&hex::<20>(text))?;
            let derivations = transaction.derivations(KeyKind::Aes128);
            let key =
                derivations.fold(base.clone(), |key, one| derive(&key, one.purpose, one.kind, one.counter));
            Ok((transaction.purpose, key))
        };
        for (text, purpose, expected) in [
            ("0101100000020080123456789012345600000001", Purpose::Pin, "AF8CB133A78F8DC2D1359F18527593FB"),
            (
                "0101200000020080123456789012345600000001",
                Purpose::MacGenerate,
                "A2DC23DE6FDE0824A2BC321E08E4B8B7",
            ),
            (
                "0101300000020080123456789012345600000001",
                Purpose::DataEncrypt,
                "A35C412EFD41FDB98B69797C02DCD08F",
            ),
            (
                "0101800100020080123456789012345600000000",
                Purpose::Initial,
                "1273671EA26AC29AFA4D1084127652A1",
            ),
        ] {
            assert_eq!(key(text), Ok((purpose, hex::<16>(expected).to_vec())));
        }
        for (text, fault) in [
            // Intermediate derivation keys, and key-encrypting keys.
            ("0101800000020080123456789012345600000001", TransactionFault::Head),
            ("0101000200020080123456789012345600000001", TransactionFault::Head),
            ("0101200300020080123456789012345600000001", TransactionFault::Head),
            ("0101800100020080123456789012345600000001", TransactionFault::Counter),
            ("0101200200020080123456789012345600000000", TransactionFault::Counter),
        ] {
            assert_eq!(key(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn counters_have_one_to_sixteen_bits() {
        let of = |counter| steps(counter).map(Iterator::collect::<Vec<_>>);
        for counter in [0, 0x1FFFF, 0xFFFF_0001, 0xFFFF_8000, u32::MAX] {
            assert_eq!(of(counter), Err(CounterFault), "{counter:X}");
        }
        assert_eq!(of(0b1011), Ok(vec![0b1000, 0b1010, 0b1011]));
        assert_eq!(of(0xFFFF_0000).unwrap().len(), 16);
    }
}
