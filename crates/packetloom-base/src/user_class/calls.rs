//! The interface to compiled methods: a method is called by its address.
//!
//! All arguments are pointers to records whose fields have eight bytes each. A method keeps none of them.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A method that the simulator calls.
///
/// # Safety
/// `Event` and `Tools` are laid out in memory as `packetloom.schemes` compiles the method of this name of these
/// base classes.
pub unsafe trait Hook: 'static {
    /// The classes of `packetloom.schemes` that have it.
    const BASES: &'static [&'static str];
    /// Its name.
    const NAME: &'static str;
    /// What happened.
    type Event: Record;
    /// What the method can use, and where it leaves its result.
    type Tools: Record;
}

/// What a method and the simulator share: fields of eight bytes each.
pub trait Record {
    /// The fields, in the order in which they lie in memory: each one's name, and whether it is floating point.
    const FIELDS: &'static [(&'static str, bool)];
}

impl Record for () {
    const FIELDS: &'static [(&'static str, bool)] = &[];
}

/// Declares records, whose fields lie in memory as they are written here.
#[macro_export]
macro_rules! records {
    ($($(#[$meta:meta])* $seen:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_seen:vis $field:ident: $type:ty,)*
    })*) => {$(
        #[repr(C)]
        $(#[$meta])*
        $seen struct $name {
            $($(#[$field_meta])* $field_seen $field: $type,)*
        }

        impl $crate::user_class::Record for $name {
            const FIELDS: &'static [(&'static str, bool)] =
                &[$((stringify!($field), matches!(stringify!($type).as_bytes(), b"f64"))),*];
        }

        const _: () = assert!(
            size_of::<$name>() == 8 * <$name as $crate::user_class::Record>::FIELDS.len(),
            "a field of a record has eight bytes"
        );
    )*};
}

/// A hook's records: what `packetloom.schemes.roles` must agree with.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The first of the base classes that have it.
    pub base: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The fields of the event.
    pub event: &'static [(&'static str, bool)],
    /// Those of the tools.
    pub tools: &'static [(&'static str, bool)],
}

impl Layout {
    /// Of a hook.
    pub const fn of<H: Hook>() -> Layout {
        let [event, tools] = [H::Event::FIELDS, H::Tools::FIELDS];
        Layout { base: H::BASES[0], name: H::NAME, event, tools }
    }
}

/// Declares the hooks of some base classes, each with its event and its tools, and lists their layouts. The records
/// have the same fields, in the same order, in `packetloom.schemes.roles`.
#[macro_export]
macro_rules! hooks {
    ($bases:expr => $($(#[$doc:meta])* $seen:vis $name:ident = $text:literal($event:ty, $tools:ty);)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            $seen struct $name;

            // SAFETY: as the macro's documentation demands.
            unsafe impl $crate::user_class::Hook for $name {
                const BASES: &'static [&'static str] = $bases;
                const NAME: &'static str = $text;
                type Event = $event;
                type Tools = $tools;
            }
        )*

        /// The hooks' records.
        pub const LAYOUTS: &[$crate::user_class::Layout] = &[$($crate::user_class::Layout::of::<$name>()),*];
    };
}

type Call<E, T> = unsafe extern "C" fn(*mut u64, *const E, *mut T) -> i64;

/// A method raised an exception, such as for an index that is out of range. It ended there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception;

/// A compiled method.
pub struct Method<H: Hook> {
    call: Call<H::Event, H::Tools>,
    hook: PhantomData<H>,
}

impl<H: Hook> std::fmt::Debug for Method<H> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(H::NAME)
    }
}

impl<H: Hook> Clone for Method<H> {
    fn clone(&self) -> Method<H> {
        *self
    }
}

impl<H: Hook> Copy for Method<H> {}

impl<H: Hook> Method<H> {
    /// Calls it with a state that its class's code made.
    ///
    /// # Errors
    /// It raised an exception.
    #[inline]
    pub fn call(self, state: &mut [u64], event: &H::Event, tools: &mut H::Tools) -> Result<(), Exception> {
        // SAFETY: the contracts of `Methods::at` and of the hook; nothing else refers to the three while it runs.
        let raised = unsafe { (self.call)(state.as_mut_ptr(), event, tools) };
        if raised == 0 { Ok(()) } else { Err(Exception) }
    }
}

/// What the methods of every class can call, by the names under which compiled code refers to it.
pub fn symbols() -> [(&'static str, usize); 1] {
    [("packetloom_cbrt", libm::cbrt as *const () as usize)]
}

/// The compiled methods of a class, by their names.
#[derive(Debug, Default)]
pub struct Methods(BTreeMap<String, usize>);

impl Methods {
    /// The methods at these addresses.
    ///
    /// # Safety
    /// At each address is a function of C's calling convention that takes pointers to a state as large as the class
    /// declares, to the event and to the tools of the hook of this name, that returns 0, or 1 if it raised an exception,
    /// writes to nothing else, can be called from any thread, and stays for as long as the process.
    pub unsafe fn at(addresses: BTreeMap<String, usize>) -> Methods {
        Methods(addresses)
    }

    pub(super) fn get<H: Hook>(&self) -> Option<Method<H>> {
        let address = *self.0.get(H::NAME)?;
        // SAFETY: `at`'s contract; a function pointer has the size of an address, and none is at 0.
        let call = (address != 0)
            .then(|| unsafe { std::mem::transmute::<usize, Call<H::Event, H::Tools>>(address) });
        call.map(|call| Method { call, hook: PhantomData })
    }
}
