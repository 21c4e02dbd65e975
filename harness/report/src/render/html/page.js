'use strict';
// The scenarios' table: search, filter, sort, fold. What the markup can do alone
// it does; all text goes in as text.

document.documentElement.classList.add('js');
showTheme(storedTheme());
document.addEventListener('DOMContentLoaded', start);

function start() {
  const table = document.querySelector('table.scenarios');
  const scenarios = [...table.tBodies].map(scenario);
  for (const one of scenarios) {
    one.button.addEventListener('click', () => toggle(one, !one.open));
    one.row.addEventListener('click', event => {
      const elsewhere = !event.target.closest('button, a');
      if (elsewhere && !getSelection().toString()) toggle(one, !one.open);
    });
  }
  sorting(table, scenarios);
  filtering(scenarios);
  themes();
  const follow = () => goTo(scenarios, location.hash);
  addEventListener('hashchange', follow);
  if (location.hash.length > 1) follow();
  else if (scenarios.length === 1) unfold(scenarios[0], true);
  else for (const one of scenarios) if ('open' in one.body.dataset) unfold(one, true);
}

// The parts of one scenario; its link becomes the button that folds it.
function scenario(body, index) {
  const [row, detail] = body.rows;
  const link = row.querySelector('a.name');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'name';
  button.textContent = link.textContent;
  button.setAttribute('aria-expanded', 'false');
  button.setAttribute('aria-controls', detail.id);
  link.replaceWith(button);
  return {
    index, body, row, detail, button,
    open: false,
    drawn: false,
    name: button.textContent,
    verdict: Number(body.dataset.verdict),
    rate: Number(body.dataset.rate),
    level: Number(body.dataset.level),
  };
}

function toggle(one, open) {
  unfold(one, open);
  // A folder opened from disk may not have an address to change.
  try {
    history.replaceState(null, '', open ? '#' + one.body.id : location.pathname + location.search);
  } catch { /* the page works without */ }
}

function unfold(one, open) {
  one.open = open;
  one.body.classList.toggle('open', open);
  one.button.setAttribute('aria-expanded', String(open));
  if (open && !one.drawn) {
    one.drawn = true;
    for (const host of one.detail.querySelectorAll('.graph')) flameGraph(host, one.name);
    for (const section of one.detail.querySelectorAll('.levels')) plotScale(section);
  }
}

function goTo(scenarios, hash) {
  let id = hash.slice(1);
  try { id = decodeURIComponent(id); } catch { /* taken as it stands */ }
  const one = scenarios.find(one => one.body.id === id);
  if (!one) return;
  one.body.hidden = false;
  unfold(one, true);
  one.body.scrollIntoView({ block: 'start' });
  one.button.focus({ preventScroll: true });
}

function sorting(table, scenarios) {
  const heads = [...table.querySelectorAll('th[data-sort]')];
  for (const head of heads) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const key = head.dataset.sort;
      // Numbers begin with the greatest, names with the first.
      const first = key === 'name' ? 'ascending' : 'descending';
      const second = key === 'name' ? 'descending' : 'ascending';
      const order = head.getAttribute('aria-sort') === first ? second : first;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', order);
      const sign = order === 'ascending' ? 1 : -1;
      const sorted = [...scenarios].sort((a, b) => {
        const by = a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0;
        return sign * by || a.index - b.index;
      });
      table.append(...sorted.map(one => one.body));
    });
  }
}

function filtering(scenarios) {
  const search = document.getElementById('~search');
  const shown = document.getElementById('~shown');
  const none = document.getElementById('~none');
  const filters = [...document.querySelectorAll('button.filter')];
  const wanted = new Set();
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(word => word);
    let count = 0;
    for (const one of scenarios) {
      const fits = (wanted.size === 0 || wanted.has(one.verdict))
        && words.every(word => haystack(one).includes(word));
      one.body.hidden = !fits;
      if (fits) count += 1;
    }
    shown.textContent = count === scenarios.length
      ? '' : `${count} of ${scenarios.length} ${scenarios.length === 1 ? 'scenario' : 'scenarios'} shown`;
    none.hidden = count > 0 || scenarios.length === 0;
  };
  search.addEventListener('input', apply);
  search.addEventListener('keydown', event => {
    if (event.key === 'Escape' && search.value) {
      event.preventDefault();
      search.value = '';
      apply();
    }
  });
  for (const filter of filters) {
    const verdict = Number(filter.dataset.verdict);
    filter.addEventListener('click', () => {
      const on = !wanted.has(verdict);
      if (on) wanted.add(verdict); else wanted.delete(verdict);
      filter.setAttribute('aria-pressed', String(on));
      apply();
    });
  }
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, textarea, select')) return;
    event.preventDefault();
    const graph = event.target.closest('.graph');
    const field = graph ? graph.querySelector('input[type=search]') : search;
    field.focus();
    field.select();
  });
}

// What a scenario is found by: its row, and the functions of what was found.
function haystack(one) {
  if (one.hay === undefined) {
    const parts = [...one.row.querySelectorAll('.name, .place, .badge'), ...one.detail.querySelectorAll('.fn')];
    one.hay = parts.map(part => part.textContent).join('\n').toLowerCase();
  }
  return one.hay;
}

function themes() {
  const button = document.getElementById('~theme');
  const next = { system: 'light', light: 'dark', dark: 'system' };
  let theme = storedTheme();
  const label = () => { button.textContent = `Theme: ${theme}`; };
  label();
  button.addEventListener('click', () => {
    theme = next[theme];
    showTheme(theme);
    label();
    try { localStorage.setItem('plimsoll-theme', theme); } catch { /* not kept, then */ }
  });
}

function storedTheme() {
  try {
    const stored = localStorage.getItem('plimsoll-theme');
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

function showTheme(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
