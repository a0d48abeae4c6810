//! `cryptand-keeper [FILE]`: a program of the system service, as its file says; see [`daemon::service::keeper`].
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    daemon::service::keeper::main()
}
