//! A limit really binds: the library's own record of the features it uses is read in a process started with
//! each limit. Other architectures than x86-64 have one level, and no limit.

use engine::*;

/// Runs in every process: what the library uses is not more than its environment allows.
#[test]
fn features_of_this_process() {
    let features = LibraryFeatures::read();
    let level = Level::ALL.into_iter().find(|level| {
        level_environment(*level).is_some_and(|(name, value)| std::env::var(name).as_deref() == Ok(value))
    });
    match level {
        Some(Level::Portable) => {
            let expected = LibraryFeatures { ssse3: features.ssse3, ..LibraryFeatures::default() };
            assert_eq!(features, expected);
        }
        Some(Level::Avx2) => {
            let LibraryFeatures { avx512, ifma, vbmi, vaes, vpclmul, .. } = features;
            assert_eq!([avx512, ifma, vbmi, vaes, vpclmul], [false; 5]);
            assert!(features.level() <= Level::Avx2);
        }
        Some(Level::Avx512) | None => {}
    }
    println!("library level {}", features.level());
}

/// The suites try every level that the machine has.
#[test]
fn the_widest_level_is_there() {
    if needs::lacks(needs::Need::Avx512) {
        return;
    }
    let limited = Level::ALL.into_iter().filter_map(level_environment);
    let is_limited = limited.into_iter().any(|(name, _)| std::env::var_os(name).is_some());
    assert!(is_limited || LibraryFeatures::read().level() == Level::Avx512);
}

/// Every limit gives the same answers.
#[test]
fn answers_of_this_process() {
    let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap();
    let mut text: Vec<u8> = (0..4099u32).map(|i| (i * 7) as u8).collect();
    let mut sum = engine.hash_state(HashAlgorithm::Sha256).unwrap();
    for algorithm in CipherAlgorithm::ALL {
        for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
            for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                let key = &[0x3c; 32][..algorithm.key_bytes()];
                let mut chain = vec![0xf0; algorithm.block_bytes()];
                let end = if mode == Mode::Ctr { text.len() } else { 4096 };
                engine.cipher(algorithm, mode, direction, key, &mut chain, &mut text[..end]).unwrap();
                sum.update(&chain);
            }
        }
    }
    for bytes in [16, 24, 32] {
        let key = engine.gcm_key(&[7; 32][..bytes]).unwrap();
        let mut items = [GcmItem::encipher(&key, &[1; 12], b"aad", &mut text)];
        engine.gcm_batch(CipherDirection::Encipher, &mut items);
        sum.update(&items[0].tag);
    }
    for hash in HashAlgorithm::ALL {
        sum.update(&engine.hash(hash, &text).unwrap());
    }
    let n = [vec![0xc5; 255], vec![0x0b]].concat();
    let public = RsaPublicKey::new(&n, &[1, 0, 1]).unwrap();
    let mut out = vec![0; 256];
    engine
        .rsa_public(&public, &text[..256].iter().map(|byte| byte >> 1).collect::<Vec<_>>(), &mut out)
        .unwrap();
    sum.update(&out);
    let scalar = [0x11; 32];
    sum.update(&x25519_public(&scalar));
    for (curve, bytes) in [(Curve::P256, 32), (Curve::P384, 48), (Curve::P521, 66)] {
        let mut scalar = vec![0x11; bytes];
        scalar[0] = 0;
        sum.update(&EcPrivateKey::from_bytes(curve, &scalar).unwrap().public_bytes());
    }
    let sum: String = sum.finish()[..32].iter().map(|byte| format!("{byte:02x}")).collect();
    println!("answers {sum}");
}

/// Processes under each limit.
#[cfg(target_arch = "x86_64")]
mod limits {
    use super::*;
    use std::process::Command;

    fn child(level: Level) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture"]);
        let name = level_environment(Level::Portable).unwrap().0;
        command.env_remove(name);
        command.envs(level_environment(level));
        command
    }

    #[test]
    fn each_limit_binds_the_library() {
        let shown = |level: Level| -> Level {
            let output = child(level).arg("level::features_of_this_process").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{level}: {text}");
            text.split("library level ").nth(1).unwrap().lines().next().unwrap().parse().unwrap()
        };
        // The child without a limit says what this machine has: this process may itself be limited.
        let machine = shown(Level::Avx512);
        for level in Level::ALL {
            assert_eq!(shown(level), level.min(machine));
        }
    }

    #[test]
    fn every_limit_gives_the_same_answers() {
        let answers = Level::ALL.map(|level| {
            let output = child(level).arg("level::answers_of_this_process").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{level}: {text}");
            text.split("answers ").nth(1).unwrap().lines().next().unwrap().to_owned()
        });
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[1], answers[2]);
    }
}

#[test]
fn an_option_limits_the_level_and_never_raises_it() {
    for limit in Level::ALL {
        let engine = Engine::new(Options { limit: Some(limit), ..Options::default() }).unwrap();
        assert_eq!(engine.level(), limit.min(engine.library_level()));
    }
    assert_eq!(Engine::new(Options::default()).unwrap().level(), LibraryFeatures::read().level());
}

#[test]
fn names_are_read_back() {
    for level in Level::ALL {
        assert_eq!(level.name().parse(), Ok(level));
    }
    assert_eq!("avx".parse::<Level>(), Err(UnknownLevel));
    assert!(Level::Portable < Level::Avx2 && Level::Avx2 < Level::Avx512);
}
