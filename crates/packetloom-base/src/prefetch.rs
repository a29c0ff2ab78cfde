//! Prefetching: on large networks a switch's packets and ports are scattered over memory, and prefetching them halves
//! the cost of a packet-hop (docs/performance.md). It needs `unsafe` code; elsewhere only calls of users' classes do.
#![allow(unsafe_code)]

/// What memory is fetched by.
const LINE_BYTES: usize = 64;

/// Prefetches the cache line in which a value begins.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    hint(std::ptr::from_ref(value).cast());
}

/// Prefetches all of a value.
#[inline(always)]
pub fn prefetch_whole<T>(value: &T) {
    prefetch_lines(value, size_of::<T>().div_ceil(LINE_BYTES));
}

/// Prefetches the first lines of a value.
#[inline(always)]
pub fn prefetch_lines<T>(value: &T, lines: usize) {
    let first = std::ptr::from_ref(value).cast::<i8>();
    for line in 0..lines {
        hint(first.wrapping_add(line * LINE_BYTES));
    }
}

/// Where the processor has no such instruction, nothing happens.
#[inline(always)]
fn hint(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction only hints; it changes nothing and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
