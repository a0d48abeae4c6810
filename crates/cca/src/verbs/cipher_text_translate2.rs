//! Cipher_Text_Translate2 (CSNBCTT2): translates a ciphertext from one key to another; the text is in the clear only
//! inside the card.
//!
//! | keyword | key | text under it |
//! |---|---|---|
//! | I-CBC, O-CBC | DES, AES | whole blocks |
//! | I-ECB, O-ECB | AES | whole blocks |
//! | IPKCSPAD, OPKCSPAD | AES | CBC of a text that 1 to 16 bytes were added to |
//! | I-X923, O-X923 | DES | CBC of a text that 1 to 8 bytes were added to |
//! | I-CUSP, O-CUSP, I-IPS, O-IPS | DES | any, as in CSNBENC |
//!
//! INITIAL (default) begins from the initialization vectors, CONTINUE from the chaining vector of 128 bytes that the
//! previous call returned. The vector is sealed ([`crate::chaining`]) for both keys and methods.
//!
//! Translation-only keys (DES: CIPHERXI, CIPHERXO, CIPHERXL; AES: C-XLATE) go with one another alone, or texts would
//! come under a key that deciphers them. Other keys, which also encipher and decipher, need the role's permission. Each
//! key must permit its side (8/39). No key may be clear: its owner would read the text.
//!
//! Whether a padding is right, and its length, reveal something of the text: enough queries reveal all of it. So texts
//! under translation-only keys keep their padding: the output method must have the same padding (8/39), and the padding
//! is not checked.

use super::des_cipher::{self, Chained as DesText};
use super::{aes_cipher, decipher, encipher};
use crate::call::{Call, Reply, Verdict};
use crate::chaining::{Chained, HMAC_CHAINING_BYTES, Sealer};
use crate::ground::{Algorithm, Refusal};
use crate::key::field::Found;
use crate::key::opening::Opening;
use crate::key::{Key, Under};
use crate::pass::{Cipher, KeyRule};
use crate::wipe::Text;
use engine::{CipherDirection, Mode};
use token::Format;
use token::usage::Use;
use token::variable::{CipherMode, VariableUse};
use wire::code;
use wire::control::Register;
use wire::point::Point;
use wire::verb::cipher_text_translate2::{Answer, Request};
use wire::verb::{DesChaining, DesMethod, KeyInAlgorithm, KeyOutAlgorithm, MethodIn, MethodOut};

/// Answers with the text under the output key, and with the chaining vector if there is room for one.
pub(crate) async fn cipher_text_translate2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let from = Side {
        method: Method::of_input(request.key_in, request.method_in)?,
        field: request.key_identifier_in,
        vector: request.init_vector_in,
    };
    let to = Side {
        method: Method::of_output(request.key_out, request.method_out)?,
        field: request.key_identifier_out,
        vector: request.init_vector_out,
    };
    from.method.check(request.cipher_text_in.len())?;
    let vector = request.chaining_vector;
    let chains = match request.chaining {
        DesChaining::Initial => Some([from.chain()?, to.chain()?]),
        DesChaining::Continue => None,
    };
    let continued = match chains {
        None => Some(*vector.given()?.first_chunk::<HMAC_CHAINING_BYTES>().ok_or(code::INVALID_PARAMETER)?),
        Some(_) => None,
    };
    let is_chained = vector.capacity() > 0;
    if is_chained {
        vector.holds(HMAC_CHAINING_BYTES)?;
    }
    let keeps_padding = from.method == to.method && from.method.is_padded();
    let (found_in, found_out) = (from.found(call)?, to.found(call)?);
    match (found_in.only_translates(), found_out.only_translates()) {
        (true, true) if from.method.is_padded() && !keeps_padding => return Err(code::KEY_USAGE.into()),
        (true, true) => {}
        (false, false) => call.permit(Point::TranslateDataKeys)?,
        _ => return Err(code::KEY_USAGE.into()),
    }
    let opening_in = from.method.open(found_in, Way::From)?;
    let opening_out = to.method.open(found_out, Way::To)?;
    let register = match from.method {
        Method::Des(_) => Register::Sym,
        Method::Aes(_) => Register::Aes,
    };
    let sealing = is_chained.then(|| call.chaining_keys(Chained::Translation(register)));
    let (key_in, key_out) = (opening_in.await, opening_out.await);
    let sealing = match sealing {
        Some(sealing) => Some(sealing.await.chaining_keys()),
        None => None,
    };
    let (key_in, key_out) = (key_in?, key_out?);
    check_keys(&call, &key_in, &key_out)?;
    let renewed = (key_in.renew(call, from.field)?, key_out.renew(call, to.field)?);
    let methods = [from.method.number(), to.method.number()];
    let verb = call.arguments.verb();
    let sealer = sealing
        .transpose()?
        .map(|keys| Sealer::of_translation(keys, verb, methods, &key_in.secret, &key_out.secret));
    let [chain_in, chain_out] = match (chains, &sealer, continued) {
        (Some(chains), ..) => chains,
        (None, Some(sealer), Some(vector)) => split(&sealer.open_long(call.engine, &vector)?),
        _ => return Err(code::SELF_CHECK.into()),
    };

    let (mut text, chain_in) = from.method.decipher(call, &key_in, &chain_in, request.cipher_text_in).await?;
    if !keeps_padding {
        let kept = from.method.unpadded(&text)?;
        text.truncate(kept);
        text = to.method.padded(text);
        to.method.check(text.len())?;
    }
    request.cipher_text_out.holds(text.len())?;
    let (text, chain_out) = to.method.encipher(call, &key_out, &chain_out, text).await?;

    let sealed = sealer.map(|sealer| {
        let mut value = zeroize::Zeroizing::new([0; 2 * CHAIN_BYTES]);
        value[..CHAIN_BYTES].copy_from_slice(&chain_in);
        value[CHAIN_BYTES..].copy_from_slice(&chain_out);
        sealer.seal_long(call.engine, &value)
    });
    let (token_in, token_out) = (renewed.0.token().await?, renewed.1.token().await?);
    reply.write(Answer {
        key_identifier_in: token_in.as_deref(),
        chaining_vector: sealed.as_ref().map(|vector| &vector[..]),
        key_identifier_out: token_out.as_deref(),
        cipher_text_out: Some(&text),
    })?;
    Ok(key_in.age.max(key_out.age).codes())
}

/// Refuses clear keys, and a shorter or weaker key unless the role permits it.
fn check_keys(call: &Call<'_, '_>, from: &Key, to: &Key) -> Result<(), Refusal> {
    if [from, to].iter().any(|key| key.under != Some(Under::Master)) {
        return Err(code::KEY_USAGE.into());
    }
    let is_shorter = to.secret.len() < from.secret.len();
    match (from.algorithm(), to.algorithm()) {
        (Algorithm::Aes, Algorithm::Des) => call.permit(Point::TranslateAesToDes)?,
        (Algorithm::Aes, Algorithm::Aes) if is_shorter => call.permit(Point::TranslateWeakerAes)?,
        (Algorithm::Des, Algorithm::Des) if is_shorter => call.permit(Point::TranslateWeakerDes)?,
        _ => {}
    }
    Ok(())
}

fn split(value: &[u8; 2 * CHAIN_BYTES]) -> [Chain; 2] {
    let (mut one, mut two) = ([0; CHAIN_BYTES], [0; CHAIN_BYTES]);
    one.copy_from_slice(&value[..CHAIN_BYTES]);
    two.copy_from_slice(&value[CHAIN_BYTES..]);
    [one, two]
}

/// The chaining value of a cipher; of DES in the first eight bytes.
type Chain = [u8; CHAIN_BYTES];

/// One side of a translation.
struct Side<'a> {
    method: Method,
    field: &'a [u8],
    vector: &'a [u8],
}

/// A side of the translation: input or output.
#[derive(Clone, Copy)]
enum Way {
    From,
    To,
}

/// The method by which a text is enciphered, with the algorithm of the key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Des(DesMethod),
    Aes(AesWay),
}

/// The method of a text under an AES key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AesWay {
    Cbc,
    Ecb,
    Pkcs,
}

impl<'a> Side<'a> {
    /// The first chaining value: the initialization vector, or zeros with ECB.
    fn chain(&self) -> Result<Chain, Refusal> {
        let mut chain = [0; CHAIN_BYTES];
        if self.method != Method::Aes(AesWay::Ecb) {
            if self.vector.len() != self.method.block_bytes() {
                return Err(code::INVALID_PARAMETER.into());
            }
            chain[..self.vector.len()].copy_from_slice(self.vector);
        }
        Ok(chain)
    }

    fn found<'p>(&self, call: Call<'p, 'a>) -> Result<Found<'p, 'a>, Refusal> {
        let field = call.key(self.field)?;
        match (self.method, Format::of(self.field)) {
            (Method::Aes(_), Format::VariableInternal) => field.variable(),
            (Method::Aes(_), _) => field.of(Algorithm::Aes),
            (Method::Des(_), _) => field.of(Algorithm::Des),
        }
    }
}

impl Method {
    fn of_input(key: KeyInAlgorithm, method: MethodIn) -> Result<Self, Refusal> {
        Ok(match (key, method) {
            (KeyInAlgorithm::Aes, MethodIn::Cbc) => Self::Aes(AesWay::Cbc),
            (KeyInAlgorithm::Aes, MethodIn::Ecb) => Self::Aes(AesWay::Ecb),
            (KeyInAlgorithm::Aes, MethodIn::Pkcs) => Self::Aes(AesWay::Pkcs),
            (KeyInAlgorithm::Des, MethodIn::Cbc) => Self::Des(DesMethod::Cbc),
            (KeyInAlgorithm::Des, MethodIn::X923) => Self::Des(DesMethod::X923),
            (KeyInAlgorithm::Des, MethodIn::Cusp) => Self::Des(DesMethod::Cusp),
            (KeyInAlgorithm::Des, MethodIn::Ips) => Self::Des(DesMethod::Ips),
            _ => return Err(code::KEYWORD_COMBINATION.into()),
        })
    }

    fn of_output(key: KeyOutAlgorithm, method: MethodOut) -> Result<Self, Refusal> {
        Ok(match (key, method) {
            (KeyOutAlgorithm::Aes, MethodOut::Cbc) => Self::Aes(AesWay::Cbc),
            (KeyOutAlgorithm::Aes, MethodOut::Ecb) => Self::Aes(AesWay::Ecb),
            (KeyOutAlgorithm::Aes, MethodOut::Pkcs) => Self::Aes(AesWay::Pkcs),
            (KeyOutAlgorithm::Des, MethodOut::Cbc) => Self::Des(DesMethod::Cbc),
            (KeyOutAlgorithm::Des, MethodOut::X923) => Self::Des(DesMethod::X923),
            (KeyOutAlgorithm::Des, MethodOut::Cusp) => Self::Des(DesMethod::Cusp),
            (KeyOutAlgorithm::Des, MethodOut::Ips) => Self::Des(DesMethod::Ips),
            _ => return Err(code::KEYWORD_COMBINATION.into()),
        })
    }

    /// The number of this method in a sealed chaining vector.
    fn number(self) -> u8 {
        match self {
            Self::Des(method) => method as u8,
            Self::Aes(way) => 0x10 | way as u8,
        }
    }

    fn block_bytes(self) -> usize {
        match self {
            Self::Des(_) => des_cipher::BLOCK_BYTES,
            Self::Aes(_) => CHAIN_BYTES,
        }
    }

    fn is_padded(self) -> bool {
        matches!(self, Self::Des(DesMethod::X923) | Self::Aes(AesWay::Pkcs))
    }

    /// Refuses an empty text, and one that is not whole blocks unless the method is CUSP or IPS.
    fn check(self, bytes: usize) -> Result<(), Refusal> {
        let is_any = matches!(self, Self::Des(DesMethod::Cusp | DesMethod::Ips));
        let is_right = bytes > 0 && (is_any || bytes.is_multiple_of(self.block_bytes()));
        if is_right { Ok(()) } else { Err(code::TEXT_LENGTH.into()) }
    }

    /// Starts opening a key that must permit this method on this side; CUSP and IPS run the cipher both ways.
    fn open<'p, 'a>(self, found: Found<'p, 'a>, way: Way) -> Result<Opening<'p, 'a>, Refusal> {
        let (usage, of_mode): (Use, fn(CipherMode) -> VariableUse) = match way {
            Way::From => (Use::TranslateFrom, VariableUse::TranslateFrom),
            Way::To => (Use::TranslateTo, VariableUse::TranslateTo),
        };
        match self {
            Self::Des(DesMethod::Cusp | DesMethod::Ips) => {
                found.for_both(Use::TranslateFrom, Use::TranslateTo)
            }
            Self::Aes(way) if found.is_variable() => found.for_variable_use(of_mode(match way {
                AesWay::Ecb => CipherMode::Ecb,
                AesWay::Cbc | AesWay::Pkcs => CipherMode::Cbc,
            })),
            _ => found.for_use(usage),
        }
    }

    async fn decipher(
        self,
        call: Call<'_, '_>,
        key: &Key,
        chain: &Chain,
        text: &[u8],
    ) -> Result<(Text, Chain), Refusal> {
        match self {
            Self::Aes(way) => aes(call, key, way, CipherDirection::Decipher, chain, Text::from(text)).await,
            Self::Des(method) => {
                let text = DesText { method, chain: des_chain(chain), text };
                let (plain, after) = match method {
                    DesMethod::Cusp | DesMethod::Ips => {
                        let (whole, _) = text.split();
                        decipher::any_length(call, key, &text, Text::from(whole)).await?
                    }
                    DesMethod::Cbc | DesMethod::X923 => {
                        let (mode, direction) = (Mode::Cbc, CipherDirection::Decipher);
                        let data = Text::from(text.text);
                        let done =
                            call.ask(des_cipher::work(key, mode, direction, &text.chain, data)).await?;
                        (done.data, text.ips_chain(text.text))
                    }
                };
                let mut chain = [0; CHAIN_BYTES];
                chain[..after.len()].copy_from_slice(&after);
                Ok((plain, chain))
            }
        }
    }

    async fn encipher(
        self,
        call: Call<'_, '_>,
        key: &Key,
        chain: &Chain,
        text: Text,
    ) -> Result<(Text, Chain), Refusal> {
        match self {
            Self::Aes(way) => aes(call, key, way, CipherDirection::Encipher, chain, text).await,
            Self::Des(method @ (DesMethod::Cusp | DesMethod::Ips)) => {
                let text = DesText { method, chain: des_chain(chain), text: &text };
                let (whole, _) = text.split();
                encipher::any_length(call, key, &text, Text::from(whole)).await
            }
            Self::Des(_) => {
                let (mode, direction) = (Mode::Cbc, CipherDirection::Encipher);
                let work = des_cipher::work(key, mode, direction, &des_chain(chain), text);
                let done = call.ask(work).await?;
                Ok((done.data, done.chain))
            }
        }
    }

    /// Length of a deciphered text without its padding, in bytes.
    fn unpadded(self, text: &[u8]) -> Result<usize, Refusal> {
        Ok(match self {
            Self::Des(DesMethod::X923) => decipher::unpadded(text)?,
            Self::Aes(AesWay::Pkcs) => aes_cipher::unpadded(text)?,
            _ => text.len(),
        })
    }

    /// The text with the padding of this method, if the method pads.
    fn padded(self, mut text: Text) -> Text {
        match self {
            Self::Des(DesMethod::X923) => encipher::padded(text),
            Self::Aes(AesWay::Pkcs) => {
                let added = CHAIN_BYTES - text.len() % CHAIN_BYTES;
                text.pad(text.len() + added, added as u8);
                text
            }
            _ => text,
        }
    }
}

async fn aes(
    call: Call<'_, '_>,
    key: &Key,
    way: AesWay,
    direction: CipherDirection,
    chain: &Chain,
    data: Text,
) -> Result<(Text, Chain), Refusal> {
    let mode = if way == AesWay::Ecb { Mode::Ecb } else { Mode::Cbc };
    let (algorithm, rule, key) = (key.cipher(), KeyRule::Chosen, key.secret.clone());
    let done = call.ask(Cipher { algorithm, rule, mode, direction, key, chain: *chain, data }).await?;
    Ok((done.data, done.chain))
}

fn des_chain(chain: &Chain) -> [u8; des_cipher::BLOCK_BYTES] {
    let mut block = [0; des_cipher::BLOCK_BYTES];
    block.copy_from_slice(&chain[..des_cipher::BLOCK_BYTES]);
    block
}

/// Length of a chaining value, and of a block of AES, in bytes.
const CHAIN_BYTES: usize = 16;
