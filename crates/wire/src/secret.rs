//! Verbs that handle keys in the clear.

use crate::bounds::VERB_SLOTS;
use crate::verb::{Direction, Entry, Kind, Role, TABLE, Verb};

/// By slot: whether a reply can hold a clear key.
static IN_REPLIES: [bool; VERB_SLOTS] = {
    let mut replies = [false; VERB_SLOTS];
    let mut row = 0;
    while row < TABLE.len() {
        replies[TABLE[row].slot as usize] = gives_any(&TABLE[row]);
        row += 1;
    }
    replies
};

/// Whether requests or replies of a verb can hold a clear key, so that memory is wiped after it:
/// buffers by their owner, slots and blocks of a queue by their writer.
#[inline]
pub fn carries_clear_key(verb: Verb) -> bool {
    verb.entry().secret
}

/// Whether replies of a verb can hold a clear key. A key that is returned because it was wrapped
/// anew is not clear.
#[inline]
pub fn gives_clear_key(verb: Verb) -> bool {
    IN_REPLIES[verb.slot()]
}

const fn gives_any(entry: &Entry) -> bool {
    let mut position = 0;
    while position < entry.parameters.len() {
        let parameter = &entry.parameters[position];
        let comes_back = !matches!(parameter.direction, Direction::In)
            && !matches!(parameter.kind, Kind::Key { role: Role::Renews, .. });
        if parameter.secret && comes_back {
            return true;
        }
        position += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_gives_a_clear_key_has_secret_replies() {
        let both = |verb| (carries_clear_key(verb), gives_clear_key(verb));
        assert_eq!(both(Verb::PkaKeyGenerate), (true, true));
        assert_eq!(both(Verb::KeyTokenBuild), (true, true));
        assert_eq!(both(Verb::ClearKeyImport), (true, false));
        assert_eq!(both(Verb::SymmetricAlgorithmEncipher), (true, false));
        assert_eq!(both(Verb::MacGenerate), (false, false));
        for entry in TABLE {
            assert!(entry.secret || !gives_clear_key(entry.verb), "{}", entry.name);
        }
    }
}
