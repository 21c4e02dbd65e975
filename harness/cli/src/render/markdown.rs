use super::Context;
use crate::joined::Joined;

pub(crate) fn comment(_joined: &Joined, _context: &Context) -> String {
    String::new()
}

pub(crate) fn summary(_joined: &Joined, _context: &Context) -> String {
    String::new()
}
