// Strips over time, on a canvas each; the axis of a strip changes by whole steps only.
const css = n => getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim();
const FONT = '12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif';
const LEFT = 64, PAD = 7;
const steps = top => { const e = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 2.5, 5, 10].map(m => m * e).find(v => v >= top * (1 - 1e-9)) };
// The top of an axis from 0: up at once, down when less than a third is used.
function topOf(strip, most) {
  const want = steps(Math.max(most * 1.04, strip.least)), now = strip.top;
  if (!now || want > now || want < now / 2.9) strip.top = want;
  return strip.top }
function decades(strip, low, high) { // of latency, from and to, whole powers of ten
  let [a, b] = strip.range || [];
  if (low === Infinity) [low, high] = [1e-4, 1e-2];
  const lo = Math.floor(Math.log10(low) + 1e-9), hi = Math.max(lo + 1, Math.ceil(Math.log10(high) - 1e-9));
  if (a === undefined || lo < a || lo > a + 1) a = lo;
  if (b === undefined || hi > b || hi < b - 1) b = hi;
  return strip.range = [a, b] }
function fit(canvas, height) {
  const r = Math.min(3, devicePixelRatio || 1), w = canvas.parentElement.clientWidth;
  const width = canvas.clientWidth || w;
  if (canvas.w !== width || canvas.h !== height || canvas.r !== r) {
    Object.assign(canvas, { w: width, h: height, r }); canvas.width = width * r;
    canvas.height = height * r; canvas.style.height = height + 'px' }
  const x = canvas.getContext('2d'); x.setTransform(r, 0, 0, r, 0, 0); x.clearRect(0, 0, width, height);
  return [x, width] }
function drawStrip(strip, points, at, now, span, cross) {
  const foot = strip.last ? 20 : 2, H = strip.height, [x, W] = fit(strip.canvas, H + PAD * 2 + foot);
  const seen = points.filter(p => p[at.t] >= now - span), C = strip.colours;
  let low = Infinity, high = 0;
  for (const s of strip.lines) for (const p of seen) { const v = p[at[s.of]];
    if (v > 0) { low = Math.min(low, v); high = Math.max(high, v) } }
  let Y, marks;
  if (strip.log) { const [a, b] = decades(strip, low, high);
    Y = v => PAD + H * (1 - (Math.log10(Math.max(v, 1e-12)) - a) / (b - a));
    const by = b - a > 4 ? 2 : 1;
    marks = []; for (let k = a; k <= b; k += by) marks.push(10 ** k)
  } else { const top = topOf(strip, Math.max(high, strip.ref ? strip.ref * 1.15 : 0));
    Y = v => PAD + H * (1 - v / top); marks = [0, top] }
  const right = W - 1, X = t => LEFT + (right - LEFT) * (1 - (now - t) / span);
  x.font = FONT; x.lineWidth = 1; x.textBaseline = 'middle'; x.textAlign = 'right';
  for (const v of marks) { const y = Math.round(Y(v)) + .5;
    x.strokeStyle = v || strip.log ? C.grid : C.rule; x.beginPath(); x.moveTo(LEFT, y);
    x.lineTo(right, y); x.stroke(); x.fillStyle = C.dim; x.fillText(mark(v, strip.unit), LEFT - 8, y) }
  if (strip.ref && Y(strip.ref) > PAD) { const y = Math.round(Y(strip.ref)) + .5;
    x.strokeStyle = C.axis; x.setLineDash([2, 3]); x.beginPath(); x.moveTo(LEFT, y); x.lineTo(right, y);
    x.stroke(); x.setLineDash([]); x.fillStyle = C.dim; x.textAlign = 'right';
    if (Math.abs(y - Y(marks[0])) > 12 && Math.abs(y - Y(marks[marks.length - 1])) > 11)
      x.fillText(mark(strip.ref, strip.unit), LEFT - 8, y) }
  x.save(); x.beginPath(); x.rect(LEFT, 0, right - LEFT + 1, H + PAD * 2); x.clip(); x.lineJoin = 'round';
  for (const s of strip.lines.filter(it => !it.idle)) { x.beginPath(); let pen = false, first = null, last = null;
    for (const p of seen) { const v = p[at[s.of]];
      if (v === null || v === undefined || strip.log && v <= 0) { pen = false; continue }
      const px = X(p[at.t]), py = Y(v); pen ? x.lineTo(px, py) : x.moveTo(px, py);
      if (first === null) first = px; last = px; pen = true }
    if (first === null) continue;
    x.strokeStyle = C[s.colour]; x.lineWidth = s.dash ? 1.25 : 1.75; x.setLineDash(s.dash || []);
    x.stroke(); x.setLineDash([]);
    if (s.fill) { x.lineTo(last, Y(0)); x.lineTo(first, Y(0)); x.closePath(); x.globalAlpha = .08;
      x.fillStyle = C[s.colour]; x.fill(); x.globalAlpha = 1 } }
  x.restore();
  if (cross !== null) { const px = Math.round(X(cross)) + .5; x.strokeStyle = C.fg; x.lineWidth = 1;
    x.beginPath(); x.moveTo(px, 0); x.lineTo(px, H + PAD * 2); x.stroke() }
  if (!seen.some(p => strip.lines.some(s => p[at[s.of]] !== null))) { x.fillStyle = C.dim;
    x.textAlign = 'center'; x.fillText(strip.nothing, (LEFT + right) / 2, PAD + H / 2) }
  if (strip.last) { x.fillStyle = C.dim; x.textBaseline = 'alphabetic'; const y = H + PAD * 2 + 13;
    const n = W < 420 ? 2 : { 60: 4, 180: 3 }[span] || 5; for (let k = 0; k <= n; k++) { const t = span * (1 - k / n);
      x.textAlign = k === 0 ? 'left' : k === n ? 'right' : 'center';
      x.fillText(t ? '−' + (t >= 60 ? +(t / 60).toFixed(2) + ' min' : t + ' s') : 'now', X(now - t), y) } } }
