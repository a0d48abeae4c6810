//! What holds a process to a level: `level LEVEL` prints the variable and its value, `NAME=VALUE`, or
//! nothing for the highest; without an argument it prints the level that this process works at.

use engine::{Level, LibraryFeatures, UnknownLevel, level_environment};

fn main() -> Result<(), UnknownLevel> {
    match std::env::args().nth(1) {
        None => println!("{}", LibraryFeatures::read().level()),
        Some(name) => {
            if let Some((name, value)) = level_environment(name.parse::<Level>()?) {
                println!("{name}={value}");
            }
        }
    }
    Ok(())
}
