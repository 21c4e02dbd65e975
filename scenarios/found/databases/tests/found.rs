use found_databases::*;

plimsoll::main!(
    git2::scenarios(),
    heed::scenarios(),
    poem::scenarios(),
    rusqlite::scenarios(),
    sled::scenarios(),
);
