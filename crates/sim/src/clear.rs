//! Requests with a clear key, which may run in the caller: a key, an input, and the right answer.

use engine::{Engine, Options};
use std::sync::OnceLock;
use token::pka::{Attributes, ClearKey, Form, clear_token};
use wire::frame::Arguments;
use wire::verb::{TypedGot, clear_rsa_private as rsa};

/// Length of key, input and answer in bytes.
const BYTES: usize = 128;

/// A clear key, an input, and the key's output for it.
struct Known {
    token: Vec<u8>,
    input: [u8; BYTES],
    answer: Vec<u8>,
}

/// One key for all runs: no step depends on which key it is, and generating one takes long. None if the engine
/// generates none.
fn known() -> Option<&'static Known> {
    static KNOWN: OnceLock<Option<Known>> = OnceLock::new();
    let make = || {
        let engine = Engine::new(Options { limit: None, weak_algorithms: false }).ok()?;
        let key = engine.rsa_generate(BYTES * 8, &[1, 0, 1]).ok()?;
        let (input, mut answer) = ([7; BYTES], vec![0; BYTES]);
        engine.rsa_private(&key, &input, &mut answer).ok()?;
        let (n, e, d) = (key.n(), key.e(), key.d());
        let clear = ClearKey::Me { n: &n, e: &e, d: &d };
        let token =
            clear_token(Form::Me1024, &clear, &Attributes::default(), &(engine::sha1, engine::sha256))
                .ok()?;
        Some(Known { token: token.to_vec(), input, answer })
    };
    KNOWN.get_or_init(make).as_ref()
}

/// A private operation with the key.
pub fn ask() -> Option<rsa::Ask<'static>> {
    let known = known()?;
    Some(rsa::Ask { key: &known.token, data: &known.input, result: BYTES, ..rsa::Ask::new() })
}

/// Whether these outputs hold the right answer to [`ask`].
pub fn is_right(arguments: &Arguments<'_>) -> bool {
    known().is_some_and(|known| rsa::Got::of(arguments).result == known.answer)
}
