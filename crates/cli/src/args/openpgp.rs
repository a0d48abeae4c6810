//! The command lines of `cryptand encrypt`, `decrypt`, `sign` and `verify`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

const ENCRYPT_EXAMPLES: &str = "\
Examples:
  cryptand encrypt -r alice@example.org report.pdf     writes report.pdf.pgp
  cryptand encrypt -r alice@example.org -r ./bob.asc -s *.csv
  cryptand encrypt -c report.pdf                       asks for a passphrase
  cryptand encrypt -r alice@example.org --archive 2025/    writes 2025.tar.pgp
  tar c data | cryptand encrypt -r alice@example.org > data.tar.pgp
  cryptand encrypt -r alice@example.org -z 1 huge.dump

WHO is an address, a fingerprint, a key ID of 16 digits, a part of a user ID, or
a file (a path with a / in it).
Without --mode and --cipher: the strongest form that every recipient's key
announces; for passphrases alone SEIPDv1 with AES-256, which every program reads.";

const DECRYPT_EXAMPLES: &str = "\
Examples:
  cryptand decrypt report.pdf.pgp                      writes report.pdf
  cryptand decrypt -o - report.pdf.pgp                 to standard output
  cryptand decrypt --verify-with alice@example.org *.pgp
                                        writes nothing unless she signed it
  cryptand decrypt --archive year.tar.pgp              makes the folder year
  cryptand decrypt --archive --list year.tar.pgp
  cryptand decrypt < data.tar.pgp | tar x

If a passphrase is needed, the terminal asks for it. For text that is signed but
not encrypted, use `cryptand verify -o OUT`.

A file gets its name only when all of it is authentic. Standard output cannot be
taken back: text authenticated in chunks (SEIPDv2) is written as it is
decrypted; text authenticated only at its end (SEIPDv1) is buffered up to
16 MiB and refused beyond, unless --unauthenticated says otherwise.";

const SIGN_EXAMPLES: &str = "\
Examples:
  cryptand sign --detach release.tar.gz      writes release.tar.gz.sig
  cryptand sign --clear notice.txt           writes notice.txt.asc, readable
  cryptand sign -u alice@example.org message writes message.pgp, text inside";

const VERIFY_EXAMPLES: &str = "\
Examples:
  cryptand verify release.tar.gz             by release.tar.gz.sig or .asc beside it
  cryptand verify release.tar.gz.sig         the same, named the other way
  cryptand verify release.sig release.tar.gz if they have different names; same as
  cryptand verify --signature release.sig release.tar.gz
  cryptand verify --verify-with ./alice.asc -o notice.txt notice.txt.asc

The exit code is 0 only if a signature is valid and its key was valid when it
was made; 6 if none is.";

/// Exit codes of the OpenPGP commands, for `--help`.
const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong command line, 3 a key that must not be
used, or several of a name, 4 no key or passphrase opens it, 5 damaged or not
authentic, 6 no valid signature, 7 no such key or file, 8 the output exists
already, 130 interrupted. Of several files: the code that all failures share,
else 1.";

/// Heading of the options for the form of a message's body.
const FORM: &str = "Form of the message";

/// `cryptand encrypt`.
#[derive(Args, Debug)]
#[command(after_help = ENCRYPT_EXAMPLES, after_long_help = format!("{ENCRYPT_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Encrypt {
    /// Files; - or nothing for standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// A recipient: address, fingerprint, key ID, part of a user ID, or a path (repeat for more)
    #[arg(short = 'r', long = "recipient", value_name = "WHO")]
    pub recipients: Vec<String>,
    /// A recipient's certificate in a file (repeat for more)
    #[arg(short = 'f', long = "recipient-file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub recipient_files: Vec<PathBuf>,
    /// Encrypt with a passphrase: asked for, unless --passphrase-file or --passphrase-fd gives one
    #[arg(short = 'c', long)]
    pub passphrase: bool,
    /// A passphrase that opens the message: first line of a file (repeat for more)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub passphrase_file: Vec<PathBuf>,
    /// The same from an open descriptor (repeat for more)
    #[arg(long, value_name = "N")]
    pub passphrase_fd: Vec<u32>,
    /// Sign with the default key in the same pass
    #[arg(short = 's', long)]
    pub sign: bool,
    /// Sign with this key in the same pass (repeat for more)
    #[arg(short = 'u', long = "signer", value_name = "WHO")]
    pub signers: Vec<String>,
    /// Where it goes
    #[command(flatten)]
    pub output: OutputOptions,
    /// ASCII armor
    #[arg(short = 'a', long)]
    pub armor: bool,
    /// All inputs, files and folders, as one tar stream in one message
    #[arg(long)]
    pub archive: bool,
    /// A recipient whom the message does not name (repeat for more)
    #[arg(long, value_name = "WHO")]
    pub hidden_recipient: Vec<String>,
    /// Encrypt to the default key as well (`pgp default` can make that the rule)
    #[arg(long, overrides_with = "no_to_self")]
    pub to_self: bool,
    /// Do not encrypt to the default key, even if that is the rule
    #[arg(long, overrides_with = "to_self")]
    pub no_to_self: bool,
    /// Cipher of the body
    #[arg(long, help_heading = FORM)]
    pub cipher: Option<CipherName>,
    /// Mode of the body: cfb is SEIPDv1 with its modification detection code, the others are AEAD
    #[arg(long, help_heading = FORM)]
    pub mode: Option<ModeName>,
    /// With --mode ocb or eax: GnuPG's AEAD packet instead of SEIPDv2
    #[arg(long, help_heading = FORM)]
    pub gnupg_aead: bool,
    /// Compression before the cipher
    #[arg(long, help_heading = FORM)]
    pub compress: Option<CompressName>,
    /// Compress at this level, 1 (fast) to 9 (small); 6 where only --compress is given
    #[arg(short = 'z', long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9), help_heading = FORM)]
    pub compress_level: Option<u8>,
    /// The input is UTF-8 text, not bytes
    #[arg(short = 't', long, help_heading = FORM)]
    pub text: bool,
    /// Keys, threads, and what is shown
    #[command(flatten)]
    pub work: WorkOptions,
}

/// `cryptand decrypt`.
#[derive(Args, Debug)]
#[command(after_help = DECRYPT_EXAMPLES, after_long_help = format!("{DECRYPT_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Decrypt {
    /// Files; - or nothing for standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// Where it goes
    #[command(flatten)]
    pub output: OutputOptions,
    /// A passphrase of the message, tried on private keys too: first line of a file (repeat for more)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub passphrase_file: Vec<PathBuf>,
    /// The same from an open descriptor (repeat for more)
    #[arg(long, value_name = "N")]
    pub passphrase_fd: Vec<u32>,
    /// Write nothing unless one of these signed it: WHO as with `encrypt -r` (repeat for more)
    #[arg(long, value_name = "WHO")]
    pub verify_with: Vec<String>,
    /// Write nothing unless a certificate of the key store signed it
    #[arg(long)]
    pub signed: bool,
    /// The text is a tar stream: extract it into a folder
    #[arg(long)]
    pub archive: bool,
    /// With --archive: list what is in it, and write nothing
    #[arg(long, requires = "archive")]
    pub list: bool,
    /// With --archive: make symbolic links that lead out of the folder, too
    #[arg(long, requires = "archive", conflicts_with = "list")]
    pub outside_links: bool,
    /// What to do with SEIPDv1 text for standard output before it is authenticated
    #[arg(long, value_name = "HOW", default_value = "buffer")]
    pub unauthenticated: UnauthenticatedName,
    /// Longest text in bytes that a message may hold
    #[arg(long, value_name = "BYTES")]
    pub text_bytes_max: Option<u64>,
    /// Keys, threads, and what is shown
    #[command(flatten)]
    pub work: WorkOptions,
}

/// `cryptand sign`.
#[derive(Args, Debug)]
#[command(after_help = SIGN_EXAMPLES, after_long_help = format!("{SIGN_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Sign {
    /// Files; - or nothing for standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// The signature alone, beside the text
    #[arg(short = 'b', long, conflicts_with = "clear")]
    pub detach: bool,
    /// The text as it is, with the signature below it
    #[arg(long)]
    pub clear: bool,
    /// Sign with this key instead of the default one (repeat for more)
    #[arg(short = 'u', long = "signer", value_name = "WHO")]
    pub signers: Vec<String>,
    /// Where it goes
    #[command(flatten)]
    pub output: OutputOptions,
    /// ASCII armor
    #[arg(short = 'a', long)]
    pub armor: bool,
    /// Sign as text: line ends do not count
    #[arg(short = 't', long)]
    pub text: bool,
    /// Compression of text with its signature
    #[arg(long, conflicts_with_all = ["detach", "clear"])]
    pub compress: Option<CompressName>,
    /// Compress at this level, 1 (fast) to 9 (small); 6 where only --compress is given
    #[arg(short = 'z', long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9), conflicts_with_all = ["detach", "clear"])]
    pub compress_level: Option<u8>,
    /// Keys, threads, and what is shown
    #[command(flatten)]
    pub work: WorkOptions,
}

/// `cryptand verify`.
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES, after_long_help = format!("{VERIFY_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Verify {
    /// Signed messages; files with a detached signature beside them, or such signatures; a signature and its file;
    /// - or nothing for standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// Detached signatures of the input, as in `verify SIGNATURE TEXT`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub signature: Option<PathBuf>,
    /// Accept only these signers: WHO as with `encrypt -r` (repeat for more); without it, every certificate of the key
    /// store
    #[arg(long, value_name = "WHO")]
    pub verify_with: Vec<String>,
    /// Signatures made before this do not count: seconds since 1970, or a date such as 2026-01-31
    #[arg(long, value_name = "WHEN", value_parser = super::moment)]
    pub not_before: Option<u32>,
    /// Signatures made after this do not count
    #[arg(long, value_name = "WHEN", value_parser = super::moment)]
    pub not_after: Option<u32>,
    /// Write the text of a signed message to this file (- for standard output); without it, nothing is written
    #[arg(short = 'o', long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
    /// Return only once the output is on the disk (fsync)
    #[arg(long)]
    pub sync: bool,
    /// Folder of the key store
    #[command(flatten)]
    pub store: StoreOptions,
    /// Threads and processors
    #[command(flatten)]
    pub run: RunOptions,
    /// What is shown
    #[command(flatten)]
    pub show: ShowOptions,
}

/// Where output goes.
#[derive(Args, Debug, Default)]
pub struct OutputOptions {
    /// A file, a folder for several outputs, or - for standard output; without it, beside each input
    #[arg(short = 'o', long, value_name = "OUT", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
    /// Return only once the output is on the disk (fsync)
    #[arg(long)]
    pub sync: bool,
}

/// What commands with private keys have in common.
#[derive(Args, Debug, Default)]
pub struct WorkOptions {
    /// Passphrases of private keys
    #[command(flatten)]
    pub keys: KeyOptions,
    /// Threads and processors
    #[command(flatten)]
    pub run: RunOptions,
    /// What is shown
    #[command(flatten)]
    pub show: ShowOptions,
}

/// The key store, and how its private keys are opened.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Key store")]
pub struct KeyOptions {
    /// Folder of the key store
    #[command(flatten)]
    pub store: StoreOptions,
    /// Passphrase of private keys: first line of a file (repeat for more)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key_passphrase_file: Vec<PathBuf>,
    /// The same from an open descriptor (repeat for more)
    #[arg(long, value_name = "N")]
    pub key_passphrase_fd: Vec<u32>,
    /// Never ask on the terminal
    #[arg(long)]
    pub batch: bool,
}

/// The key store.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Key store")]
pub struct StoreOptions {
    /// Folder of the key store instead of $XDG_DATA_HOME/cryptand/pgp
    #[arg(long, env = "CRYPTAND_KEYRING", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub keyring: Option<PathBuf>,
}

/// Threads and processors.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Threads and processors")]
pub struct RunOptions {
    /// Stages with threads of their own: io, compress, cipher, separated by commas, or none; the default depends on
    /// this machine's processors
    #[arg(long = "async", value_name = "STAGES", value_parser = stages)]
    pub stages: Option<Stages>,
    /// Most threads for compression and cipher
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=THREADS_MAX))]
    pub threads: Option<u16>,
    /// Processors for compression and cipher, such as 2,3 or 4-7
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pub offload_cpus: Option<Processors>,
    /// Who computes: portable code, the engine's best kernels, or cards for RSA keys as well
    #[arg(long, value_name = "WHO", default_value = "engine")]
    pub provider: ProviderName,
}

/// Most threads that can be asked for.
const THREADS_MAX: i64 = 1024;

/// What is shown.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "What is shown")]
pub struct ShowOptions {
    /// Print one JSON object for each file; on standard error if standard output carries the text
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor summary
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Print each stage's processor time in the summary
    #[arg(short = 'v', long, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// Stages that have threads of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Reading and writing.
    pub io: bool,
    /// Compression.
    pub compress: bool,
    /// Cipher.
    pub cipher: bool,
}

fn stages(text: &str) -> Result<Stages, String> {
    let mut stages = Stages::default();
    if text == "none" {
        return Ok(stages);
    }
    for name in text.split(',') {
        match name {
            "io" => stages.io = true,
            "compress" => stages.compress = true,
            "cipher" => stages.cipher = true,
            _ => return Err(format!("{name:?} is not a stage: give io, compress and cipher, or none")),
        }
    }
    Ok(stages)
}

/// Processors by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processors(pub Vec<usize>);

/// Highest number of a processor that can be named.
const PROCESSOR_MAX: usize = 8191;

fn processors(text: &str) -> Result<Processors, String> {
    let number = |text: &str| match text.parse() {
        Ok(number @ 0..=PROCESSOR_MAX) => Ok(number),
        _ => Err(format!("{text:?} is not a processor: give numbers and ranges, such as 2,3 or 4-7")),
    };
    let mut list = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => list.extend(number(first)?..=number(last)?),
            None => list.push(number(part)?),
        }
    }
    list.sort_unstable();
    list.dedup();
    if list.is_empty() { Err(format!("{text:?} names no processor")) } else { Ok(Processors(list)) }
}

/// Ciphers that are written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CipherName {
    /// AES-128
    Aes128,
    /// AES-192
    Aes192,
    /// AES-256
    Aes256,
    /// Triple DES, for old readers (with --mode cfb)
    Tdes,
}

/// Modes that are written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeName {
    /// SEIPDv1: CFB with a modification detection code
    Cfb,
    /// SEIPDv2 with OCB
    Ocb,
    /// SEIPDv2 with GCM
    Gcm,
    /// SEIPDv2 with EAX
    Eax,
}

/// Compressions that are written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressName {
    /// None
    None,
    /// ZIP (raw deflate)
    Zip,
    /// ZLIB
    Zlib,
}

/// Who computes.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderName {
    /// Portable code alone
    Software,
    /// The engine's best kernels
    #[default]
    Engine,
    /// The engine, and the home's cards for RSA keys
    Card,
}

/// What to do with text that is authenticated only at its end.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnauthenticatedName {
    /// Buffer it until then, up to 16 MiB; refuse longer text
    Buffer,
    /// Refuse it before the first byte
    Refuse,
    /// Write it, with a warning before, and an error after if it is not authentic
    Write,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_names_or_none() {
        assert_eq!(stages("none"), Ok(Stages::default()));
        assert_eq!(stages("io,cipher"), Ok(Stages { io: true, compress: false, cipher: true }));
        for bad in ["", "all", "io,", "io compress"] {
            assert!(stages(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn processors_are_numbers_and_ranges() {
        assert_eq!(processors("4-6,1,5"), Ok(Processors(vec![1, 4, 5, 6])));
        for bad in ["", "x", "1-", "3-2", "-1", "9999"] {
            assert!(processors(bad).is_err(), "{bad}");
        }
    }
}
