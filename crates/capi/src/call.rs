//! One call: what its name stands for, and its codes.

use crate::fields::Fields;
use crate::memory::Pointer;
use crate::own::Own;
use crate::process;
use crate::segments::Cut;
use facility::Reply;
use std::ffi::{c_long, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wire::Codes;
use wire::code;
use wire::verb::Entry;

/// The body of an exported function: what a call of the function does.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Calls the verb of this row.
    Verb(&'static Entry),
    /// Writes this text and a zero byte into the second parameter. The first parameter is the length: on entry the
    /// room, afterwards the bytes written.
    Text(&'static str),
    /// Does what the library does itself, without a row of the verb table.
    Own(Own),
    /// Refuses: 8/713.
    Refused,
}

impl Body {
    /// The body of the function of this name. A text, and what the library does itself, take precedence over the verb
    /// table.
    pub const fn of(name: &str, text: &[&'static str], own: &[Own]) -> Self {
        match (text, own, Entry::of_entry_point(name)) {
            ([text, ..], ..) => Self::Text(text),
            ([], [own, ..], _) => Self::Own(*own),
            ([], [], Some(entry)) => Self::Verb(entry),
            ([], [], None) => Self::Refused,
        }
    }

    /// Whether the function may be called with this number of pointers.
    pub const fn takes(self, pointers: usize) -> bool {
        match self {
            Self::Verb(entry) => entry.parameters.len() == pointers,
            Self::Text(_) => pointers == 2,
            Self::Own(own) => pointers == own.pointers(),
            Self::Refused => true,
        }
    }
}

/// Does what a body says, and writes its codes where their pointers are not null. Pointers are in the order of the
/// parameters. Outputs are written if the return code is 0 or 4; otherwise only the codes are written.
///
/// | codes | of this function itself |
/// |---|---|
/// | 8/35 | a negative number of keywords, or more than a rule array has |
/// | 8/72 | a negative length, one above 1 MiB, or more than one request carries; no field was looked at. Texts of verbs that have segments may be of 64 MiB |
/// | 8/184 | a null pointer where the row does not allow one |
/// | 8/204 | no memory for what comes of a long text |
/// | 8/713 | refused |
/// | 8/2034 | `CSU_DEFAULT_ADAPTER` or `CSU_DEFAULT_DOMAIN` is no name of a card, or no number of a domain |
/// | 12/338 | no home, no daemon, or a fault in the library, which standard error then shows |
///
/// # Safety
/// Each pointer that is not null points to a `long`, or to as many bytes as the row says for the other arguments;
/// nobody else writes there meanwhile. Of a body that refuses only the codes' pointers are looked at.
pub unsafe fn call(body: Body, return_code: *mut c_long, reason_code: *mut c_long, pointers: &[*mut c_void]) {
    // SAFETY: the caller's promise.
    let answered = catch_unwind(AssertUnwindSafe(|| unsafe { run(body, pointers) }));
    let codes = match answered {
        Ok(Ok(codes) | Err(codes)) => codes,
        Err(_) => code::NO_CARD,
    };
    for (place, code) in [(return_code, codes.return_code), (reason_code, codes.reason_code)] {
        let place = Pointer::of(place.cast());
        if !place.is_null() {
            // SAFETY: the caller's promise.
            unsafe { place.set_integer(code.into()) };
        }
    }
}

/// # Safety
/// As [`call`].
unsafe fn run(body: Body, pointers: &[*mut c_void]) -> Result<Codes, Codes> {
    match body {
        Body::Refused => Err(code::NOT_AVAILABLE),
        // SAFETY: the caller's promise.
        Body::Text(text) => unsafe { give(text, Pointer::of(pointers[0]), Pointer::of(pointers[1])) },
        // SAFETY: the caller's promise.
        Body::Own(own) => unsafe { own.run(pointers) },
        Body::Verb(entry) => {
            // SAFETY: the caller's promise.
            if let Some(cut) = unsafe { Cut::of(entry, pointers) } {
                // SAFETY: the caller's promise.
                return unsafe { cut.run() };
            }
            // SAFETY: the caller's promise.
            let fields = unsafe { Fields::read(entry, pointers) }?;
            let mut reply = Reply::new();
            process::call(&fields.arguments(), &mut reply)?;
            // SAFETY: the caller's promise.
            unsafe { fields.write(&reply) }
        }
    }
}

/// # Safety
/// `length` is null or points to a `long`, and `field` is null or points to as many bytes as that says.
unsafe fn give(text: &str, length: Pointer, field: Pointer) -> Result<Codes, Codes> {
    if length.is_null() || field.is_null() {
        return Err(code::NULL_POINTER);
    }
    let given = [text.as_bytes(), &[0]].concat();
    // SAFETY: the caller's promise, and the field has the room.
    unsafe {
        if length.integer() < given.len() as i64 {
            return Err(code::BUFFER_TOO_SMALL);
        }
        field.write(&given);
        length.set_integer(given.len() as i64);
    }
    Ok(code::OK)
}
