//! `cryptand-launcher [FILE]`: a program of the system service, as its file says; see [`daemon::service::launcher`].
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    daemon::service::launcher::main()
}
