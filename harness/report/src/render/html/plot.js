// The plots of one scenario: their iterations are on a linear scale, as they were
// drawn, or on a logarithmic one, on which each doubling is as wide.

function plotScale(section) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'scale';
  button.textContent = 'Logarithmic scale';
  const show = isLog => {
    button.setAttribute('aria-pressed', String(isLog));
    section.classList.toggle('log', isLog);
    for (const plot of section.querySelectorAll('svg.plot')) placePlot(plot, isLog);
  };
  button.addEventListener('click', () => show(button.getAttribute('aria-pressed') !== 'true'));
  button.setAttribute('aria-pressed', 'false');
  section.querySelector('h3').after(button);
}

function placePlot(plot, isLog) {
  const rungs = plot.dataset.rungs.split(' ').map(Number);
  const first = Math.max(1, Math.min(...rungs));
  const last = Math.max(1, ...rungs);
  const octaves = Math.log2(last / first) || 1;
  const place = at => {
    const part = isLog ? Math.log2(Math.max(at, 1) / first) / octaves : at / last;
    return Math.min(1, Math.max(0, part));
  };
  for (const line of plot.querySelectorAll('.line')) {
    [...line.points].forEach((point, at) => { point.x = 1000 * place(rungs[at]); });
  }
  const ticks = rungs.map(at => `M${(1000 * place(at)).toFixed(1)} 0V4`);
  plot.querySelector('.rungs').setAttribute('d', ticks.join(''));
  for (const mark of plot.querySelectorAll('[data-at]')) {
    const x = `${(100 * place(Number(mark.dataset.at))).toFixed(2)}%`;
    const names = { circle: ['cx'], line: ['x1', 'x2'] }[mark.localName] || ['x'];
    for (const name of names) mark.setAttribute(name, x);
  }
}
