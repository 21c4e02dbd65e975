plimsoll::main!(found_reactive::scenarios());
