// The flame graph on the page, drawn when its scenario is first unfolded: root
// above, one tab stop, arrows to walk, Enter to zoom, Escape to reset.

const CELL_HEIGHT = 20;
let graphs = 0;

function flameGraph(host, scenario) {
  const data = JSON.parse(host.querySelector('script').textContent);
  const parts = graphParts(host, scenario);
  const state = { view: 'growth', root: null, zoom: null, focus: null, tip: null };
  const trees = new Map();

  const show = view => {
    if (!trees.has(view)) trees.set(view, flameTree(data, view));
    state.view = view;
    state.root = trees.get(view);
    state.zoom = state.root;
    state.focus = state.root;
    parts.total.textContent = totalWords(state);
    draw();
    tell(state.root);
  };
  const draw = () => {
    drawCells(parts.tree, state);
    parts.reset.disabled = state.zoom === state.root;
    const found = flameSearch(state.root, state.zoom, parts.search.value);
    markCells(state.root);
    parts.found.textContent = parts.search.value.trim() === '' ? ''
      : `${found.frames} ${found.frames === 1 ? 'frame matches' : 'frames match'}: `
        + `${share(found.value, state.zoom.value)} of what is shown`;
  };
  const tell = at => { parts.told.textContent = cellWords(state, at); };
  const focusOn = at => {
    if (state.focus && state.focus.cell) state.focus.cell.tabIndex = -1;
    state.focus = at;
    at.cell.tabIndex = 0;
    at.cell.focus();
    tell(at);
  };
  const zoom = at => {
    state.zoom = at;
    state.focus = at;
    draw();
    at.cell.focus();
    tell(at);
  };

  for (const radio of parts.views) radio.addEventListener('change', () => show(radio.value));
  parts.search.addEventListener('input', draw);
  parts.search.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    parts.search.value = '';
    draw();
  });
  parts.reset.addEventListener('click', () => zoom(state.root));
  parts.tree.addEventListener('click', event => {
    const cell = event.target.closest('.cell');
    if (cell) zoom(cell.node);
  });
  parts.tree.addEventListener('mouseover', event => {
    const cell = event.target.closest('.cell');
    if (cell) tell(cell.node);
  });
  parts.tree.addEventListener('mouseleave', () => tell(state.focus));
  parts.tree.addEventListener('keydown', event => {
    const at = state.focus;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const next = {
      ArrowDown: () => widest(at),
      ArrowUp: () => at.parent,
      ArrowLeft: () => beside(state, at, -1),
      ArrowRight: () => beside(state, at, 1),
      Home: () => state.root,
    }[event.key];
    if (next) {
      event.preventDefault();
      const found = next();
      if (found && found.cell) focusOn(found);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      zoom(at);
    } else if (event.key === 'Escape' && state.zoom !== state.root) {
      event.preventDefault();
      zoom(state.root);
    }
  });
  let width = 0;
  new ResizeObserver(() => {
    if (Math.round(parts.tree.clientWidth) === width) return;
    width = Math.round(parts.tree.clientWidth);
    // Drawing takes the focus with it.
    const had = parts.tree.contains(document.activeElement);
    draw();
    if (had && state.focus.cell) state.focus.cell.focus();
  }).observe(parts.tree);
  show('growth');
}

// The widest thing that stands on it and can be seen.
function widest(at) {
  const seen = at.ordered.filter(next => next.cell);
  return seen.reduce((best, next) => (best && best.value >= next.value ? best : next), null);
}

// The next cell of the same depth.
function beside(state, at, step) {
  const row = state.rows[at.depth] || [];
  return row[row.indexOf(at) + step];
}

function drawCells(tree, state) {
  const width = Math.max(tree.clientWidth, 1);
  const cells = document.createDocumentFragment();
  const { root, zoom } = state;
  for (const row of state.rows || []) for (const old of row) old.cell = null;
  state.rows = [];
  const place = (at, left, share) => {
    const cell = newCell(state, at, share * width);
    cell.style.top = `${at.depth * CELL_HEIGHT}px`;
    cell.style.left = `${left * 100}%`;
    cell.style.width = `${share * 100}%`;
    (state.rows[at.depth] ||= []).push(at);
    cells.append(cell);
  };
  const above = [];
  for (let at = zoom.parent; at; at = at.parent) above.unshift(at);
  for (const at of above) place(at, 0, 1);
  const todo = [zoom];
  while (todo.length > 0) {
    const at = todo.pop();
    const left = zoom.value > 0 ? (at.x - zoom.x) / zoom.value : 0;
    const part = zoom.value > 0 ? at.value / zoom.value : 1;
    // Thinner than a pixel: neither to be seen nor to be hit.
    if (part * width < 1 && at !== zoom) continue;
    place(at, left, part);
    for (let n = at.ordered.length - 1; n >= 0; n -= 1) todo.push(at.ordered[n]);
  }
  if (!state.focus.cell) state.focus = zoom;
  state.focus.cell.tabIndex = 0;
  tree.replaceChildren(cells);
  tree.style.height = `${state.rows.length * CELL_HEIGHT}px`;
}

function newCell(state, at, width) {
  const cell = document.createElement('div');
  const hash = shade(at.name);
  const kind = at.parent === null ? 'root' : at.tower || 'level';
  cell.className = `cell ${kind}`;
  if (at.depth < state.zoom.depth) cell.classList.add('above');
  const [hue, spread] = { grew: [6, 30], shrank: [208, 36], level: [160, 40], root: [0, 0] }[kind];
  if (kind !== 'root') {
    cell.style.setProperty('--hue', String(hue + hash % (spread + 1)));
    cell.style.setProperty('--light', `${70 + (hash >>> 8) % 11}%`);
  }
  cell.setAttribute('role', 'treeitem');
  cell.setAttribute('aria-level', String(at.depth + 1));
  cell.setAttribute('aria-label', cellWords(state, at));
  if (at === state.zoom && at !== state.root) cell.setAttribute('aria-selected', 'true');
  cell.tabIndex = -1;
  if (width > 24) cell.textContent = fitting(at.name, width);
  cell.node = at;
  at.cell = cell;
  return cell;
}

// All of a name, or its last two parts, which say most.
function fitting(name, width) {
  if (name.length * 6.8 <= width) return name;
  return name.split('::').slice(-2).join('::');
}

function markCells(root) {
  const todo = [root];
  while (todo.length > 0) {
    const at = todo.pop();
    // What is not drawn has nothing drawn on it, unless the zoom is further up.
    if (at.cell) at.cell.classList.toggle('match', at.match);
    todo.push(...at.ordered);
  }
}

function share(value, of) {
  if (of <= 0) return '0 %';
  const percent = 100 * value / of;
  return percent > 0 && percent < 0.1 ? 'less than 0.1 %' : `${percent.toFixed(1)} %`;
}

function cellWords(state, at) {
  const sign = at.tower === 'grew' ? '+' : at.tower === 'shrank' ? '-' : '';
  const amount = state.view === 'growth' ? `${sign}${bytes(at.value)} per ${state.root.per}` : bytes(at.value);
  if (at.parent === null) return totalWords(state);
  const of = state.view === 'growth' ? `of what ${at.tower}` : 'of all';
  const whole = state.view === 'growth' ? towerOf(at) : state.root;
  return `${at.name}: ${amount}, ${share(at.value, whole.value)} ${of}`;
}

function towerOf(at) {
  while (at.depth > 1) at = at.parent;
  return at;
}

function totalWords(state) {
  if (state.view !== 'growth') {
    return `${bytes(state.root.value)} live ${state.view} in the stacks that changed`;
  }
  const { children } = state.root;
  const parts = [];
  if (children.has('grew')) parts.push(`grew +${bytes(children.get('grew').value)}`);
  if (children.has('shrank')) parts.push(`shrank -${bytes(children.get('shrank').value)}`);
  return parts.length > 0 ? `${parts.join(', ')} per ${state.root.per}` : 'nothing grew and nothing shrank';
}

// The controls around the picture.
function graphParts(host, scenario) {
  graphs += 1;
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const views = ['growth', 'before', 'after'].map(value => make('input', {
    type: 'radio', name: `~view${graphs}`, value, checked: value === 'growth',
  }));
  const search = make('input', { type: 'search', autocomplete: 'off', spellcheck: false, placeholder: 'function' });
  const found = make('span', { className: 'found' });
  found.setAttribute('role', 'status');
  const reset = make('button', { type: 'button', className: 'reset', disabled: true }, 'Reset zoom');
  const total = make('p', { className: 'total' });
  total.setAttribute('role', 'status');
  const told = make('p', { className: 'told' });
  const tree = make('div', { className: 'cells' });
  tree.setAttribute('role', 'tree');
  tree.setAttribute('aria-label', `Flame graph of ${scenario}: arrows walk, Enter zooms, Escape resets`);
  host.append(
    make('div', { className: 'tools' },
      make('fieldset', { className: 'views' }, make('legend', {}, 'Show'),
        ...views.map(radio => make('label', {}, radio, ` ${radio.value}`))),
      make('label', { className: 'search' }, make('span', {}, 'Search'), ' ', search),
      reset, found),
    total,
    make('div', { className: 'frame' }, tree),
    told,
    make('p', { className: 'help quiet' }, 'Click or Enter zooms, Escape resets, arrows walk, / searches.'),
  );
  return { views, search, found, reset, total, told, tree };
}
