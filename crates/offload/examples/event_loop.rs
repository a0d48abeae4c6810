//! Signs with the key under a label, many requests in flight, in a loop over mio: `event_loop HOME LABEL SCHEME
//! REQUESTS DIGEST`, with SCHEME and DIGEST in hexadecimal. It writes the public key (DER) and each signature in
//! hexadecimal, one a line.
#![forbid(unsafe_code)]

use cryptand_offload::{Answer, LoopOptions, Offload, Options, Scheme};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use std::error::Error;
use std::os::fd::{AsFd, AsRawFd};

const PUBLIC_KEY: u64 = 0;
const IN_FLIGHT: u64 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [home, label, scheme, wanted, digest] = &given[..] else {
        return Err("usage: event_loop HOME LABEL SCHEME REQUESTS DIGEST".into());
    };
    let scheme = Scheme::of_code_point(u16::from_str_radix(scheme, 16)?).ok_or("no scheme of cards")?;
    let wanted: u64 = wanted.parse()?;
    let digits = |at: usize| digest.get(at..at + 2).ok_or("an odd digit");
    let digest = (0..digest.len()).step_by(2).map(|at| Ok(u8::from_str_radix(digits(at)?, 16)?));
    let digest = digest.collect::<Result<Vec<u8>, Box<dyn Error>>>()?;

    let mut offload = Offload::open(home.as_ref(), Options::default(), LoopOptions::default())?;
    let key = offload.key(label)?;
    offload.public_key(PUBLIC_KEY, key)?;
    // A server watches its clients beside it.
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(16));
    let descriptor = offload.as_fd().as_raw_fd();
    poll.registry().register(&mut SourceFd(&descriptor), Token(0), Interest::READABLE)?;
    let (mut asked, mut answered, mut is_known) = (0, 0, false);
    while !is_known || answered < wanted {
        while asked < wanted && asked - answered < IN_FLIGHT {
            asked += 1;
            offload.sign(asked, key, scheme, &digest)?;
        }
        while let Some(finished) = offload.collect() {
            let bytes = match finished.answer? {
                Answer::Signature(bytes) | Answer::PublicKey(_, bytes) => bytes,
                Answer::Premaster(_) => return Err("none was asked for".into()),
            };
            println!("{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
            match finished.id {
                PUBLIC_KEY => is_known = true,
                _ => answered += 1,
            }
        }
        let has_room = asked < wanted && asked - answered < IN_FLIGHT;
        // Readiness is told of once: whoever sleeps has armed, which says that there is nothing left.
        if !has_room && offload.arm() && offload.in_flight() > 0 {
            poll.registry().reregister(&mut SourceFd(&descriptor), Token(0), Interest::READABLE)?;
            poll.poll(&mut events, None)?;
        }
    }
    Ok(())
}
