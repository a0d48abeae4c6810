//! AES in Galois/Counter Mode (SP 800-38D): many independent requests in one call.
//!
//! The caller must never use a nonce twice with one key to encipher.
//!
//! If there is a kernel, it computes texts of up to [`TEXT_BYTES_MAX`] with a nonce of 96 bits, one after the other.
//! The library computes all others, and those under a key that an engine without a kernel prepared. The library's form
//! of a key is made when it is first needed: keys that come with their texts often never need it.

use crate::algorithm::CipherDirection;
use crate::error::{CipherError, KeyError};
use crate::low::aes::RoundKeys;
use crate::low::aes::gcm::{GcmKernel, GcmTable, GcmText, NONCE_BYTES, TEXT_BYTES_MAX};
use crate::low::aws_lc::aead::{AeadContext, TAG_BYTES as GCM_TAG_BYTES};
use crate::low::aws_lc::aes::AesSchedule;
use crate::low::cpu::Cpu;
use crate::low::{prefetch, wipe_block, wipe_bytes};
use std::fmt;
use std::sync::OnceLock;
use subtle::ConstantTimeEq;

/// The shortest tag that is accepted, in bytes. SP 800-38D, 5.2.1.2 allows 4 and 8 for some uses only.
pub const GCM_TAG_BYTES_MIN: usize = 4;
/// At most this many bytes of text in one request (SP 800-38D, 5.2.1.1).
const GCM_TEXT_BYTES_MAX: u64 = (1 << 36) - 32;

/// An AES key prepared for GCM; wiped when dropped.
pub struct GcmKey {
    /// The kernel's form, if there is a kernel; in one allocation that does not move.
    own: Option<Box<OwnKey>>,
    library: OnceLock<AeadContext>,
    key_bytes: usize,
}

struct OwnKey {
    schedule: AesSchedule,
    table: GcmTable,
}

impl GcmKey {
    pub(crate) fn new(cpu: Cpu, key: &[u8]) -> Result<GcmKey, KeyError> {
        let wrong_length = KeyError::GcmKeyLength { bytes: key.len() };
        let (mut own, library) = (None, OnceLock::new());
        if let Some(kernel) = GcmKernel::choose(cpu) {
            let mut made = Box::new(OwnKey { schedule: AesSchedule::empty(), table: GcmTable::empty() });
            if !made.schedule.set_encipher(key) {
                return Err(wrong_length);
            }
            kernel.fill(&made.schedule, &mut made.table);
            own = Some(made);
        } else {
            let _ = library.set(AeadContext::gcm(key).ok_or(wrong_length)?);
        }
        Ok(GcmKey { own, library, key_bytes: key.len() })
    }

    /// The kernel's form of the key.
    #[inline]
    fn own(&self) -> Option<(RoundKeys<'_>, &GcmTable)> {
        let own = self.own.as_ref()?;
        Some((own.schedule.round_keys()?, &own.table))
    }

    /// The library's form of the key, made at the first call.
    fn library(&self) -> &AeadContext {
        self.library.get_or_init(|| {
            let (keys, _) = self.own().expect("a key has at least one form");
            AeadContext::gcm(keys.key()).expect("a schedule was made of it")
        })
    }

    /// Length of the key in bytes.
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// As [`crate::prefetch`], for all of the key that a request reads.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(own) = &self.own {
            prefetch(&**own);
        }
    }
}

impl fmt::Debug for GcmKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "GcmKey(AES-{})", 8 * self.key_bytes)
    }
}

/// One text of a batch to encipher or decipher. The data is changed in place.
#[derive(Debug)]
pub struct GcmItem<'a> {
    /// The key of this request; the keys of a batch may differ.
    pub key: &'a GcmKey,
    /// The nonce, at least one byte; 12 bytes are recommended.
    pub nonce: &'a [u8],
    /// Additional data: authenticated but not enciphered.
    pub aad: &'a [u8],
    /// The text to encipher or decipher, in place.
    pub data: &'a mut [u8],
    /// The tag. Enciphering writes all 16 bytes; deciphering verifies the first `tag_bytes` bytes.
    pub tag: [u8; 16],
    /// Length of the tag to verify in bytes, 4 to 16; ignored when enciphering.
    pub tag_bytes: usize,
    /// The result of the request. After [`CipherError::Authentication`] the data are zeros; after other errors they are
    /// unchanged.
    pub result: Result<(), CipherError>,
}

impl<'a> GcmItem<'a> {
    /// A request to encipher `data`; the batch writes a tag of 16 bytes.
    pub fn encipher(key: &'a GcmKey, nonce: &'a [u8], aad: &'a [u8], data: &'a mut [u8]) -> GcmItem<'a> {
        GcmItem { key, nonce, aad, data, tag: [0; 16], tag_bytes: GCM_TAG_BYTES, result: Ok(()) }
    }

    /// A request to verify `tag` and decipher. A tag longer than 16 bytes is refused when the request runs.
    pub fn decipher(
        key: &'a GcmKey,
        nonce: &'a [u8],
        aad: &'a [u8],
        data: &'a mut [u8],
        tag: &[u8],
    ) -> GcmItem<'a> {
        let mut item = GcmItem::encipher(key, nonce, aad, data);
        let used = tag.len().min(GCM_TAG_BYTES);
        item.tag[..used].copy_from_slice(&tag[..used]);
        item.tag_bytes = tag.len();
        item
    }
}

/// Runs every request; each gets its own result.
pub(crate) fn batch(cpu: Cpu, direction: CipherDirection, items: &mut [GcmItem<'_>]) {
    match (GcmKernel::choose(cpu), direction) {
        (None, _) => items.iter_mut().for_each(|item| item.result = by_library(direction, item)),
        (Some(kernel), CipherDirection::Encipher) => {
            kernel.seal(items.iter_mut().filter_map(|item| match for_kernel(item) {
                Some((keys, table, nonce)) => {
                    item.result = Ok(());
                    Some(GcmText { keys, table, nonce, aad: item.aad, data: item.data, tag: &mut item.tag })
                }
                None => {
                    item.result = by_library(direction, item);
                    None
                }
            }));
        }
        (Some(kernel), CipherDirection::Decipher) => {
            for item in items {
                item.result = match for_kernel(item) {
                    Some((keys, table, nonce)) => open(kernel, item, keys, table, nonce),
                    None => by_library(direction, item),
                };
            }
        }
    }
}

/// Keys, table and nonce of a request; `None` if the kernel does not serve the request.
#[inline]
fn for_kernel<'a>(item: &GcmItem<'a>) -> Option<(RoundKeys<'a>, &'a GcmTable, &'a [u8; NONCE_BYTES])> {
    if item.data.len() > TEXT_BYTES_MAX {
        return None;
    }
    let (keys, table) = item.key.own()?;
    Some((keys, table, item.nonce.try_into().ok()?))
}

#[inline]
fn open(
    kernel: GcmKernel,
    item: &mut GcmItem<'_>,
    keys: RoundKeys<'_>,
    table: &GcmTable,
    nonce: &[u8; NONCE_BYTES],
) -> Result<(), CipherError> {
    check_tag_length(item)?;
    let mut tag = [0; GCM_TAG_BYTES];
    kernel.open(GcmText { keys, table, nonce, aad: item.aad, data: item.data, tag: &mut tag });
    let fits: bool = tag[..item.tag_bytes].ct_eq(&item.tag[..item.tag_bytes]).into();
    // Wiped, since nobody may learn the correct tag of a changed text.
    wipe_block(&mut tag);
    if !fits {
        wipe_bytes(item.data);
        return Err(CipherError::Authentication);
    }
    Ok(())
}

fn by_library(direction: CipherDirection, item: &mut GcmItem<'_>) -> Result<(), CipherError> {
    if item.nonce.is_empty() || item.data.len() as u64 > GCM_TEXT_BYTES_MAX {
        return Err(length_error(item));
    }
    let context = item.key.library();
    match direction {
        CipherDirection::Encipher => {
            if !context.seal(item.nonce, item.aad, item.data, &mut item.tag) {
                return Err(length_error(item));
            }
        }
        CipherDirection::Decipher => {
            check_tag_length(item)?;
            if !context.open(item.nonce, item.aad, item.data, &item.tag[..item.tag_bytes]) {
                return Err(CipherError::Authentication);
            }
        }
    }
    Ok(())
}

fn check_tag_length(item: &GcmItem<'_>) -> Result<(), CipherError> {
    match item.tag_bytes {
        GCM_TAG_BYTES_MIN..=GCM_TAG_BYTES => Ok(()),
        bytes => Err(CipherError::TagLength { bytes }),
    }
}

#[cold]
fn length_error(item: &GcmItem<'_>) -> CipherError {
    CipherError::GcmLength { nonce_bytes: item.nonce.len(), text_bytes: item.data.len() }
}
