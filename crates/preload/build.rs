//! What the linker is told about the library.

fn main() {
    for argument in [
        // The name under which it is installed.
        "-soname,libcryptand-xfrm.so",
        // Threads of the host may be in its functions when the host unloads things.
        "-z,nodelete",
        // Every function that it calls is found when it is loaded, not in the middle of a call of the host.
        "-z,now",
    ] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
