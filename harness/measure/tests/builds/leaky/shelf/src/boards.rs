//! What a shelf is made of.

pub struct Board<T> {
    top: Option<Box<Laid<T>>>,
}

struct Laid<T> {
    _thing: T,
    _below: Option<Box<Laid<T>>>,
}

impl<T> Default for Board<T> {
    fn default() -> Self {
        Board { top: None }
    }
}

impl<T> Board<T> {
    #[inline]
    pub fn lay(&mut self, thing: T) {
        let below = self.top.take();
        self.top = Some(boxed(Laid {
            _thing: thing,
            _below: below,
        }));
    }
}

fn boxed<T>(thing: T) -> Box<T> {
    Box::new(thing)
}
