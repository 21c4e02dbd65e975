//! Shelves that are never emptied.

pub mod boards;

use boards::Board;

pub struct Shelf<T> {
    boards: Vec<Board<T>>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Shelf {
            boards: vec![Board::default()],
        }
    }
}

impl<T> Shelf<T> {
    pub fn store(&mut self, thing: T) {
        let board = self.boards.last_mut().expect("a board");
        board.lay(thing);
    }
}
