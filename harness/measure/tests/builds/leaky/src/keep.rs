//! Methods of a trait.

pub trait Keep {
    fn keep(&mut self, size: usize);

    /// Provided by the trait, and it ends with a call.
    fn keep_some(&mut self, size: usize) {
        self.keep(size);
    }
}

#[derive(Default)]
pub struct Drawer {
    kept: Vec<Box<[u8]>>,
}

#[derive(Default)]
pub struct Hole;

impl Keep for Drawer {
    fn keep(&mut self, size: usize) {
        self.kept.push(vec![1; size].into());
    }
}

impl Keep for Hole {
    fn keep(&mut self, size: usize) {
        std::mem::forget(vec![1_u8; size]);
    }
}
