//! Numbers in types that hold fewer: the one place where a cast may lose something.
//!
//! Clippy denies such casts everywhere else (`[workspace.lints]`), so that each says what it relies on: [`narrow`], that
//! the number fits, which costs nothing in a release build; [`exact`], the same, and all builds look; [`saturated`],
//! that a fraction is cut off; [`nearest`], that digits are. What a user writes is bounded where it is read, with a message.
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

use std::fmt::Display;
use std::panic::Location;

/// A whole number that another type may not hold.
pub trait Wide<N>: Copy + Display {
    /// Its lowest bits.
    fn lowest(self) -> N;
    /// Whether the other type holds it.
    fn fits(self) -> bool;
}

macro_rules! wide {
    ($($wide:ty => $($narrow:ty),+;)*) => {$($(
        impl Wide<$narrow> for $wide {
            #[inline(always)]
            fn lowest(self) -> $narrow {
                self as $narrow
            }

            #[inline(always)]
            fn fits(self) -> bool {
                <$narrow>::try_from(self).is_ok()
            }
        }
    )+)*};
}

// What always fits is missing: `from` says so.
wide! {
    u128 => u64, u32;
    i128 => u64, i64;
    usize => i64, u32, u16, u8;
    u64 => usize, i64, u32, u16, u8;
    i64 => usize, u64, u32, u16, u8;
    u32 => u16, u8, i32;
}

/// A number that fits a narrower type, for reasons that the caller knows: an index into what has an index of this type,
/// a part of a number that has it. Only debug builds look, which tests are.
#[inline(always)]
#[track_caller]
pub fn narrow<N>(number: impl Wide<N>) -> N {
    debug_assert!(number.fits(), "{number} does not fit {}", std::any::type_name::<N>());
    number.lowest()
}

/// The same where no packet waits: a release build looks, too.
///
/// # Panics
/// If the number does not fit, which is a fault of the program: readers refuse what is too large.
#[inline]
#[track_caller]
pub fn exact<N>(number: impl Wide<N>) -> N {
    if !number.fits() {
        too_large(&number, std::any::type_name::<N>(), Location::caller());
    }
    number.lowest()
}

#[cold]
#[inline(never)]
fn too_large(number: &dyn Display, into: &str, at: &Location<'_>) -> ! {
    panic!("{number} does not fit {into}, at {at}")
}

/// A type of whole numbers that a float is cut off to.
pub trait Whole {
    /// The number nearest to it between it and zero.
    fn cut_off(number: f64) -> Self;
}

macro_rules! whole {
    ($($whole:ty),*) => {$(
        impl Whole for $whole {
            #[inline(always)]
            fn cut_off(number: f64) -> $whole {
                number as $whole
            }
        }
    )*};
}

whole!(u8, u16, u32, u64, u128, usize, i32, i64, i128);

/// A float without its fraction: the least or the most that the type holds where it is beyond that, and 0 for what is
/// no number.
#[inline(always)]
pub fn saturated<N: Whole>(number: f64) -> N {
    N::cut_off(number)
}

/// The 32-bit float that is nearest.
#[inline(always)]
pub fn nearest(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_what_it_is() {
        assert_eq!(narrow::<u8>(255_usize), 255);
        assert_eq!(narrow::<u64>(7_i64), 7);
        assert_eq!(exact::<u32>(u64::from(u32::MAX)), u32::MAX);
        assert_eq!(exact::<i64>(i128::from(i64::MIN)), i64::MIN);
    }

    #[test]
    #[should_panic(expected = "4294967296 does not fit u32")]
    fn what_does_not_fit_is_no_smaller_number() {
        exact::<u32>(1_u64 << 32);
    }

    #[test]
    #[should_panic(expected = "-1 does not fit u64")]
    fn what_is_below_zero_is_no_large_number() {
        exact::<u64>(-1_i64);
    }

    #[test]
    #[should_panic(expected = "256 does not fit u8")]
    fn tests_look_where_release_builds_do_not() {
        narrow::<u8>(256_u32);
    }

    #[test]
    fn floats_end_at_the_bounds_of_the_type() {
        assert_eq!(saturated::<u32>(2.9), 2);
        assert_eq!(saturated::<i64>(-2.9), -2);
        assert_eq!([1e30, -1.0, f64::NAN].map(saturated::<u64>), [u64::MAX, 0, 0]);
    }
}
