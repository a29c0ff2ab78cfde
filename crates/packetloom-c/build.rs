//! Gives the shared library the name under which programs are linked with it.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpacketloom.so.1");
    println!("cargo::rerun-if-changed=build.rs");
}
