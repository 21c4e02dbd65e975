plimsoll::main!(found_actors::scenarios());
