//! `cryptand-launcher [FILE]`: the launcher of cards in a system service, which FILE describes; see
//! [`daemon::service::launcher`].
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    daemon::service::launcher::main()
}
