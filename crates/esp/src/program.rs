//! The command line of `cryptand-esp`.

use crate::commands;
use crate::supervisor::Serve;
use options::ipsec::DEVICE;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
IPsec's data plane in user space. It is started by `cryptand ipsec up`, and by its service.

Usage: cryptand-esp serve [--folder DIR] [--device NAME] [--mtu BYTES] [--threads N] [--weak-suites] [--keep] [--no-egress-filter]
       cryptand-esp ipsec JSON [-- PROGRAM ARGUMENT...]
       cryptand-esp drive JSON
       cryptand-esp drive-serve JSON
       cryptand-esp probe

  serve   makes the device, rules and routes, starts the worker, and starts another where that ends; until SIGTERM
  --no-egress-filter  sets no rules of nf_tables: programs that name a link send in clear past policies
  --keep  leaves rules and routes behind, so that what policies protect is dropped until the next one serves
  ipsec   does what `cryptand ipsec` passes on
  drive   does what `cryptand ipsec drive` passes on; drive-serve is its other end
  probe   says, in a network namespace of its own, whether the kernel has ESP
";

/// Exit codes beside 0.
mod exit {
    /// The arguments make no sense.
    pub const USAGE: u8 = 2;
}

/// Runs the program with these arguments (without its name).
pub fn main(arguments: &[OsString]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    match words.as_slice() {
        ["--help" | "-h"] => saying::answer("cryptand-esp", format_args!("{HELP}")),
        ["--version"] => {
            let version = env!("CARGO_PKG_VERSION");
            saying::answer("cryptand-esp", format_args!("cryptand-esp {version}\n"))
        }
        ["probe"] => commands::check::probe(),
        ["ipsec", json] => commands::run(json, &[]),
        ["ipsec", json, "--", ..] => commands::run(json, &arguments[3..]),
        ["drive", json] => driven(traffic::command::drive(json, &itself())),
        ["drive-serve", json] => driven(traffic::command::serve(json)),
        ["serve", options @ ..] => match read(options) {
            Ok(settings) => commands::serve::run(&settings),
            Err(why) => {
                eprint!("cryptand-esp: {why}\n\n{HELP}");
                ExitCode::from(exit::USAGE)
            }
        },
        _ => {
            eprint!("cryptand-esp: unknown arguments {arguments:?}\n\n{HELP}");
            ExitCode::from(exit::USAGE)
        }
    }
}

fn read(options: &[&str]) -> Result<Serve, String> {
    let mut settings = Serve {
        folder: None,
        device: DEVICE.to_owned(),
        mtu: None,
        threads: None,
        weak_suites: false,
        keep: false,
        egress_filter: true,
    };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let mut value = || options.next().copied().ok_or_else(|| format!("{option} has a value"));
        let number = |text: &str| text.parse().map_err(|_| format!("{option} {text}: this is no number"));
        match *option {
            "--folder" => settings.folder = Some(PathBuf::from(value()?)),
            "--device" => value()?.clone_into(&mut settings.device),
            "--mtu" => settings.mtu = Some(number(value()?)?),
            "--threads" => {
                let threads = number(value()?)?;
                settings.threads = Some(usize::try_from(threads).map_err(|error| error.to_string())?);
            }
            "--weak-suites" => settings.weak_suites = true,
            "--keep" => settings.keep = true,
            "--no-egress-filter" => settings.egress_filter = false,
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(settings)
}

/// The command lines with which this program is started at the ends of a pair of namespaces.
fn itself() -> traffic::command::Itself {
    // If the program's own path is not known, its name is searched as a shell would.
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("cryptand-esp"));
    traffic::command::Itself { program, drive: vec!["drive".into()], serve: vec!["drive-serve".into()] }
}

fn driven(done: Result<(), traffic::DriveFailure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // The load in a namespace has said why itself.
            if !matches!(failure, traffic::DriveFailure::Elsewhere(_)) {
                tell_drive(&failure);
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn tell_drive(failure: &traffic::DriveFailure) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "cryptand ipsec drive: {failure}");
}
