//! `cryptand-keeper [FILE]`: the keeper's program in a system service, which FILE describes; see
//! [`daemon::service::keeper`].
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    daemon::service::keeper::main()
}
