(() => {
const $ = id => document.getElementById(id), KEY = location.hash.slice(1);
const el = (tag, parent, props = {}) => { const e = Object.assign(document.createElement(tag), props);
  parent && parent.append(e); return e };
const dark = matchMedia('(prefers-color-scheme: dark)');
const S = { points: [], at: {}, about: null, said: null, span: 60, paused: false, cross: null,
  now: 0, since: -1, clockAt: 0, failures: 0, was: '' };

// ---- the strips
const RATE = { read: 'r-read', write: 'r-write', trim: 'r-trim', flush: 'r-flush' };
const BY = [['p999', 'p99.9', 'r-p999'], ['p99', 'p99', 'r-p99'], ['p50', 'p50', 'r-p50']];
const STRIPS = [
  { id: 'requests', name: 'Requests', under: 'per second, by kind', unit: 'rate', height: 120, least: 10,
    nothing: 'no requests', lines: Object.keys(RATE).map(k =>
      ({ of: k, name: k === 'flush' ? 'flushes' : k + 's', colour: RATE[k], fill: k === 'read' || k === 'write' })) },
  { id: 'latency', name: 'Latency', under: 'as clients see it; dotted: the model', unit: 'time', log: true,
    height: 200, nothing: 'no requests', lines: [...BY.map(([p, , c]) =>
      ({ of: 'model_' + p, colour: c, dash: [2, 3], quiet: true })), ...BY.map(([p, n, c]) =>
      ({ of: 'measured_' + p, name: n, colour: c, model: 'model_' + p }))] },
  { id: 'late', name: 'Late', under: 'share of requests over 5 % slower than in the model; limit 1 %',
    unit: 'share', height: 52, least: .02, ref: .01, nothing: 'no requests',
    lines: [{ of: 'late', name: 'late', colour: 'fail', fill: true }] },
  { id: 'bytes', name: 'Throughput', under: 'bytes per second', unit: 'bytes', height: 84, least: 1e5,
    nothing: 'no requests', lines: ['read', 'write'].map(k =>
      ({ of: k + '_bytes', name: k + 's', colour: RATE[k], fill: true })) },
  { id: 'wa', name: 'Write amplification', under: 'bytes programmed per byte written', unit: 'ratio',
    height: 84, least: 2, ref: 1, flash: true, nothing: 'no writes',
    lines: [{ of: 'amplification', name: 'now', colour: 'r-cell' }] },
  { id: 'free', name: 'Free blocks', under: 'erased, ready to be written', unit: 'count', height: 76,
    least: 8, flash: true, nothing: 'no data yet',
    lines: [{ of: 'free_blocks', name: 'free', colour: 'fg' }] } ];
function buildStrips() {
  const has = S.about.flash; $('strips').replaceChildren();
  const kept = STRIPS.filter(s => !s.flash || has);
  kept.forEach((s, n) => { s.last = n === kept.length - 1;
    if (s.id === 'free') { s.ref = has.blocks_kept_erased || 0;
      s.under = 'erased, of ' + show(has.blocks, 'count') + '; cleaning starts at ' + show(s.ref, 'count') }
    const f = el('figure', $('strips'), { className: 'strip', tabIndex: 0 });
    f.style.margin = '0 0 12px'; f.setAttribute('role', 'group'); s.figure = f;
    const c = el('figcaption', f, { textContent: s.name }); el('span', c, { textContent: s.under });
    const row = el('div', f); s.canvas = el('canvas', el('div', row));
    s.canvas.setAttribute('role', 'img'); s.vals = el('ul', row, { className: 'vals' });
    s.rows = s.lines.filter(l => !l.quiet).map(l => { const li = el('li', s.vals);
      const i = el('i', li); i.style.background = `var(--${l.colour})`;
      el('span', li, { textContent: l.name }); const b = el('b', li, { textContent: NONE });
      return { li, b, line: l, em: l.model ? el('em', li) : null } });
    f.addEventListener('pointermove', e => cross(s, e.clientX));
    f.addEventListener('pointerleave', () => { S.cross = null; draw() });
    f.addEventListener('keydown', e => { const d = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (!d) return; e.preventDefault(); e.stopPropagation();
      S.cross = Math.min(S.now, Math.max(S.now - S.span, (S.cross === null ? S.now : S.cross) + d * S.span / 60));
      draw(); tell(s) }) });
  theme() }
function cross(s, x) { const r = s.canvas.getBoundingClientRect(), w = r.width - LEFT - 1;
  const t = S.now - S.span * (1 - (x - r.left - LEFT) / w);
  S.cross = t < S.now - S.span || t > S.now ? null : t; draw() }
function theme() { const names = ['grid', 'rule', 'axis', 'dim', 'fg', 'fail', 'r-cell', ...BY.map(it => it[2]),
  ...Object.values(RATE)]; const C = Object.fromEntries(names.map(n => [n, css(n)]));
  STRIPS.forEach(s => s.colours = C); map.theme() }
function nearest(t) { let best = null; for (const p of S.points)
  if (best === null || Math.abs(p[S.at.t] - t) < Math.abs(best[S.at.t] - t)) best = p;
  return best && Math.abs(best[S.at.t] - t) < 2.5 ? best : null }
const shown = () => S.cross === null ? S.points[S.points.length - 1] : nearest(S.cross);
function draw() { if (!S.about) return; const p = shown();
  for (const s of STRIPS) { if (!s.canvas) continue;
    for (const l of s.lines) l.idle = s.id === 'requests' && !l.fill && !S.points.some(q => q[S.at[l.of]]);
    drawStrip(s, S.points, S.at, S.now, S.span, S.cross);
    for (const r of s.rows) { const v = p ? p[S.at[r.line.of]] : null;
      r.li.style.display = r.line.idle ? 'none' : ''; r.b.textContent = show(v, s.unit);
      if (r.em) { const m = p ? p[S.at[r.line.model]] : null; r.em.textContent = 'model ' + show(m, s.unit) } }
    const words = s.rows.filter(r => r.li.style.display !== 'none').map(r => r.line.name + ' ' + r.b.textContent);
    s.canvas.setAttribute('aria-label', `${s.name}, ${s.under}: ${words.join(', ')}`) } }
const tell = s => { const t = S.cross === null ? 'now' : show(Math.max(0, S.now - S.cross), 'time') + ' ago';
  $('live').textContent = t + ': ' + s.canvas.getAttribute('aria-label') };

// ---- the sentence and the figures
function verdict() { const d = S.said, p = S.points[S.points.length - 1], v = n => p && p[S.at[n]];
  const total = Object.values(d.requests).reduce((a, b) => a + b, 0);
  const rate = ['read', 'write', 'trim', 'flush'].reduce((a, k) => a + (v(k) || 0), 0);
  let say; const why = [];
  if (!total) { say = 'No requests yet.'; why.push('Clients connect to ' + S.about.uri) }
  else if (!rate) { say = 'No requests now.'; why.push(show(total, 'count') + ' requests have completed.') }
  else { const q = v('measured_p99') !== null ? ['p99', 'The p99 latency'] : ['p50', 'The median latency'];
    const clientHas = v('measured_' + q[0]), model = v('model_' + q[0]);
    if (clientHas === null) say = show(rate, 'rate') + ' are too few for latency percentiles.';
    else { const half = v('measured_p50'), is = (a, b) => Math.abs(a / b - 1) <= .05;
      say = `${q[1]} is ${show(clientHas, 'time')}`;
      if (!is(clientHas, model)) say += `, and ${show(model, 'time')} in the model.`;
      else if (!is(half, v('model_p50'))) say += ', as in the model; the median is '
        + `${show(half, 'time')}, and ${show(v('model_p50'), 'time')} in the model.`;
      else say += ', as in the model.' }
    const wa = v('amplification'), m50 = v('model_p50'), m99 = v('model_p99');
    if (wa > 2) why.push(`${show(1 - 1 / wa, 'share')} of the programmed pages are moved by cleaning.`);
    if (m99 && m99 > 10 * m50) why.push(`p99 is ${sig(m99 / m50)} times the median.`) }
  if (d.timing.verdict === 'invalid' && total && d.timing.reason) why.push('The timings so far are not valid: ' + d.timing.reason + '.');
  if ($('say').textContent !== say) $('say').textContent = say;
  const said = why.join(' '); if ($('why').textContent !== said) $('why').textContent = said }
const FIGURES = [['Requests', 'rate', v => ['read', 'write', 'trim', 'flush'].reduce((a, k) => a + (v(k) || 0), 0),
    v => parts.rate(v('read') || 0)[0] + ' read, ' + parts.rate(v('write') || 0)[0] + ' written'],
  ['Throughput', 'bytes', v => (v('read_bytes') || 0) + (v('write_bytes') || 0),
    v => show(v('read_bytes') || 0, 'bytes') + ' read'],
  ['Median latency', 'time', v => v('measured_p50'), v => 'model ' + show(v('model_p50'), 'time')],
  ['p99 latency', 'time', v => v('measured_p99'), v => 'model ' + show(v('model_p99'), 'time')],
  ['Write amplification', 'ratio', v => v('amplification'), () => { const f = S.said.flash;
    return f && f.host_bytes_written ? show(f.bytes_programmed / f.host_bytes_written, 'ratio') + ' since the start' : 'no writes' }],
  ['Free blocks', 'count', v => v('free_blocks'), v => v('erased') ? show(v('erased'), 'rate') + ' erased'
    : 'of ' + show(S.about.flash.blocks, 'count')],
  ['Late', 'share', v => v('late'), () => show(S.said.timing.requests ? S.said.timing.late / Math.max(1,
    S.said.timing.requests - S.said.timing.below_overhead) : null, 'share') + ' since the start'],
  ['Completed', 'count', () => Object.values(S.said.requests).reduce((a, b) => a + b, 0),
    () => show(S.said.failed, 'count') + ' failed'] ];
function figures() { const p = S.points[S.points.length - 1], v = n => p ? p[S.at[n]] : null;
  const rows = S.about.flash ? FIGURES.slice(0, 6) : [...FIGURES.slice(0, 4), ...FIGURES.slice(6)];
  const list = $('figures'); while (list.children.length < rows.length) {
    const li = el('li', list); el('span', li); el('b', li); el('em', li) }
  rows.forEach(([name, unit, of, than], n) => { const [a, b, c] = list.children[n].children, value = of(v);
    const [num, u] = value === null || value === undefined ? [NONE, ''] : parts[unit](value);
    a.textContent = name; b.replaceChildren(num); if (u) el('small', b, { textContent: (u === '/s' ? '' : THIN) + u });
    c.textContent = c.title = than(v) }) }
function force() { const now = S.said.in_force.map(plain), said = now.join('|') || 'none'; if (force.was === said) return;
  force.was = said; $('force').replaceChildren();
  if (!now.length) $('force').textContent = 'No fault is active.';
  now.forEach(o => el('b', $('force'), { textContent: o })) }

// ---- orders: a row each; {name} stands for a field
const ORDERS = [
  ['Slow', 'slow {x}', [['x', 'times slower', 5]], 'Slow down'],
  ['Latency', 'latency add {time} p={p}', [['time', 'more', '2ms'], ['p', 'share', 0.01]], 'Add', ['None', 'latency none']],
  ['Stall', 'stall {time}', [['time', 'no completions for', '500ms']], 'Stall'],
  ['Fail', 'fail {op} {range} {n}', [['op', '', ['read', 'write', 'trim', 'flush']], ['range', 'range', 'all'],
    ['n', 'times', 1]], 'Fail'],
  ['Writes', 'readonly', [], 'Refuse', ['Allow', 'readonly off'], 'writes and trims fail'],
  ['Power', 'cut off {time}', [['time', 'off for', '2s']], 'Cut', null, '', true],
  ['Age', 'age {n} writes', [['n', 'random page writes', 100000]], 'Age', ['Steady', 'age steady'], '', true, true],
  ['End of life', 'end-of-life', [], 'End', null, 'read-only, permanently', true],
  ['Drive', 'save', [], 'Save', ['Health', 'health'], 'save the state of the drive', false, true],
  ['All', 'reset', [], 'Reset', null, 'end all faults'] ];
function buildForms() { const box = $('forms'); box.replaceChildren(); box.disabled = !KEY; $('nokey').hidden = !!KEY;
  for (const [name, order, fields, word, more, hint, grave, flash] of ORDERS) { if (flash && !S.about.flash) continue;
    const f = el('form', box, { autocomplete: 'off' }); f.setAttribute('aria-label', name);
    el('span', f, { textContent: name }); const mid = el('div', f), end = el('div', f);
    for (const [key, label, value] of fields) { const l = el('label', mid, { textContent: label });
      if (Array.isArray(value)) { const s = el('select', l, { name: key }); s.setAttribute('aria-label', 'what');
        value.forEach(o => el('option', s, { textContent: o })) }
      else el('input', l, { name: key, value, required: true, spellcheck: false }) }
    if (hint) mid.append(hint);
    if (more) { const b = el('button', end, { type: 'button', textContent: more[0] });
      b.addEventListener('click', () => grave ? sure(b, () => give(more[1])) : give(more[1])) }
    const b = el('button', end, { textContent: word });
    f.addEventListener('submit', e => { e.preventDefault();
      const go = () => give(order.replace(/\{(\w+)\}/g, (_, k) => f.elements[k].value.trim()));
      grave ? sure(b, go) : go() }) } }
function sure(button, go) { if (button.was) { settle(button); return go() }
  button.was = button.textContent; button.textContent = 'Sure?'; button.classList.add('sure');
  button.timer = setTimeout(() => settle(button), 4000); $('live').textContent = 'Press again to confirm: ' + button.was }
function settle(button) { clearTimeout(button.timer); button.textContent = button.was; button.was = null;
  button.classList.remove('sure') }
const ask = async (path, options = {}) => { const r = await fetch(path, { cache: 'no-store', ...options });
  const said = await r.json(); if (!r.ok) throw Object.assign(new Error(said.error || r.statusText), { answered: true });
  return said };
async function give(line) { const row = note(line, 'asked'); let bad = false, text;
  try { const said = await ask('/order', { method: 'POST', body: JSON.stringify({ line }),
      headers: { 'Content-Type': 'application/json', 'X-Ssdlab-Key': KEY } });
    bad = 'error' in said; text = bad ? said.error : 'done' in said ? 'done' : Object.entries(said).map(
      ([k, v]) => k.replace(/_/g, ' ') + ' ' + (typeof v === 'number' ? sig(v) : Array.isArray(v) ? v.join(', ') || 'none' : v)).join(', ')
  } catch (e) { bad = true; text = e.answered ? e.message : 'the server has ended' }
  row.textContent = line + ': ' + text; row.className = bad ? 'bad' : ''; $('live').textContent = row.textContent; poll() }
function note(line, text) { $('log').hidden = false; const li = el('li'); $('log').prepend(li);
  el('time', li, { textContent: new Date().toTimeString().slice(0, 8) });
  while ($('log').children.length > 50) $('log').lastChild.remove();
  return el('span', li, { textContent: line + ': ' + text }) }

// ---- news
function link(is, words, banner = '') { $('link').dataset.is = is; $('link').lastChild.textContent = words;
  const old = is === 'ended'; document.body.classList.toggle('old', old);
  if ($('banner').textContent !== banner) { $('banner').replaceChildren(); $('banner').hidden = !banner;
    if (banner) { const [a, b] = banner.split('|'); el('b', $('banner'), { textContent: a }); $('banner').append(b) } } }
async function meet() { S.about = await ask('/about'); S.points = []; S.since = -1; force.was = null;
  S.at = Object.fromEntries(S.about.columns.map((n, i) => [n, i]));
  $('device').textContent = S.about.device + ', ' + size(S.about.size_bytes);
  document.title = 'ssdlab: ' + S.about.device; $('flash').hidden = !S.about.flash;
  buildStrips(); buildForms() }
async function poll() { if (poll.busy) return; poll.busy = true;
  try { if (!S.about) await meet();
    const d = await ask('/state?since=' + S.since);
    if (d.session !== S.about.session) { S.about = null; return }
    S.failures = 0; S.said = d; S.points.push(...d.points);
    while (S.points.length && S.points[0][S.at.t] < d.now - 600) S.points.shift();
    if (S.points.length) S.since = S.points[S.points.length - 1][S.at.t];
    const age = d.now - S.since;
    if (d.ended) link('ended', 'ended', 'The server has ended. |The page keeps the last figures.');
    else if (age > 2.5) link('busy', 'no answer for ' + Math.floor(age) + THIN + 's');
    else if (!S.paused) link('live', 'live');
    if (!S.paused) { S.now = d.now; $('clock').textContent = clock(d.now); draw(); figures(); verdict() }
    force(); if (S.about.flash && !S.paused) await map.news(ask)
  } catch (e) { S.failures += 1;
    if (e.answered && S.about) link('busy', e.message);
    else if (S.failures > 1) link('ended', 'ended', 'The server has ended. |'
      + (S.about ? 'The page keeps the last figures, and continues when the server is back.' : 'No server answers at this address.'))
    console.debug(e.message)
  } finally { poll.busy = false } }
const delay = () => document.hidden ? 2000 : S.failures > 1 ? 2000 : 250;
(async () => { for (;;) { if (!document.hidden || S.failures > 1) await poll();
  await new Promise(r => setTimeout(r, delay())) } })();

// ---- keys and buttons
const pick = (id, v) => $(id).querySelectorAll('button').forEach(b =>
  b.setAttribute('aria-pressed', b.dataset.v === String(v)));
const span = v => { S.span = v; pick('span', v); draw() };
const pause = v => { S.paused = v; $('pause').textContent = v ? 'Continue' : 'Pause'; $('pause').setAttribute('aria-pressed', v);
  if (v) { link('busy', 'paused'); $('live').textContent = 'Paused. ' + $('say').textContent } else poll() };
const by = v => { pick('by', v); map.by(v) };
$('span').onclick = e => e.target.dataset.v && span(+e.target.dataset.v);
$('by').onclick = e => e.target.dataset.v && by(e.target.dataset.v);
$('pause').onclick = () => pause(!S.paused);
addEventListener('keydown', e => { const tag = e.target.tagName;
  if (/INPUT|SELECT/.test(tag) || e.ctrlKey || e.metaKey || e.altKey) return; const k = e.key.toLowerCase();
  if (k === ' ' && tag !== 'BUTTON') pause(!S.paused);
  else if (k === 'escape') { S.cross = null; draw() }
  else if ('123'.includes(k)) span([60, 180, 600][k - 1]);
  else if ('ves'.includes(k)) by({ v: 'valid', e: 'erases', s: 'stream' }[k]);
  else return; e.preventDefault() });
addEventListener('resize', () => { draw(); map.draw() }); dark.addEventListener('change', () => { theme(); draw() });
document.addEventListener('visibilitychange', () => document.hidden || poll());
window.watching = S;
})();
