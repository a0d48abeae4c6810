//! What the linker is told about the library.

fn main() {
    for argument in [
        // The name that programs ask the loader for: its number changes with what programs were built against.
        "-soname,libcryptand-offload.so.1",
        // Threads of the host may still have what their end calls in it.
        "-z,nodelete",
        // Functions that the engine defines for AWS-LC are not those of another copy of it in the host.
        "--exclude-libs,ALL",
        // AWS-LC asks for functions that programs may have and need not: a host's of the same name are not its own.
        "-z,nodynamic-undefined-weak",
    ] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
