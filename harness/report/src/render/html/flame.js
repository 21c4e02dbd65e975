// The flame graph's values: a tree of names for each of its three views. No DOM.

// More frames than that are cut in the middle: the ends say where a stack starts
// and what it allocates for.
const MOST_FRAMES = 500;

// `data` is what the page holds: names, and stacks of their numbers, root first,
// with bytes before, after, and per what `data.per` says.
function flameTree(data, view) {
  const root = node(null, '');
  if (view === 'growth') {
    const grew = child(root, 'grew');
    const shrank = child(root, 'shrank');
    for (const [frames, , , rate] of data.stacks) {
      if (rate !== 0) add(rate > 0 ? grew : shrank, names(data, frames), Math.abs(rate));
    }
    for (const tower of [grew, shrank]) {
      root.value += tower.value;
      if (tower.value === 0) root.children.delete(tower.name);
    }
    root.name = `growth per ${data.per}`;
  } else {
    for (const [frames, before, after] of data.stacks) {
      add(root, names(data, frames), view === 'before' ? before : after);
    }
    root.name = `live ${view}`;
  }
  root.per = data.per;
  arrange(root, view === 'growth');
  return root;
}

function node(parent, name) {
  return {
    name, parent, value: 0, children: new Map(), ordered: [],
    depth: parent ? parent.depth + 1 : 0, tower: parent ? parent.tower : '',
    x: 0, match: false, cell: null,
  };
}

function child(parent, name) {
  let found = parent.children.get(name);
  if (!found) {
    found = node(parent, name);
    parent.children.set(name, found);
  }
  return found;
}

function names(data, frames) {
  let all = frames.map(number => data.names[number]);
  if (all.length > MOST_FRAMES) {
    const start = MOST_FRAMES / 5;
    all = [...all.slice(0, start), '[…]', ...all.slice(all.length - MOST_FRAMES + start + 1)];
  }
  return all;
}

function add(top, names, value) {
  if (value === 0) return;
  top.value += value;
  let at = top;
  for (const name of names) {
    at = child(at, name);
    at.value += value;
  }
}

// Puts every node's children side by side, from `x` on, by name; the towers in
// their own order. A loop, because a stack is as deep as its author wants.
function arrange(root, towers) {
  const todo = [root];
  while (todo.length > 0) {
    const at = todo.pop();
    at.ordered = [...at.children.values()];
    const isRoot = at === root;
    if (!(isRoot && towers)) at.ordered.sort((a, b) => (a.name < b.name ? -1 : 1));
    let x = at.x;
    for (const next of at.ordered) {
      if (isRoot && towers) next.tower = next.name;
      else next.tower = at.tower;
      next.x = x;
      x += next.value;
      todo.push(next);
    }
  }
}

// Marks what matches and says how much of `top` is in matching frames: a frame
// that stands on another is not counted again.
function flameSearch(root, top, text) {
  const wanted = text.trim().toLowerCase();
  let frames = 0;
  let value = 0;
  const todo = [[root, false, false]];
  while (todo.length > 0) {
    const [at, inside, counted] = todo.pop();
    at.match = wanted !== '' && at.parent !== null && at.name.toLowerCase().includes(wanted);
    const within = inside || at === top;
    if (at.match && within) {
      frames += 1;
      if (!counted) value += at.value;
    }
    for (const next of at.ordered) todo.push([next, within, counted || (at.match && within)]);
  }
  return { frames, value };
}

// As the rest of the page says it: three digits.
function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  while (Math.abs(value) >= 1023.5 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  const size = Math.abs(value);
  let decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  for (let small = size; small > 0 && small < 0.0995 && decimals < 12; small *= 10) decimals += 1;
  let text = value.toFixed(decimals);
  if (text.includes('.')) text = text.replace(/\.?0+$/, '');
  const [whole, fraction] = text.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${fraction === undefined ? grouped : `${grouped}.${fraction}`} ${units[unit]}`;
}

// FNV-1a, 32 bits: a name has the same shade in every picture.
function shade(name) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
