//! Records in a build whether it was guided by a profile.

use std::env;

fn main() {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    println!("cargo::rustc-env=PACKETLOOM_PROFILE_GUIDED={}", flags.contains("profile-use="));
    println!("cargo::rerun-if-env-changed=RUSTFLAGS");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
}
