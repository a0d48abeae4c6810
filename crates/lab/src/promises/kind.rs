//! The kind of a processor: its microarchitecture and the level of the engine, such as `zen3-avx2`. What was measured
//! is kept by kind, because machines of one kind differ by their host's load and not by what their ports allow.

use std::fs;

/// The kind of this machine's processor at a level of the engine.
pub fn this(level: &str) -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    named(&text, level)
}

/// The kind by a text as in `/proc/cpuinfo`: without a known name by vendor, family and model.
fn named(cpuinfo: &str, level: &str) -> String {
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    let (vendor, family, model) = (field("vendor_id"), field("cpu family"), field("model"));
    let known = match (family.parse(), model.parse()) {
        (Ok(family), Ok(model)) => microarchitecture(vendor, family, model),
        _ => None,
    };
    let vendor = match vendor {
        "AuthenticAMD" => "amd",
        "GenuineIntel" => "intel",
        _ => "other",
    };
    match known {
        Some(name) => format!("{name}-{level}"),
        None if family.is_empty() => format!("unknown-{level}"),
        None => format!("{vendor}-family{family}-model{model}-{level}"),
    }
}

/// The name of a microarchitecture, by what CPUID says of vendor, family and model.
fn microarchitecture(vendor: &str, family: u32, model: u32) -> Option<&'static str> {
    Some(match (vendor, family, model) {
        ("AuthenticAMD", 0x17, ..0x30) => "zen",
        ("AuthenticAMD", 0x17, _) => "zen2",
        ("AuthenticAMD", 0x19, 0x10..0x20 | 0x60..0x80 | 0xA0..0xB0) => "zen4",
        ("AuthenticAMD", 0x19, _) => "zen3",
        ("AuthenticAMD", 0x1A, _) => "zen5",
        ("GenuineIntel", 6, 0x3C | 0x3F | 0x45 | 0x46) => "haswell",
        ("GenuineIntel", 6, 0x3D | 0x47 | 0x4F | 0x56) => "broadwell",
        ("GenuineIntel", 6, 0x4E | 0x5E | 0x8E | 0x9E) => "skylake",
        ("GenuineIntel", 6, 0x55) => "skylake-server",
        ("GenuineIntel", 6, 0x6A | 0x6C) => "ice-lake-server",
        ("GenuineIntel", 6, 0x8F) => "sapphire-rapids",
        ("GenuineIntel", 6, 0xCF) => "emerald-rapids",
        ("GenuineIntel", 6, 0xAD | 0xAE) => "granite-rapids",
        ("GenuineIntel", 6, 0x97 | 0x9A) => "alder-lake",
        ("GenuineIntel", 6, 0xB7 | 0xBA | 0xBF) => "raptor-lake",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpuinfo(vendor: &str, family: u32, model: u32) -> String {
        format!(
            "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: X 9\n"
        )
    }

    #[test]
    fn known_processors_have_names_and_others_numbers() {
        assert_eq!(named(&cpuinfo("AuthenticAMD", 25, 1), "avx2"), "zen3-avx2");
        assert_eq!(named(&cpuinfo("AuthenticAMD", 25, 17), "avx512"), "zen4-avx512");
        assert_eq!(named(&cpuinfo("AuthenticAMD", 26, 2), "avx512"), "zen5-avx512");
        assert_eq!(named(&cpuinfo("GenuineIntel", 6, 143), "avx512"), "sapphire-rapids-avx512");
        assert_eq!(named(&cpuinfo("GenuineIntel", 19, 1), "avx2"), "intel-family19-model1-avx2");
        assert_eq!(named(&cpuinfo("HygonGenuine", 24, 0), "avx2"), "other-family24-model0-avx2");
        assert_eq!(named("", "portable"), "unknown-portable");
    }

    #[test]
    fn a_kind_is_a_name_of_a_file() {
        let kind = this("avx2");
        assert!(kind.ends_with("-avx2"), "{kind}");
        assert!(kind.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{kind}");
    }
}
