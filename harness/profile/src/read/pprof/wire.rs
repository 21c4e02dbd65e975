//! Protobuf's wire format: a message is a list of fields, and a field is a number and a value.
//!
//! ```text
//! 08 96 01            field 1, a varint: 150
//! 12 03 66 6f 6f      field 2, three bytes: a string, a message, or packed varints
//! 1d .. .. .. ..      field 3, four bytes; 19 has eight
//! ```
//!
//! Groups are an error. Protobuf gave them up before profile.proto was written.

use super::PprofError;

/// The bytes of a message that are not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    name: &'static str,
    bytes: &'a [u8],
    /// The offset of `bytes` in the profile.
    offset: usize,
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) number: u64,
    /// The offset of its value in the profile.
    pub(super) offset: usize,
    value: Value<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// A number of four or eight bytes. No field of a profile has this type.
    Fixed,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
enum Wire {
    Varint,
    Fixed(u64),
    Bytes,
}

impl<'a> Message<'a> {
    /// Returns the message of a profile, from this offset on.
    pub(super) fn at(bytes: &'a [u8], offset: usize) -> Self {
        Message {
            name: "Profile",
            bytes,
            offset,
        }
    }

    /// Reads the number of the next field. Returns where the rest of it begins, and how long it
    /// is; `None` if more bytes are needed.
    pub(super) fn start(mut self) -> Result<Option<(usize, u64)>, PprofError> {
        // A varint has at most ten bytes, and its last one begins with a zero.
        let is_cut = |message: &Self| {
            message.bytes.len() < 10 && message.bytes.iter().all(|byte| byte & 0x80 != 0)
        };
        if is_cut(&self) {
            return Ok(None);
        }
        let (_, wire) = self.tag()?;
        let len = match wire {
            Wire::Fixed(len) => len,
            Wire::Varint | Wire::Bytes if is_cut(&self) => return Ok(None),
            Wire::Varint => self.varint(self.name).map(|_| 0)?,
            Wire::Bytes => self.varint(self.name)?,
        };
        Ok(Some((self.offset, len)))
    }

    /// Reads the number of a field, and how its value is written.
    fn tag(&mut self) -> Result<(u64, Wire), PprofError> {
        let start = self.offset;
        let tag = self.varint(self.name)?;
        let number = tag >> 3;
        // Protobuf's largest field number is 2^29 - 1.
        if !(1..1 << 29).contains(&number) {
            let (expected, found) = ("a field's number", number.to_string());
            return Err(PprofError::malformed(start, self.name, expected, found));
        }
        let wire = match tag & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed(8),
            2 => Wire::Bytes,
            5 => Wire::Fixed(4),
            other => {
                let expected = "a varint, a fixed number or bytes";
                let found = format!("wire type {other} in field {number}");
                return Err(PprofError::malformed(start, self.name, expected, found));
            }
        };
        Ok((number, wire))
    }

    /// Reads the next field. Returns `None` at the end of the message.
    pub(super) fn field(&mut self) -> Result<Option<Field<'a>>, PprofError> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let (number, wire) = self.tag()?;
        let mut offset = self.offset;
        let value = match wire {
            Wire::Varint => Value::Varint(self.varint(self.name)?),
            Wire::Fixed(len) => self.take(len).map(|_| Value::Fixed)?,
            Wire::Bytes => {
                let len = self.varint(self.name)?;
                offset = self.offset;
                Value::Bytes(self.take(len)?)
            }
        };
        Ok(Some(Field {
            number,
            offset,
            value,
        }))
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], PprofError> {
        let split = usize::try_from(len).ok();
        let Some((taken, rest)) = split.and_then(|len| self.bytes.split_at_checked(len)) else {
            let expected = "as many bytes as are announced";
            let found = format!("{} of {len}", self.bytes.len());
            return Err(PprofError::malformed(
                self.offset,
                self.name,
                expected,
                found,
            ));
        };
        self.offset += taken.len();
        self.bytes = rest;
        Ok(taken)
    }

    fn varint(&mut self, name: &'static str) -> Result<u64, PprofError> {
        let mut number = 0;
        for (place, byte) in self.bytes.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for only one bit.
            if place == 9 && bits > 1 {
                break;
            }
            number |= bits << (7 * place);
            if byte & 0x80 == 0 {
                self.offset += place + 1;
                self.bytes = &self.bytes[place + 1..];
                return Ok(number);
            }
        }
        let found = match self.bytes.len() {
            ..10 => "the end",
            _ => "more bits",
        };
        let expected = "a varint of at most 64 bits";
        Err(PprofError::malformed(self.offset, name, expected, found))
    }
}

impl<'a> Field<'a> {
    /// Returns the value as a number.
    pub(super) fn varint(&self, name: &'static str) -> Result<u64, PprofError> {
        match self.value {
            Value::Varint(number) => Ok(number),
            _ => Err(self.otherwise(name, "a varint")),
        }
    }

    /// Returns the value as a string, which may contain any bytes.
    pub(super) fn bytes(&self, name: &'static str) -> Result<&'a [u8], PprofError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.otherwise(name, "bytes")),
        }
    }

    /// Returns the value as a message.
    pub(super) fn message(&self, name: &'static str) -> Result<Message<'a>, PprofError> {
        let (bytes, offset) = (self.bytes(name)?, self.offset);
        Ok(Message {
            name,
            bytes,
            offset,
        })
    }

    /// Calls `read` with each number of a repeated field and its offset in the profile. The value
    /// is one number, or several packed ones.
    pub(super) fn varints(
        &self,
        name: &'static str,
        mut read: impl FnMut(u64, usize) -> Result<(), PprofError>,
    ) -> Result<(), PprofError> {
        if let Value::Varint(number) = self.value {
            return read(number, self.offset);
        }
        if let Value::Fixed = self.value {
            return Err(self.otherwise(name, "a varint, or several"));
        }
        let mut packed = self.message(name)?;
        while !packed.bytes.is_empty() {
            let offset = packed.offset;
            read(packed.varint(name)?, offset)?;
        }
        Ok(())
    }

    fn otherwise(&self, name: &'static str, expected: &'static str) -> PprofError {
        let found = match self.value {
            Value::Varint(_) => "a varint",
            Value::Bytes(_) => "bytes",
            Value::Fixed => "a fixed number",
        };
        self.malformed(name, expected, found)
    }

    /// Makes an error at this field.
    pub(super) fn malformed(
        &self,
        name: &'static str,
        expected: &'static str,
        found: impl Into<String>,
    ) -> PprofError {
        PprofError::malformed(self.offset, name, expected, found)
    }
}
