//! What the symbols of programs and libraries are. One program, because each one that is linked
//! takes a second.

mod c;
mod hostile;
mod oracle;
#[cfg(unix)]
mod places;
mod rust;
mod split;
mod support;
