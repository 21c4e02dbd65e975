//! The space on a page. Blocks get space in order of importance, and stand in reading order.

/// The unit of a page's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// UTF-16 code units, as GitHub counts the characters of a comment.
    Utf16,
    Bytes,
}

impl Measure {
    fn of(self, text: &str) -> usize {
        match self {
            Measure::Utf16 => text.encode_utf16().count(),
            Measure::Bytes => text.len(),
        }
    }
}

/// A table that may be cut after any of its rows.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) before: String,
    /// Rows, each with a line feed at its end.
    pub(super) rows: Vec<String>,
    pub(super) after: String,
}

/// The place of a block on the page.
#[derive(Debug)]
pub(super) struct Place(usize);

pub(super) struct Page {
    measure: Measure,
    left: usize,
    blocks: Vec<Option<String>>,
}

/// The text between two blocks.
const GAP: &str = "\n\n";

impl Page {
    pub(super) fn new(measure: Measure, limit: usize) -> Self {
        Page {
            measure,
            // One is kept for the line feed at the end.
            left: limit - 1,
            blocks: Vec::new(),
        }
    }

    /// Adds a place for a block that may be filled later.
    pub(super) fn place(&mut self) -> Place {
        self.blocks.push(None);
        Place(self.blocks.len() - 1)
    }

    /// Adds a block, if there is one and it fits.
    pub(super) fn add(&mut self, block: Option<String>) {
        let place = self.place();
        if let Some(block) = block {
            self.fill(place, block);
        }
    }

    /// Fills a place with a block. Returns whether the block fitted.
    pub(super) fn fill(&mut self, place: Place, block: String) -> bool {
        let size = self.measure.of(&block) + GAP.len();
        match self.left.checked_sub(size) {
            Some(left) => {
                self.left = left;
                self.blocks[place.0] = Some(block);
                true
            }
            None => false,
        }
    }

    /// Fills a place with as many rows as fit. Returns how many rows are missing.
    pub(super) fn fill_rows(&mut self, place: Place, table: Rows) -> usize {
        let mut size = self.measure.of(&table.before) + self.measure.of(&table.after) + GAP.len();
        let mut block = table.before;
        let mut shown = 0;
        for row in &table.rows {
            size += self.measure.of(row);
            if size > self.left {
                break;
            }
            block.push_str(row);
            shown += 1;
        }
        block.push_str(&table.after);
        if shown > 0 {
            self.fill(place, block);
        }
        table.rows.len() - shown
    }

    /// Reserves up to `size` of the remaining space. Returns how much was reserved.
    pub(super) fn keep(&mut self, size: usize) -> usize {
        let kept = size.min(self.left);
        self.left -= kept;
        kept
    }

    /// Releases space that was reserved by [`Page::keep`].
    pub(super) fn release(&mut self, kept: usize) {
        self.left += kept;
    }

    pub(super) fn finish(self) -> String {
        let blocks: Vec<String> = self.blocks.into_iter().flatten().collect();
        blocks.join(GAP) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_in_the_order_of_asking() {
        let mut page = Page::new(Measure::Utf16, 15);
        let (first, second, third) = (page.place(), page.place(), page.place());
        assert!(page.fill(third, "😀😀".to_owned()));
        assert!(!page.fill(first, "123456789".to_owned()));
        assert!(page.fill(second, "123456".to_owned()));
        assert_eq!(page.finish(), "123456\n\n😀😀\n");
    }

    #[test]
    fn as_many_rows_as_fit() {
        let table = || Rows {
            before: "a\n".to_owned(),
            rows: vec!["1\n".to_owned(), "2\n".to_owned(), "3\n".to_owned()],
            after: "z".to_owned(),
        };
        let shown = |limit| {
            let mut page = Page::new(Measure::Bytes, limit);
            let place = page.place();
            let missing = page.fill_rows(place, table());
            (missing, page.finish())
        };
        assert_eq!(shown(100), (0, "a\n1\n2\n3\nz\n".to_owned()));
        assert_eq!(shown(10), (1, "a\n1\n2\nz\n".to_owned()));
        assert_eq!(shown(7), (3, "\n".to_owned()));
    }
}
