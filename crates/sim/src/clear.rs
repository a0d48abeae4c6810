//! Requests with a clear key, which may run in the caller: a key, an input, and the right answer.

use engine::{Engine, Options};
use std::sync::OnceLock;
use token::pka::{Attributes, ClearKey, Form, clear_token};
use wire::frame::Arguments;
use wire::verb::{Verb, clear_rsa_private as places};

/// Length of key, input and answer in bytes.
const BYTES: usize = 128;

/// A key in clear, and what it makes of an input.
struct Known {
    token: Vec<u8>,
    input: [u8; BYTES],
    answer: Vec<u8>,
}

/// One for all runs: no step depends on which key it is, and to make one takes long. None where the engine
/// makes none.
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
pub fn request() -> Option<Arguments<'static>> {
    let known = known()?;
    let mut arguments = Arguments::new(Verb::ClearRsaPrivate);
    arguments.set_integer(places::KEY_LENGTH, known.token.len() as i64).set_bytes(places::KEY, &known.token);
    arguments.set_integer(places::DATA_LENGTH, BYTES as i64).set_bytes(places::DATA, &known.input);
    arguments.set_integer(places::RESULT_LENGTH, BYTES as i64);
    Some(arguments)
}

/// Whether this is the answer to it.
pub fn is_right(arguments: &Arguments<'_>) -> bool {
    known().is_some_and(|known| arguments.bytes(places::RESULT) == known.answer)
}
