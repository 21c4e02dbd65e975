use crate::joined::Joined;

pub(crate) fn render(_joined: &Joined) -> String {
    String::new()
}
