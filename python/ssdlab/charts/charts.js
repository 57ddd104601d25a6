(() => {'use strict';
document.documentElement.classList.add('js');
const all = (s, r = document) => [...r.querySelectorAll(s)];
const el = (tag, cls, parent) => { const e = document.createElement(tag); e.className = cls;
  parent.append(e); return e };
const text = (parent, tag, cls, said) => { const e = el(tag, cls, parent); e.textContent = said };
all('[data-curves]').forEach(area => {
  const D = JSON.parse(area.dataset.curves), n = D.at.length - 1, x = el('div', 'xh', area);
  const say = area.closest('figure, section').querySelector('.say');
  const idle = 'Hover over a percentile to read the curves; arrow keys work too.';
  say.textContent = idle; let at = null;
  const draw = () => { x.style.display = at === null ? 'none' : 'block'; say.textContent = '';
    if (at === null) { say.textContent = idle; return }
    x.style.left = 100 * at / n + '%';
    text(say, 'b', '', D.at[at] + '\u202f%'); say.append(' of the requests take at most ');
    D.curves.forEach(c => { if (c.v[at]) text(say, 'span', c.c, c.n + ' ' + c.v[at]) }) };
  const put = v => { at = v === null ? null : Math.max(0, Math.min(n, v)); draw() };
  area.addEventListener('pointermove', e => { const r = area.getBoundingClientRect();
    put(Math.round(n * (e.clientX - r.left) / r.width)) });
  area.addEventListener('pointerleave', () => put(null));
  area.addEventListener('keydown', e => { const k = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (k) put((at ?? Math.round(n / 2)) + k * (e.shiftKey ? 5 : 1));
    else if (e.key === 'Escape') put(null); else return; e.preventDefault() }) });
all('[data-strips]').forEach(box => {
  const end = +box.dataset.strips, strips = all('.strip', box);
  const say = box.querySelector(':scope > .say');
  const areas = strips.map(s => s.querySelector('.pa'));
  const right = strips.map(s => s.querySelector('.r'));
  const lines = areas.map(a => JSON.parse(a.dataset.lines)), resting = right.map(r => r.innerHTML);
  const hairs = areas.map(a => el('div', 'xh', a)), brushes = areas.map(a => el('div', 'brush', a));
  const least = Math.min(...lines.flat().map(l => l.d)), labels = box.querySelector('.xl');
  const marks = labels.innerHTML; let a = 0, b = end, at = null, down = null;
  const idle = 'Hover over a time to read all strips; drag to zoom; arrow keys, + and \u2212 '
    + 'work too.';
  const draw = () => { hairs.forEach(h => { h.style.display = at === null ? 'none' : 'block';
      h.style.left = 100 * (at - a) / (b - a) + '%' });
    right.forEach((r, k) => { if (at === null) { r.innerHTML = resting[k]; return }
      r.textContent = ''; lines[k].forEach(l => {
        text(r, 'b', l.c, l.v[Math.round((at - l.x) / l.d)] ?? '\u2013');
        r.append(l.n + ' ') }) });
    say.textContent = at !== null ? +at.toPrecision(4) + '\u202fs' : b - a < end ?
      `${+a.toPrecision(3)} to ${+b.toPrecision(3)}\u202fs; Esc shows all` : idle };
  const view = () => { const w = b - a;
    areas.forEach(p => p.querySelector('svg').setAttribute('viewBox',
      `${1000 * a / end} 0 ${1000 * w / end} 1000`));
    if (w >= end) labels.innerHTML = marks; else { labels.textContent = '';
      const ten = 10 ** Math.floor(Math.log10(w)), step = [.1, .2, .25, .5, 1, 2].map(s => s * ten)
        .find(s => w / s <= 5);
      for (let n = Math.ceil(a / step); n * step <= b; n++) {
        text(labels, 'span', '', +(n * step).toPrecision(6) + '\u202fs');
        labels.lastChild.style.left = 100 * (n * step - a) / w + '%' } } draw() };
  const whole = () => { a = 0; b = end; at = null; view() };
  const put = v => { at = Math.max(a, Math.min(b, v)); draw() };
  const zoom = f => { const w = Math.max(4 * least, Math.min(end, (b - a) * f));
    const c = at ?? (a + b) / 2;
    a = Math.max(0, Math.min(end - w, c - w / 2)); b = a + w; view() };
  areas.forEach(p => { const of = e => { const r = p.getBoundingClientRect();
      return a + (b - a) * Math.max(0, Math.min(1, (e.clientX - r.left) / r.width)) };
    p.addEventListener('pointermove', e => { put(of(e)); if (down !== null) brushes.forEach(z => {
      z.style.display = 'block'; z.style.left = 100 * (Math.min(down, at) - a) / (b - a) + '%';
      z.style.width = 100 * Math.abs(at - down) / (b - a) + '%' }) });
    p.addEventListener('pointerdown', e => { if (e.pointerType === 'mouse') { down = of(e);
      p.setPointerCapture(e.pointerId); e.preventDefault(); box.focus({ preventScroll: true }) } });
    p.addEventListener('pointerup', e => { brushes.forEach(z => z.style.display = 'none');
      if (down === null) return; const u = of(e), l = Math.min(down, u), h = Math.max(down, u);
      down = null; if (h - l > 2 * least) { a = l; b = h; at = null; view() } });
    p.addEventListener('pointerleave', () => { if (down === null) { at = null; draw() } });
    p.addEventListener('dblclick', whole) });
  box.addEventListener('keydown', e => { const k = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (k) put((at ?? (a + b) / 2) + k * least * (e.shiftKey ? 10 : 1));
    else if (e.key === '+' || e.key === '=') zoom(.5); else if (e.key === '-') zoom(2);
    else if (e.key === 'Escape') whole(); else return; e.preventDefault() });
  draw() });
})();