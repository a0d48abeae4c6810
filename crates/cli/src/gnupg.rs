//! Hints for users who type a flag of GnuPG: what to type here instead.

use std::ffi::OsString;

/// A flag of gpg, and the command of this program that does the same.
const WORDS: &[(&[&str], &str)] = &[
    (&["-e", "--encrypt"], "cryptand encrypt -r WHO FILE"),
    (&["-d", "--decrypt"], "cryptand decrypt FILE"),
    (&["--symmetric"], "cryptand encrypt -c FILE"),
    (&["-b", "--detach-sign"], "cryptand sign --detach FILE"),
    (&["--clearsign", "--clear-sign"], "cryptand sign --clear FILE"),
    (&["--sign"], "cryptand sign FILE"),
    (&["--verify"], "cryptand verify FILE"),
    (&["--import"], "cryptand pgp import FILE"),
    (&["--export"], "cryptand pgp export WHO"),
    (&["--export-secret-keys"], "cryptand pgp export --private WHO"),
    (&["-k", "--list-keys"], "cryptand pgp list"),
    (&["-K", "--list-secret-keys"], "cryptand pgp list --private"),
    (&["--gen-key", "--quick-gen-key", "--generate-key", "--full-gen-key"], "cryptand pgp generate USER-ID"),
    (&["--gen-revoke"], "cryptand pgp revoke WHO -o FILE"),
    (&["--quick-set-expire"], "cryptand pgp expire WHO TIME"),
    (&["--delete-keys", "--delete-key"], "cryptand pgp delete WHO"),
    (&["--passwd", "--change-passphrase"], "cryptand pgp passphrase WHO"),
    (&["--default-key"], "cryptand pgp default WHO"),
    (&["--local-user"], "cryptand sign -u WHO FILE"),
    (&["--yes"], "cryptand encrypt --force FILE"),
    (&["--recipient-file"], "cryptand encrypt -f FILE"),
    (&["--use-agent"], "cryptand agent unlock WHO"),
];

/// The first flag of gpg on the command line, and this program's equivalent.
pub fn instead(typed: impl IntoIterator<Item = OsString>) -> Option<(&'static str, &'static str)> {
    typed.into_iter().find_map(|word| {
        // `--local-user=WHO` is the flag, too.
        let word = word.to_str()?.split('=').next()?.to_owned();
        WORDS
            .iter()
            .find_map(|(flags, ours)| flags.iter().find(|flag| **flag == word).map(|flag| (*flag, *ours)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn what_is_named_instead_is_a_command_of_this_program() {
        for (flags, ours) in WORDS {
            let words = ours.replace("TIME", "2y");
            let parsed = args::command().try_get_matches_from(words.split(' '));
            assert!(parsed.is_ok(), "{flags:?}: {ours}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn the_first_flag_of_gpg_counts_with_its_value_or_without() {
        let instead = |line: &str| instead(line.split(' ').map(OsString::from)).map(|(flag, _)| flag);
        assert_eq!(instead("cryptand --clearsign notice.txt"), Some("--clearsign"));
        assert_eq!(instead("cryptand sign --local-user=me --yes x"), Some("--local-user"));
        assert_eq!(instead("cryptand encrypt --unknown x"), None);
    }
}
