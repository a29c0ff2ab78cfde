//! Protocol Buffers as they lie in a file: fields with a number and one of four wire types.

use super::super::FileError;

/// So many numbers are read of a node's list, and of all lists of a file: as many as the largest file in JSON has room
/// for, where each takes a digit and a comma.
pub const MOST_NUMBERS: usize = 1 << 27;

/// A stretch of a file that is read from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire<'a> {
    bytes: &'a [u8],
    /// Where in the file it begins.
    at: u64,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Of variable length: integers, enumerations, bools.
    Varint(u64),
    /// Of eight bytes.
    Fixed64(u64),
    /// With its length before it: texts, messages, packed numbers.
    Bytes(Wire<'a>),
    /// Of four bytes.
    Fixed32(u32),
}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its number.
    pub number: u64,
    /// What it holds.
    pub value: Value<'a>,
    /// Where it begins.
    pub at: u64,
}

impl<'a> Wire<'a> {
    /// A whole file.
    pub fn new(bytes: &'a [u8]) -> Wire<'a> {
        Wire { bytes, at: 0 }
    }

    /// Where it is.
    pub fn at(self) -> u64 {
        self.at
    }

    /// Whether nothing is left.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes a number of variable length.
    pub fn varint(&mut self) -> Result<u64, FileError> {
        let at = self.at;
        let mut number = 0_u64;
        for (index, &byte) in self.bytes.iter().enumerate() {
            // The tenth byte has room for one bit.
            if index == 9 && byte > 1 {
                return Err(FileError::at_byte(at, "a number of more than 64 bits"));
            }
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.skip(index + 1);
                return Ok(number);
            }
        }
        Err(FileError::at_byte(at, "the file or message ends within a number"))
    }

    /// Takes what has its length before it, which is called `what`.
    pub fn delimited(&mut self, what: &str) -> Result<Wire<'a>, FileError> {
        let at = self.at;
        let length = self.varint()?;
        let Some(bytes) = usize::try_from(length).ok().and_then(|length| self.bytes.get(..length)) else {
            let message = format!("{what} of {length} bytes, but {} are left", self.bytes.len());
            return Err(FileError::at_byte(at, message));
        };
        let inner = Wire { bytes, at: self.at };
        self.skip(bytes.len());
        Ok(inner)
    }

    /// Takes the next field of a message, if one is left.
    pub fn field(&mut self) -> Result<Option<Field<'a>>, FileError> {
        if self.is_empty() {
            return Ok(None);
        }
        let at = self.at;
        let key = self.varint()?;
        let number = key >> 3;
        if number == 0 {
            return Err(FileError::at_byte(
                at,
                "a field numbered 0; this is no Chakra trace, or a broken one",
            ));
        }
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => Value::Bytes(self.delimited("a field")?),
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed()?)),
            other => {
                let message = format!("a field of wire type {other}, which no Chakra trace has");
                return Err(FileError::at_byte(at, message));
            }
        };
        Ok(Some(Field { number, value, at }))
    }

    fn fixed<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], FileError> {
        let Some(&bytes) = self.bytes.first_chunk() else {
            let message = format!("a field of {BYTES} bytes, but {} are left", self.bytes.len());
            return Err(FileError::at_byte(self.at, message));
        };
        self.skip(BYTES);
        Ok(bytes)
    }

    fn skip(&mut self, bytes: usize) {
        self.bytes = &self.bytes[bytes..];
        self.at += bytes as u64;
    }
}

impl<'a> Field<'a> {
    /// The integer.
    pub fn integer(self, what: &str) -> Result<u64, FileError> {
        match self.value {
            Value::Varint(number) => Ok(number),
            _ => Err(self.error(format!("{what} is no integer"))),
        }
    }

    /// The message or packed list.
    pub fn message(self, what: &str) -> Result<Wire<'a>, FileError> {
        match self.value {
            Value::Bytes(inner) => Ok(inner),
            _ => Err(self.error(format!("{what} is a number"))),
        }
    }

    /// The text.
    pub fn text(self, what: &str) -> Result<&'a str, FileError> {
        let inner = self.message(what)?;
        std::str::from_utf8(inner.bytes).map_err(|_| self.error(format!("{what} is not UTF-8")))
    }

    /// Appends the integers of a repeated field: one, or many packed.
    pub fn integers(self, what: &str, all: &mut Vec<u64>) -> Result<(), FileError> {
        match self.value {
            Value::Varint(number) => all.push(number),
            Value::Bytes(mut packed) => {
                while !packed.is_empty() {
                    if all.len() == MOST_NUMBERS {
                        return Err(
                            self.error(format!("{what} are more than {MOST_NUMBERS}, the most that is read"))
                        );
                    }
                    all.push(packed.varint()?);
                }
            }
            _ => return Err(self.error(format!("{what} are no integers"))),
        }
        Ok(())
    }

    /// An error where it begins.
    pub fn error(self, message: impl Into<String>) -> FileError {
        FileError::at_byte(self.at, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> FileError {
        let mut wire = Wire::new(bytes);
        loop {
            match wire.field() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a sound message"),
                Err(error) => return error,
            }
        }
    }

    #[test]
    fn fields_of_all_wire_types_are_read() {
        let bytes = [8, 0xac, 2, 0x11, 1, 0, 0, 0, 0, 0, 0, 0x80, 0x1a, 2, 5, 6, 0x25, 7, 0, 0, 0];
        let mut wire = Wire::new(&bytes);
        let mut values = Vec::new();
        while let Some(field) = wire.field().expect("a sound message") {
            values.push((field.number, field.at, field.value));
        }
        let inner = Wire { bytes: &[5, 6], at: 14 };
        let expected = [
            (1, 0, Value::Varint(300)),
            (2, 3, Value::Fixed64(1 | 0x80 << 56)),
            (3, 12, Value::Bytes(inner)),
            (4, 16, Value::Fixed32(7)),
        ];
        assert_eq!(values, expected);
        assert_eq!(Wire::new(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).varint(), Ok(u64::MAX));
    }

    #[test]
    fn what_is_broken_is_told_with_its_byte() {
        let cases: [(&[u8], u64, &str); 8] = [
            (&[8, 1, 8], 3, "the file or message ends within a number"),
            (&[8, 1, 8, 0x80], 3, "the file or message ends within a number"),
            (&[8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], 1, "a number of more than 64 bits"),
            (&[0x12, 3, 1, 2], 1, "a field of 3 bytes, but 2 are left"),
            (&[0x11, 1, 2], 1, "a field of 8 bytes, but 2 are left"),
            (&[0x15, 1, 2], 1, "a field of 4 bytes, but 2 are left"),
            (&[8, 1, 0], 2, "a field numbered 0; this is no Chakra trace, or a broken one"),
            (&[0x0b], 0, "a field of wire type 3, which no Chakra trace has"),
        ];
        for (bytes, at, message) in cases {
            assert_eq!(error(bytes), FileError::at_byte(at, message), "{bytes:?}");
        }
    }
}
