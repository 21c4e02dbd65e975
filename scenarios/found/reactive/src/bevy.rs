//! A game server (`bevy_ecs`, `bevy_state`): levels follow each other, and enemies come and go.
//!
//! Kept: three labels for every value that a state has ever had (`OnExit`, `OnTransition`,
//! `OnEnter`), if the state carries data. A transition looks for the schedules of these labels.
//! To look for one, a label is interned (`ScheduleLabel::intern`), which lasts as long as the
//! process. A label without a schedule is also noted in the world (`Schedules::empty_labels`).

use bevy_ecs::message::Messages;
use bevy_ecs::prelude::*;
use bevy_ecs::system::RunSystemOnce;
use bevy_state::prelude::*;
use bevy_state::state::{
    FreelyMutableState, StateTransition, StateTransitionEvent, setup_state_transitions_in_world,
};
use plimsoll::Scenario;

/// The level is a part of the state.
#[derive(States, Clone, PartialEq, Eq, Hash, Debug, Default)]
enum Game {
    #[default]
    Menu,
    Playing(u64),
}

/// The level is a resource beside the state.
#[derive(States, Clone, PartialEq, Eq, Hash, Debug, Default)]
enum Mode {
    #[default]
    Menu,
    Playing,
}

#[derive(Resource, Default)]
struct Level(u64);

#[derive(Component)]
struct Enemy;

#[derive(EntityEvent)]
struct Hit(Entity);

/// A world with a state, as `App::init_state` makes it.
fn world<S: FreelyMutableState + FromWorld>() -> World {
    let mut world = World::new();
    world.init_resource::<State<S>>();
    world.init_resource::<NextState<S>>();
    world.init_resource::<Messages<StateTransitionEvent<S>>>();
    world.init_resource::<Level>();
    setup_state_transitions_in_world(&mut world);
    let mut schedules = world.resource_mut::<Schedules>();
    let schedule = schedules.get_mut(StateTransition);
    S::register_state(schedule.expect("the schedule of transitions"));
    world
}

/// What `App::update` does.
fn update<S: States>(world: &mut World) {
    world.run_schedule(StateTransition);
    let mut messages = world.resource_mut::<Messages<StateTransitionEvent<S>>>();
    messages.update();
    world.clear_trackers();
}

fn enter<S: FreelyMutableState>(world: &mut World, state: S) {
    world.resource_mut::<NextState<S>>().set(state.clone());
    update::<S>(world);
    assert_eq!(*world.resource::<State<S>>().get(), state);
}

pub fn game() -> World {
    world::<Game>()
}

pub fn level(world: &mut World, i: u64) {
    enter(world, Game::Playing(i));
    enter(world, Game::Menu);
}

pub fn mode() -> World {
    world::<Mode>()
}

pub fn level_beside(world: &mut World, i: u64) {
    world.resource_mut::<Level>().0 = i;
    enter(world, Mode::Playing);
    enter(world, Mode::Menu);
}

/// An enemy comes with an observer and a child, is hit, and goes.
pub fn enemy(world: &mut World, _i: u64) {
    let observe = |_: On<Hit>, mut level: ResMut<Level>| level.0 += 1;
    let enemy = world.spawn(Enemy).observe(observe).id();
    let child = world.spawn((Enemy, ChildOf(enemy))).id();
    world.trigger(Hit(enemy));
    assert!(world.despawn(enemy));
    assert!(world.get_entity(child).is_err());
    update::<Mode>(world);
}

/// A system that runs once, and one that is registered, run and unregistered.
pub fn systems(world: &mut World, _i: u64) {
    let nobody = |enemies: Query<&Enemy>| assert!(enemies.is_empty());
    world.run_system_once(nobody).expect("a system that runs");
    let registered = world.register_system(nobody);
    world.run_system(registered).expect("a system that runs");
    let removed = world.unregister_system(registered);
    removed.expect("a system that was registered");
    update::<Mode>(world);
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("bevy_levels", game, level),
        Scenario::with_state("bevy_levels_beside", mode, level_beside),
        Scenario::with_state("bevy_enemies", mode, enemy),
        Scenario::with_state("bevy_systems", mode, systems),
    ]
}
