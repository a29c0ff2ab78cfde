//! One-dimensional numpy arrays: made through `numpy.frombuffer`, read through Python's buffer protocol.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use std::ops::Deref;

/// A number that an array holds.
pub trait Entry: Copy {
    /// As numpy writes its type.
    const DTYPE: &'static str;

    /// Writes it to exactly its own size of bytes.
    fn write(self, bytes: &mut [u8]);
}

macro_rules! entries {
    ($($kind:ty: $dtype:literal),*) => {$(
        impl Entry for $kind {
            const DTYPE: &'static str = $dtype;

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}
entries!(u8: "u1", u16: "u2", u32: "u4", u64: "u8", i32: "i4", i64: "i8", f64: "f8");

impl Entry for bool {
    const DTYPE: &'static str = "?";

    fn write(self, bytes: &mut [u8]) {
        u8::from(self).write(bytes);
    }
}

/// A writable array of the entries.
pub fn array<'py, E: Entry>(
    py: Python<'py>,
    entries: impl ExactSizeIterator<Item = E>,
) -> PyResult<Bound<'py, PyAny>> {
    let size = size_of::<E>();
    let bytes = PyByteArray::new_with(py, entries.len() * size, |bytes| {
        for (place, entry) in bytes.chunks_exact_mut(size).zip(entries) {
            entry.write(place);
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, E::DTYPE))
}

/// What a one-dimensional array of this type holds.
pub struct Array<E>(Vec<E>);

impl<E> Deref for Array<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        &self.0
    }
}

impl<E: Element> FromPyObject<'_, '_> for Array<E> {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, '_, PyAny>) -> PyResult<Array<E>> {
        let buffer = PyBuffer::<E>::get(&array)?;
        if buffer.dimensions() != 1 {
            return Err(PyTypeError::new_err("an array of one dimension is expected"));
        }
        buffer.to_vec(array.py()).map(Array)
    }
}
