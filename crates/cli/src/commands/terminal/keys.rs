//! The keys of a terminal's transaction, computed from its base key or its initial key as terminals do (ANSI X9.24-1
//! and X9.24-3). The steps are those of the crate `payments`.

use crate::commands::payment::fields::Serial;
use crate::failure::Failure;
use engine::{CipherAlgorithm, CipherDirection, Column, Engine, MacAlgorithm, Mode, Options};
use payments::dukpt::{aes, tdes};
use zeroize::Zeroizing;

/// What a key of a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Pin,
    Mac(MessageSide),
    Data(MessageSide),
}

/// The direction of what a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSide {
    Request,
    Response,
    Both,
}

/// The key that a terminal starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Base,
    Initial,
}

/// A key of one transaction.
pub struct TransactionKey {
    engine: Engine,
    cipher: CipherAlgorithm,
    key: Zeroizing<Vec<u8>>,
}

impl TransactionKey {
    /// The key of a transaction. `is_tdes` asks of AES DUKPT for a key of TDES with two parts.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a key of another length, and a counter that no terminal gets to.
    pub fn derive(
        start: Start,
        key: &[u8],
        serial: Serial,
        use_of: Use,
        is_tdes: bool,
    ) -> Result<Self, Failure> {
        // This engine protects nothing: TDES DUKPT has steps with single DES.
        let engine =
            Engine::new(Options { weak_algorithms: true, ..Options::default() }).map_err(Failure::Engine)?;
        match serial {
            Serial::Tdes(serial) => {
                let key = of_tdes(&engine, start, key, serial, use_of)?;
                Ok(Self { engine, cipher: CipherAlgorithm::Tdes2, key })
            }
            Serial::Aes(serial) => {
                let base = aes::KeyKind::aes(key.len()).ok_or_else(|| {
                    Failure::Usage(format!("a key of AES DUKPT has 16, 24 or 32 bytes, not {}", key.len()))
                })?;
                let wanted = if is_tdes { aes::KeyKind::Tdes2 } else { base };
                let key = of_aes(&engine, start, key, (base, wanted), &serial, use_of)?;
                Ok(Self { engine, cipher: cipher(wanted), key })
            }
        }
    }

    /// Length of a block of its cipher in bytes.
    pub fn block_bytes(&self) -> usize {
        self.cipher.block_bytes()
    }

    /// Enciphers blocks, each by itself.
    pub fn blocks(&self, text: &mut [u8]) -> Result<(), Failure> {
        crypt(&self.engine, self.cipher, Mode::Ecb, CipherDirection::Encipher, &self.key, text)
    }

    /// Enciphers or deciphers whole blocks in CBC after zeros.
    pub fn chained(&self, direction: CipherDirection, text: &mut [u8]) -> Result<(), Failure> {
        crypt(&self.engine, self.cipher, Mode::Cbc, direction, &self.key, text)
    }

    /// The MAC of a text: X9.19 under TDES, CMAC under AES. A whole block.
    pub fn mac(&self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        let algorithm = match self.cipher {
            CipherAlgorithm::Aes128 => MacAlgorithm::CmacAes128,
            CipherAlgorithm::Aes192 => MacAlgorithm::CmacAes192,
            CipherAlgorithm::Aes256 => MacAlgorithm::CmacAes256,
            _ => MacAlgorithm::X919,
        };
        let unexpected = |_| Failure::Unexpected("a MAC");
        let mut mac = vec![0; self.cipher.block_bytes()];
        let column = |bytes| Column::contiguous(bytes, <[u8]>::len(bytes), 1);
        let (key, text) = (column(&self.key).map_err(unexpected)?, column(text).map_err(unexpected)?);
        self.engine.mac_columns(algorithm, key, text, &mut mac).map_err(|_| Failure::Unexpected("a MAC"))?;
        Ok(mac)
    }
}

fn crypt(
    engine: &Engine,
    algorithm: CipherAlgorithm,
    mode: Mode,
    direction: CipherDirection,
    key: &[u8],
    text: &mut [u8],
) -> Result<(), Failure> {
    let mut chain = vec![0; algorithm.block_bytes()];
    engine
        .cipher(algorithm, mode, direction, key, &mut chain, text)
        .map_err(|_| Failure::Unexpected("a cipher"))
}

fn cipher(kind: aes::KeyKind) -> CipherAlgorithm {
    match kind {
        aes::KeyKind::Tdes2 => CipherAlgorithm::Tdes2,
        aes::KeyKind::Tdes3 => CipherAlgorithm::Tdes3,
        aes::KeyKind::Aes128 => CipherAlgorithm::Aes128,
        aes::KeyKind::Aes192 => CipherAlgorithm::Aes192,
        aes::KeyKind::Aes256 => CipherAlgorithm::Aes256,
    }
}

fn of_tdes(
    engine: &Engine,
    start: Start,
    key: &[u8],
    serial: [u8; tdes::SERIAL_BYTES],
    use_of: Use,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let given: &[u8; 16] = key
        .try_into()
        .map_err(|_| Failure::Usage(format!("a key of TDES DUKPT has 16 bytes, not {}", key.len())))?;
    let serial = tdes::Serial::new(serial).map_err(|error| Failure::Usage(format!("--ksn: {error}")))?;
    let encipher = |algorithm, key: &[u8], block: &mut [u8]| {
        crypt(engine, algorithm, Mode::Ecb, CipherDirection::Encipher, key, block)
    };
    let mut key = Zeroizing::new(*given);
    if start == Start::Base {
        let (left, right) = key.split_at_mut(8);
        for (half, variant) in [(left, &[0; 16]), (right, &tdes::HALF_VARIANT)] {
            half.copy_from_slice(&serial.initial_block());
            encipher(CipherAlgorithm::Tdes2, &*Zeroizing::new(tdes::varied(given, variant)), half)?;
        }
    }
    for register in serial.registers() {
        let mut enciphered = [[0; 8]; 2];
        for (block, half) in enciphered.iter_mut().zip(tdes::step_halves(&key, &register)) {
            *block = half.block;
            encipher(CipherAlgorithm::Des, &half.key, block)?;
        }
        *key = tdes::step_result(&key, &enciphered);
    }
    let purpose = match use_of {
        Use::Pin => tdes::Purpose::Pin,
        Use::Mac(MessageSide::Response) => tdes::Purpose::MacResponse,
        Use::Mac(_) => tdes::Purpose::MacRequest,
        Use::Data(MessageSide::Response) => tdes::Purpose::DataResponse,
        Use::Data(_) => tdes::Purpose::DataRequest,
    };
    let varied = Zeroizing::new(tdes::varied(&key, &purpose.variant()));
    let mut working = Zeroizing::new(varied.to_vec());
    if purpose.is_one_way() {
        encipher(CipherAlgorithm::Tdes2, &*varied, &mut working)?;
    }
    Ok(working)
}

fn of_aes(
    engine: &Engine,
    start: Start,
    key: &[u8],
    (base, wanted): (aes::KeyKind, aes::KeyKind),
    serial: &[u8; 12],
    use_of: Use,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let (mut initial_id, mut counter) = ([0; aes::INITIAL_ID_BYTES], [0; 4]);
    initial_id.copy_from_slice(&serial[..8]);
    counter.copy_from_slice(&serial[8..]);
    let counter = u32::from_be_bytes(counter);
    let steps = aes::steps(counter).map_err(|error| Failure::Usage(format!("--ksn: {error}")))?;
    let derive = |key: &[u8], purpose, kind: aes::KeyKind, counter| {
        let data = aes::Derivation { purpose, kind, initial_id, counter };
        let mut derived = Zeroizing::new(Vec::with_capacity(32));
        for number in 1..=kind.blocks() {
            derived.extend_from_slice(&data.block(number as u8));
        }
        crypt(engine, cipher(base), Mode::Ecb, CipherDirection::Encipher, key, &mut derived)?;
        derived.truncate(kind.bytes());
        Ok::<_, Failure>(derived)
    };
    let mut key = match start {
        Start::Base => derive(key, aes::Purpose::Initial, base, 0)?,
        Start::Initial => Zeroizing::new(key.to_vec()),
    };
    for so_far in steps {
        key = derive(&key, aes::Purpose::Derivation, base, so_far)?;
    }
    let purpose = match use_of {
        Use::Pin => aes::Purpose::Pin,
        Use::Mac(MessageSide::Request) => aes::Purpose::MacGenerate,
        Use::Mac(MessageSide::Response) => aes::Purpose::MacVerify,
        Use::Mac(MessageSide::Both) => aes::Purpose::MacBoth,
        Use::Data(MessageSide::Request) => aes::Purpose::DataEncrypt,
        Use::Data(MessageSide::Response) => aes::Purpose::DataDecrypt,
        Use::Data(MessageSide::Both) => aes::Purpose::DataBoth,
    };
    derive(&key, purpose, wanted, counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{hexadecimal, to_hexadecimal};

    fn key(start: Start, key: &str, serial: &str, use_of: Use) -> String {
        let serial = Serial::of("--ksn", Some(&serial.to_owned())).unwrap().unwrap();
        let key = hexadecimal(key).unwrap();
        to_hexadecimal(&TransactionKey::derive(start, &key, serial, use_of, false).unwrap().key)
    }

    /// ANSI X9.24-1, annex A.4.
    #[test]
    fn keys_of_tdes_are_the_published_ones() {
        let base = "0123456789ABCDEFFEDCBA9876543210";
        for (serial, use_of, expected) in [
            ("FFFF9876543210E00001", Use::Pin, "042666B49184CF5C68DE9628D0397B36"),
            ("FFFF9876543210E00001", Use::Mac(MessageSide::Request), "042666B4918430A368DE9628D03984C9"),
            ("FFFF9876543210E00001", Use::Data(MessageSide::Request), "448D3F076D8304036A55A3D7E0055A78"),
            ("FFFF9876543210E00003", Use::Pin, "0DF3D9422ACA561A47676D07AD6BAD05"),
            ("FFFF9876543210EFF800", Use::Pin, "F9CDFEBF4F5B1D61B3EC12454527E189"),
        ] {
            assert_eq!(key(Start::Base, base, serial, use_of), expected, "{serial}");
            let initial = "6AC292FAA1315B4D858AB3A3D7D5933A";
            assert_eq!(key(Start::Initial, initial, serial, use_of), expected, "{serial}");
        }
        // The FFFF of a short number is meant.
        let short = key(Start::Base, base, "9876543210E00001", Use::Pin);
        assert_eq!(short, "042666B49184CF5C68DE9628D0397B36");
    }

    /// ANSI X9.24-3, as tests of openemv/dukpt repeat it.
    #[test]
    fn keys_of_aes_are_the_published_ones() {
        let base = "FEDCBA9876543210F1F1F1F1F1F1F1F1";
        let of =
            |counter: &str, use_of| key(Start::Base, base, &format!("1234567890123456{counter}"), use_of);
        assert_eq!(of("00000001", Use::Pin), "AF8CB133A78F8DC2D1359F18527593FB");
        assert_eq!(of("00000001", Use::Mac(MessageSide::Request)), "A2DC23DE6FDE0824A2BC321E08E4B8B7");
        assert_eq!(of("00000001", Use::Data(MessageSide::Request)), "A35C412EFD41FDB98B69797C02DCD08F");
        assert_eq!(of("00000008", Use::Pin), "4D9DF3FBEE3448FC3E676D04320A90F5");
        let initial = "1273671EA26AC29AFA4D1084127652A1";
        let found = key(Start::Initial, initial, "123456789012345600000003", Use::Pin);
        assert_eq!(found, "7D69F01F3B45449F62C7816ECE723268");
        let long = format!("{base}{base}");
        assert_eq!(
            key(Start::Base, &long, "123456789012345600000001", Use::Pin),
            "8C1AB7BEE973829E30242E0BBBDD4946D540C98FC1B5BDCF94790001A23FD502"
        );
    }

    #[test]
    fn lengths_and_counters_that_are_none_are_refused() {
        let refused = |bytes: usize, serial: &str, expected: &str| {
            let serial = Serial::of("--ksn", Some(&serial.to_owned())).unwrap().unwrap();
            let error = TransactionKey::derive(Start::Base, &vec![1; bytes], serial, Use::Pin, false);
            let error = error.err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        };
        refused(24, "FFFF9876543210E00001", "has 16 bytes, not 24");
        refused(8, "123456789012345600000001", "16, 24 or 32 bytes, not 8");
        refused(16, "FFFF9876543210E00000", "--ksn: the counter");
        refused(16, "FFFF9876543210FFFFFF", "--ksn: the counter");
        refused(16, "123456789012345600000000", "--ksn: the counter");
        refused(16, "1234567890123456FFFFFFFF", "--ksn: the counter");
    }
}
