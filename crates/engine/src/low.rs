//! The lowest layer: the bound C library and every `unsafe` block of this crate.
//!
//! Promise to the layers above: each function here is safe to call with any argument of its type. Lengths that the C
//! side would trust are checked (or are array types), pointers never outlive the call, and every object that holds key
//! material wipes it when dropped. Permission is not checked here but above, in `mid`, `high` and [`crate::Engine`].

// On other architectures, code that only kernels use is unused; on x86-64 all code must be used.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

#[cfg(not(target_arch = "x86_64"))]
mod absent;
pub(crate) mod aes;
pub(crate) mod aws_lc;
pub(crate) mod cfb;
pub(crate) mod checksum;
pub(crate) mod cpu;
pub(crate) mod curves;
pub(crate) mod des;
pub(crate) mod numbers;
pub(crate) mod polyval;
pub(crate) mod rsa;
pub(crate) mod sha;
#[cfg(test)]
mod stack;

/// Overwrites a value with zeros in a way that the compiler may not leave out.
///
/// Private to `low`: the caller vouches that all-zero bytes are a valid value of `T` and that `T` owns
/// nothing through the bytes it loses.
///
/// # Safety
/// `T` must be plain data for which the all-zero pattern is valid.
unsafe fn wipe<T>(value: &mut T) {
    // SAFETY: the pointer comes from an exclusive reference and covers exactly the value; the caller
    // promises that zeros are valid for it.
    unsafe { wipe_raw(std::ptr::from_mut(value).cast(), size_of::<T>()) }
}

/// Overwrites bytes with zeros in a way that the compiler may not leave out.
pub(crate) fn wipe_bytes(bytes: &mut [u8]) {
    // SAFETY: pointer and length come from one exclusive slice.
    unsafe { wipe_raw(bytes.as_mut_ptr(), bytes.len()) }
}

/// As [`wipe_bytes`], for words.
pub(crate) fn wipe_lanes(words: &mut [u64]) {
    // SAFETY: pointer and length come from one exclusive slice.
    unsafe { wipe_raw(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// Overwrites the stack below the caller, as deep as kernels use it: the compiler may have moved secrets there from
/// registers.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let mut room = [0; 4096];
    wipe_bytes(&mut room);
}

/// As [`wipe_stack`], but deeper: a bit-sliced form keeps keys and columns of all lanes on the stack, 17 KiB.
#[inline(never)]
pub(crate) fn wipe_deep_stack() {
    let mut room = [0; 32 << 10];
    wipe_bytes(&mut room);
}

/// Overwrites memory behind a pointer with zeros in a way that the compiler may not leave out.
///
/// # Safety
/// `bytes` bytes from `memory` on must be valid for writing, and may be zero afterwards.
#[inline]
unsafe fn wipe_raw(memory: *mut u8, bytes: usize) {
    if bytes <= WIPED_HERE_MAX {
        let words = bytes / size_of::<Unaligned>();
        for word in 0..words {
            // SAFETY: by contract; the type asks for no alignment. The store is volatile, so the compiler may not leave
            // it out.
            unsafe { memory.cast::<Unaligned>().add(word).write_volatile(Unaligned(0)) }
        }
        for byte in words * size_of::<Unaligned>()..bytes {
            // SAFETY: by contract.
            unsafe { memory.add(byte).write_volatile(0) }
        }
        return;
    }
    #[cfg(not(miri))]
    // SAFETY: by contract.
    unsafe {
        aws_lc_sys::OPENSSL_cleanse(memory.cast(), bytes)
    }
    // Miri runs no C.
    #[cfg(miri)]
    for at in 0..bytes {
        // SAFETY: by contract.
        unsafe { memory.add(at).write_volatile(0) }
    }
}

/// Overwrites one block with zeros in the same way, without a call.
#[inline]
pub(crate) fn wipe_block(block: &mut [u8; 16]) {
    for half in block.as_chunks_mut::<8>().0 {
        // SAFETY: an exclusive reference. The store is volatile, so the compiler may not leave it out.
        unsafe { std::ptr::write_volatile(std::ptr::from_mut(half).cast::<Unaligned>(), Unaligned(0)) }
    }
}

/// Overwrites one chaining value of a hash with zeros in the same way.
#[inline]
pub(crate) fn wipe_words<W: sha::Word>(words: &mut [W; 8]) {
    // SAFETY: an exclusive reference. The store is volatile, so the compiler may not leave it out.
    unsafe { std::ptr::write_volatile(words, [W::ZERO; 8]) }
}

/// Prefetches the cache lines of a value, so that they load together while other work is done. Does not wait for them,
/// and affects nothing but time.
#[inline]
pub fn prefetch<T>(value: &T) {
    let _first = std::ptr::from_ref(value).cast::<i8>();
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in (0..size_of::<T>()).step_by(CACHE_LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this architecture has it; it is a hint that never faults, and the place is within
        // the value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(_first.wrapping_add(at)) }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
const CACHE_LINE_BYTES: usize = 64;

/// Up to this many bytes are wiped inline, without a call of the library.
const WIPED_HERE_MAX: usize = 64;

/// Eight bytes at any alignment.
#[repr(C, packed)]
struct Unaligned(u64);

/// Dropped values are zero. Values are dropped in place and examined before their memory is released. For values on the
/// heap, the allocator examines each block as it is freed.
#[cfg(test)]
mod tests {
    use super::aws_lc::aes::AesSchedule;
    use super::aws_lc::hash::HashContext;
    use crate::*;
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;
    use std::mem::MaybeUninit;

    struct Watch;

    #[global_allocator]
    static WATCH: Watch = Watch;

    thread_local! {
        /// While `Some`: blocks freed on this thread, and how many of them were not all zeros.
        static FREED: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    }

    // SAFETY: every call goes to the system's allocator unchanged; a block is only read, before it is freed.
    unsafe impl GlobalAlloc for Watch {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // Zeroed, so that padding and unused room, which are never written, are not taken for secrets.
            // SAFETY: the caller's promise is passed on.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            if let Ok(Some((freed, dirty))) = FREED.try_with(Cell::get) {
                // SAFETY: the block is live until the next line and was zeroed when it was allocated, so
                // all of it is initialised.
                let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
                let is_dirty = bytes.iter().any(|byte| *byte != 0);
                FREED.set(Some((freed + 1, dirty + usize::from(is_dirty))));
            }
            // SAFETY: the caller's promise is passed on.
            unsafe { System.dealloc(block, layout) }
        }
    }

    /// Blocks freed by dropping the value, and how many of them held anything but zeros.
    fn freed_by_dropping<T>(value: T) -> (usize, usize) {
        FREED.set(Some((0, 0)));
        drop(value);
        FREED.take().unwrap()
    }

    /// The number of bytes that are not zero in the part of a value that `secret` points to, before and after the value
    /// is dropped in place.
    fn left_by_dropping<T>(value: T, secret: impl FnOnce(&T) -> *const [u8]) -> (usize, usize) {
        let mut place = MaybeUninit::new(value);
        // SAFETY: written by the line above.
        let secret = secret(unsafe { place.assume_init_ref() });
        let count = || {
            // SAFETY: bytes without padding inside `place`, which is not given up before the test ends.
            let bytes = unsafe { &*secret };
            bytes.iter().filter(|byte| **byte != 0).count()
        };
        let before = count();
        // SAFETY: the value is initialised and not used after this.
        unsafe { place.assume_init_drop() };
        (before, count())
    }

    fn all_of<T>(value: &T) -> *const [u8] {
        std::ptr::slice_from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>())
    }

    #[test]
    fn the_watch_sees_what_is_left() {
        assert_eq!(freed_by_dropping(vec![1u8; 64]), (1, 1));
        assert_eq!(freed_by_dropping(vec![0u8; 64]), (1, 0));
    }

    #[test]
    fn schedules_and_hash_states_are_wiped_in_place() {
        let mut schedule = AesSchedule::empty();
        assert!(schedule.set_encipher(&[0xa5; 32]));
        let (before, after) = left_by_dropping(schedule, all_of);
        assert!(before > 150 && after == 0, "{before} {after}");
        for make in [
            HashContext::md5,
            HashContext::ripemd160,
            HashContext::sha1,
            HashContext::sha224,
            HashContext::sha384,
        ] {
            let mut context = make();
            context.update(&[0xa5; 50]);
            let (before, after) = left_by_dropping(context, |context| match context {
                HashContext::Md5(context) => all_of(context),
                HashContext::Ripemd160(context) => all_of(context),
                HashContext::Sha1(context) => all_of(context),
                HashContext::Sha224(context) | HashContext::Sha256(context) => all_of(context),
                HashContext::Sha384(context) | HashContext::Sha512(context) => all_of(context),
                HashContext::Sha3(_) => unreachable!("not among those made"),
            });
            assert!(before > 60 && after == 0, "{before} {after}");
        }
        let inline = SecretBytes::from_slice(&[0xa5; 64]);
        assert_eq!(left_by_dropping(inline, |secret| std::ptr::from_ref(secret.as_slice())), (64, 0));
    }

    #[test]
    fn keys_and_secrets_are_wiped_on_the_heap() {
        let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap();
        let key = [0xa5; 32];
        let is_des = |block_bytes: usize| block_bytes == 8;
        for algorithm in CipherAlgorithm::ALL {
            let key = engine.cipher_key(algorithm, &key[..algorithm.key_bytes()]).unwrap();
            if is_des(algorithm.block_bytes()) {
                let (before, after) = left_by_dropping(key, |key| all_of(key.des_key()));
                assert!(before >= algorithm.key_bytes() && after == 0, "{algorithm}: {before} {after}");
            } else {
                assert_eq!(freed_by_dropping(key), (1, 0), "{algorithm}");
            }
        }
        for algorithm in MacAlgorithm::ALL {
            let key = engine.mac_key(algorithm, &key[..algorithm.key_bytes()]).unwrap();
            if is_des(algorithm.block_bytes()) {
                let (before, after) = left_by_dropping(key, |key| all_of(key.des_key()));
                assert!(before >= algorithm.key_bytes() && after == 0, "{algorithm}: {before} {after}");
            } else {
                assert_eq!(freed_by_dropping(key), (1, 0), "{algorithm}");
            }
        }
        let mut columns = DesColumns::new();
        let tokens = Column::contiguous(&[0xa5; 640], 16, 40).unwrap();
        let wrapped =
            [WrappedColumn { algorithm: CipherAlgorithm::Tdes2, under: &[&key[..16]], keys: tokens }];
        engine.unwrap_des_columns(&mut columns, &wrapped).unwrap();
        // A larger set of keys does not grow the old memory in place, but wipes it first.
        let tokens = Column::contiguous(&[0xa5; 960], 16, 60).unwrap();
        FREED.set(Some((0, 0)));
        engine.unwrap_des_columns(&mut columns, &[WrappedColumn { keys: tokens, ..wrapped[0] }]).unwrap();
        assert_eq!(FREED.take(), Some((1, 0)));
        // The list of keys remains in memory, the keys themselves do not.
        assert_eq!(freed_by_dropping(columns), (2, 1));
        assert_eq!(freed_by_dropping(engine.gcm_key(&key).unwrap()), (1, 0));
        // With a kernel, the first long text gives a key the library's form in addition to its own.
        let gcm = engine.gcm_key(&key).unwrap();
        let mut long = vec![0; 5000];
        engine.gcm_batch(CipherDirection::Encipher, &mut [GcmItem::encipher(&gcm, &[1; 12], &[], &mut long)]);
        assert_eq!(freed_by_dropping(gcm), (1 + usize::from(engine.level() == Level::Avx512), 0));
        let mut schedule = super::aws_lc::aes::AesSchedule::empty();
        assert!(schedule.set_encipher(&key));
        if let Some(keys) = schedule.round_keys() {
            let mut lanes = super::aes::wrap::Lanes::new(keys.rounds(), 10);
            lanes.load(3, keys, &[0xa5; 80]);
            assert_eq!(freed_by_dropping(lanes), (1, 0));
        }
        assert_eq!(freed_by_dropping(engine.chacha_key(&key).unwrap()), (1, 0));
        assert_eq!(freed_by_dropping(engine.ocb_key(&key).unwrap()), (1, 0));
        assert_eq!(freed_by_dropping(engine.eax_key(&key).unwrap()), (1, 0));
        let mut cfb = engine.cfb_sha1(CipherDirection::Encipher, &key, &[0; 16]).unwrap();
        cfb.update(&mut [0xa5; 100]);
        assert_eq!(freed_by_dropping(cfb), (1, 0));
        assert_eq!(freed_by_dropping(SecretBytes::from_slice(&[0xa5; 65])), (1, 0));
        let mut block = engine.random_block();
        block.fill(&mut [0; 8]);
        assert_eq!(freed_by_dropping(block), (1, 0));
        let key = engine.rsa_generate(1024, &[3]).unwrap();
        let (input, mut outputs) = ([0x11; 128], [[0; 128]; 3]);
        let mut items = outputs.each_mut().map(|output| RsaPrivateItem::new(&key, &input, output));
        engine.rsa_private_batch(&mut items);
        assert_eq!(items.map(|item| item.result), [Ok(()); 3]);
        // Modulus and public exponent remain; the numbers of the C library and the constants of the lanes are wiped.
        let in_lanes = usize::from(engine.level() == Level::Avx512);
        let (freed, not_wiped) = freed_by_dropping(key);
        assert!(freed > 2 + in_lanes, "{freed}: the library's own blocks are among them");
        assert_eq!(not_wiped, 2);
    }

    unsafe extern "C" {
        fn fork() -> std::ffi::c_int;
        fn waitpid(process: std::ffi::c_int, status: *mut i32, options: std::ffi::c_int) -> i32;
        fn _exit(status: std::ffi::c_int) -> !;
    }

    /// Parent and child of a fork never hand out the same random bytes, neither from a block nor from the
    /// generator.
    #[test]
    fn random_bytes_differ_after_a_fork() {
        use std::io::{Read, Write};

        let engine = Engine::new(Options::default()).unwrap();
        let mut block = engine.random_block();
        block.fill(&mut [0; 8]);
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let draw = |block: &mut RandomBlock| {
            let (mut piece, mut direct) = ([0; 16], [0; 16]);
            block.fill(&mut piece);
            engine.random(&mut direct);
            [piece, direct].concat()
        };
        // SAFETY: the child calls only the generator, which is made for this, `write` and `_exit`.
        let child = unsafe { fork() };
        if child == 0 {
            let written = writer.write_all(&draw(&mut block));
            // SAFETY: ends the child at once.
            unsafe { _exit(i32::from(written.is_err())) }
        }
        assert!(child > 0);
        drop(writer);
        let ours = draw(&mut block);
        let mut theirs = Vec::new();
        reader.read_to_end(&mut theirs).unwrap();
        let mut status = -1;
        // SAFETY: waits for the child that was just made; the status is ours.
        assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        assert_eq!(theirs.len(), 32);
        assert!(ours[..16] != theirs[..16] && ours[16..] != theirs[16..]);
    }
}
