// The flash as a map: panels of cells, of which the letters that the server sends say everything.
const map = (() => {
const $ = id => document.getElementById(id), STEP = {};
[...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].forEach((c, i) => STEP[c] = i);
const USE = { e: 'erased, ready to be written', o: 'being written', v: 'being cleaned', c: 'full',
  r: 'worn out (retired)' };
const STREAM = ['written by the host, or hot', 'moved by cleaning, or cold'];
const LABEL = 15, GAP = 8;
// Most blocks of a full drive hold much, so that the steps are finer there.
const CUTS = [13, 35, 50, 65, 75, 85, 95], SHADE = Array.from({ length: 64 }, (_, v) => CUTS.filter(c => v / .63 > c).length);
let M = null, by = 'valid', at = null, asked = 0, C = {}, G = null;
function theme() { for (const n of ['bg', 'dim', 'axis', 'rule', 'vict', 'front', 'erased', 'r-context']) C[n] = css(n);
  C.ramp = Array.from({ length: 8 }, (_, n) => css('h' + n));
  C.streams = ['r-read', 'r-cleaning', 'r-B', 'r-A', 'r-unit', 'r-E', 'r-C', 'r-D'].map(css) }
// How many panels beside each other, and how large a cell is: as large as the height allows.
function layout(width, most) { let best = null; const P = M.panels.length, n = Math.max(...M.panels.map(p => p[1]));
  for (let nx = 1; nx <= Math.min(P, 12); nx++) { const ny = Math.ceil(P / nx);
    for (let cell = 14; cell >= 1; cell -= .5) { const bx = Math.floor((width - GAP * (nx - 1)) / nx / cell);
      if (bx < 1) continue; const rows = Math.ceil(n / bx);
      const high = ny * (rows * cell + LABEL) + GAP * (ny - 1);
      if (high > most && cell > 1) continue;
      const bad = (P % nx ? 1 : 0) + Math.abs(nx - 4) / 100, good = cell - bad;
      if (!best || good > best.good) best = { good, nx, ny, bx, cell, rows, high };
      break } }
  best.wide = (width - GAP * (best.nx - 1)) / best.nx; return best }
const place = (g, p, q) => [(p % g.nx) * (g.wide + GAP) + (q % g.bx) * g.cell,
  Math.floor(p / g.nx) * (g.rows * g.cell + LABEL + GAP) + LABEL + Math.floor(q / g.bx) * g.cell];
function colour(i) { const use = M.used[i];
  if (use === 'r') return C.axis;
  if (by === 'streams') return M.streams[i] === '-' ? C['r-context'] : C.streams[STEP[M.streams[i]] % 8];
  if (by === 'erases') { const [least, most, step] = M.erases, span = Math.max(8, most - least + 1);
    return C.ramp[Math.min(7, Math.floor(8 * STEP[M.erased[i]] * step / span))] }
  return use === 'e' ? C.erased : C.ramp[SHADE[STEP[M.valid[i]]]] }
function draw() { if (!M) return; const canvas = $('map'), width = canvas.parentElement.clientWidth;
  if (width < 40) return; // the page is not laid out
  G = layout(width, Math.max(240, Math.min(340, width * .75)));
  const [x] = fit(canvas, Math.ceil(G.high)), rim = G.cell >= 6 ? 1 : G.cell >= 3 ? .5 : 0, side = G.cell - rim;
  x.font = '11px ' + FONT.slice(5); x.textBaseline = 'alphabetic'; let i = 0; const rings = [];
  M.panels.forEach(([name, cells], p) => { let cleans = false; const first = i;
    for (let q = 0; q < cells; q++, i++) { const [a, b] = place(G, p, q), use = M.used[i];
      x.fillStyle = colour(i); x.fillRect(a, b, side, side);
      if (use === 'e' && by !== 'erases' && side >= 4) { x.strokeStyle = C.rule; x.lineWidth = 1;
        x.strokeRect(a + .5, b + .5, side - 1, side - 1) }
      if (use === 'v') cleans = true;
      if (use === 'v' || use === 'o') rings.push([a, b, C[use === 'v' ? 'vict' : 'front']]) }
    const [a, b] = place(G, p, 0); x.fillStyle = C.dim; let words = name;
    if (x.measureText(words).width > G.wide) words = words.replace(/^\D+/, '') || words;
    if (cleans && x.measureText(words + ' · cleaning').width <= G.wide) words += ' · cleaning';
    x.fillText(words, a, b - 4, G.wide) });
  for (const [a, b, c] of rings.slice(0, 400)) ring(x, a, b, side, c);
  if (at !== null && document.activeElement === canvas) { let p = 0, q = at;
    while (q >= M.panels[p][1]) q -= M.panels[p++][1]; ring(x, ...place(G, p, q), side, css('link')) }
  const count = c => M.used.split(c).length - 1, each = M.blocks_per_cell;
  $('mapsay').textContent = each > 1 ? `${show(M.blocks, 'count')} blocks, ${each} to a cell`
    : `${show(count('e'), 'count')} erased, ${show(count('v'), 'count')} being cleaned`;
  $('map').setAttribute('aria-label', `Flash map of ${show(M.blocks, 'count')} blocks: ` + $('mapsay').textContent
    + '. Arrow keys read single cells.'); say() }
function ring(x, a, b, side, c) { x.lineWidth = 3.5; x.strokeStyle = C.bg; x.strokeRect(a - 1, b - 1, side + 2, side + 2);
  x.lineWidth = 1.75; x.strokeStyle = c; x.strokeRect(a - 1, b - 1, side + 2, side + 2) }
function key() { if (!M) return; const k = $('mapkey'); k.replaceChildren();
  const item = (style, words) => { const s = document.createElement('span'), i = document.createElement('i');
    Object.assign(i.style, style); s.append(i, words); k.append(s) };
  const ramp = (from, to) => { const s = document.createElement('span'), r = document.createElement('span');
    r.className = 'ramp'; C.ramp.forEach(c => { const i = document.createElement('i'); i.style.background = c; r.append(i) });
    s.append(from, r, to); k.append(s) };
  const [least, most] = M.erases;
  if (by === 'valid') { ramp('0', '100 % valid'); k.firstChild.title = 'steps at ' + CUTS.join(', ') + ' %' }
  else if (by === 'erases') ramp(String(least), Math.max(least + 7, most) + ' erasures');
  else { const found = [...new Set(M.streams)].sort().filter(c => c !== '-');
    found.forEach(c => item({ background: C.streams[STEP[c] % 8] }, STREAM[STEP[c]] || 'stream ' + STEP[c]));
    if (M.streams.includes('-')) item({ background: C['r-context'] }, 'unknown') }
  item({ border: '2px solid ' + C.front }, 'being written'); item({ border: '2px solid ' + C.vict }, 'being cleaned');
  if (by === 'valid') item({ background: C.erased, border: '1px solid ' + C.axis }, 'erased');
  if (M.used.includes('r')) item({ background: C.axis }, 'worn out') }
function say() { const line = $('block'); if (at === null || !M || at >= M.used.length) {
    line.textContent = 'Point at a block to read it.'; return }
  let p = 0, q = at; while (q >= M.panels[p][1]) q -= M.panels[p++][1];
  const erases = M.erases[0] + STEP[M.erased[at]] * M.erases[2], each = M.blocks_per_cell;
  const what = each > 1 ? `${each} blocks from ${q * each} on` : `Block ${q}`;
  const full = M.used[at] === 'e' ? '' : Math.round(STEP[M.valid[at]] / .63) + THIN + '% valid, ';
  line.textContent = `${what} of ${M.panels[p][0] || 'the drive'}: ${USE[M.used[at]]}, ${full}erased `
    + `${M.erases[2] > 1 ? 'about ' : ''}${erases} time${erases === 1 ? '' : 's'}.` }
function under(e) { if (!G) return null; const r = $('map').getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
  const px = Math.floor(x / (G.wide + GAP)), high = G.rows * G.cell + LABEL + GAP, py = Math.floor(y / high);
  const p = py * G.nx + px, a = Math.floor((x - px * (G.wide + GAP)) / G.cell), b = Math.floor((y - py * high - LABEL) / G.cell);
  if (px >= G.nx || p >= M.panels.length || a < 0 || a >= G.bx || b < 0 || b * G.bx + a >= M.panels[p][1]) return null;
  return M.panels.slice(0, p).reduce((sum, it) => sum + it[1], 0) + b * G.bx + a }
$('map').addEventListener('pointermove', e => { at = under(e); say() });
$('map').addEventListener('pointerleave', () => { if (document.activeElement !== $('map')) { at = null; say() } });
$('map').addEventListener('focus', () => { at = at || 0; draw() });
$('map').addEventListener('blur', () => { at = null; draw() });
$('map').addEventListener('keydown', e => { const d = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: G && -G.bx, ArrowDown: G && G.bx }[e.key];
  if (!d || !M) return; e.preventDefault(); at = Math.max(0, Math.min(M.used.length - 1, (at || 0) + d)); draw();
  $('live').textContent = $('block').textContent });
return { theme: () => { theme(); key(); draw() }, draw, by: v => { by = v === 'stream' ? 'streams' : v; key(); draw() },
  async news(ask) { const now = performance.now(); if (now - asked < (M && M.used.length > 5000 ? 900 : 230)) return; asked = now;
    const news = await ask('/map'); if (news.error) return; const first = !M || M.used.length !== news.used.length;
    const were = M && M.erases.join() + [...new Set(M.streams)]; M = news;
    if (first || were !== M.erases.join() + [...new Set(M.streams)]) { if (!C.ramp) theme(); key() } draw() } } })();
