//! A map that is compiled in little time.

use std::borrow::Borrow;

/// A map of few entries, or of keys that come in order: a list, sorted by key. To add a key moves
/// all keys after it.
///
/// A [`BTreeMap`](std::collections::BTreeMap) is compiled anew for each pair of types, into ten
/// times as much code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        SmallMap(Vec::new())
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.0.binary_search_by(|(one, _)| one.borrow().cmp(key));
        place.ok().map(|place| &self.0[place].1)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.0.binary_search_by(|(one, _)| one.cmp(key));
        place.ok().map(|place| &mut self.0[place].1)
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: K, value: V) {
        match self.0.binary_search_by(|(one, _)| one.cmp(&key)) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    /// Returns the value of a key, which is added if it is not there.
    pub fn or_insert(&mut self, key: K, value: V) -> &mut V {
        let place = match self.0.binary_search_by(|(one, _)| one.cmp(&key)) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (key, value));
                place
            }
        };
        &mut self.0[place].1
    }

    /// The same with the default value.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert(key, V::default())
    }

    /// Returns the entries in the order of their keys.
    pub fn iter(&self) -> std::slice::Iter<'_, (K, V)> {
        self.0.iter()
    }
}

impl<K, V> IntoIterator for SmallMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
