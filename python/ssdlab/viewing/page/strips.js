// The strips over time: latency, write amplification, erased blocks. One x axis for all, whose right end is now.

/** Frames that the strips reach back. */
const REACH = 300;
/** Frames over which rates and amplification are taken. */
const RECENT = 90;
/** Which of the figures that the engine follows is which. */
const HOST_PAGES = 0, PROGRAMS = 2, ERASES = 4;
const OPS = ['read', 'write', 'trim', 'flush'];

/** What the strips of a drive show, from the frames up to now. */
function samples(history, drive) {
  const first = Math.max(0, history.at - REACH + 1), found = [];
  for (let k = first; k <= history.at; k++) {
    // Worked out once for each frame.
    found.push(history.frames[k][drive].sample ??= sample(history, drive, k));
  }
  return found;
}

function sample(history, drive, k) {
  const { t, p, r, f, free } = history.frames[k][drive].head, from = history.frames[Math.max(0, k - RECENT)][drive].head;
  const pages = f && from.f ? f[HOST_PAGES] - from.f[HOST_PAGES] : 0;
  const all = [...p, ...r.map(request => request[4])].filter(ns => ns > 0);
  const slowest = r.reduce((a, b) => b[4] > a[4] ? b : a, [0, 0, 0, 0, 0]);
  return { t, p, r, free, slowest, least: Math.min(...all), most: Math.max(...all), wa: pages > 20 ? (f[PROGRAMS] - from.f[PROGRAMS]) / pages : null };
}

/** Requests a second of the last frames. */
function rate(history, drive) {
  const first = Math.max(0, history.at - RECENT);
  let sum = 0;
  for (let k = first + 1; k <= history.at; k++) sum += history.frames[k][drive].head.n.reduce((a, b) => a + b, 0);
  const span = history.time(history.at) - history.time(first);
  return span > 0 ? sum / (span / 1e9) : null;
}

/** A canvas of the width of its box, ready to be drawn on. */
function surface(canvas, height) {
  const ratio = Math.min(2, devicePixelRatio || 1), width = canvas.parentElement.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11.5px system-ui, sans-serif';
  return [context, width];
}

/** The frame of a strip: marks at the left, a scale for x and y. */
function strip(canvas, height, span, y, marks, bottom) {
  const [context, width] = surface(canvas, height), left = 52, right = 56, top = 8, under = bottom ? 18 : 6;
  const high = height - top - under, plot = { context, width, left, right: width - right, top, high };
  plot.x = t => left + (width - left - right) * (1 + t / span);
  plot.y = value => top + high * (1 - clip(y(value), 0, 1));
  context.textBaseline = 'middle'; context.textAlign = 'right'; context.lineWidth = 1;
  for (const [value, words] of marks) {
    const at = Math.round(plot.y(value)) + .5;
    context.strokeStyle = colours.grid;
    context.beginPath(); context.moveTo(left, at); context.lineTo(width - right, at); context.stroke();
    context.fillStyle = colours.dim; context.fillText(words, left - 7, at);
  }
  if (bottom) {
    context.textBaseline = 'alphabetic'; context.fillStyle = colours.dim;
    context.textAlign = 'left'; context.fillText(`−${time(span)}`, left, height - 3);
    context.textAlign = 'right'; context.fillText('now', width - right, height - 3);
  }
  return plot;
}

function line(plot, points, value, colour, dash = [], width = 1.75) {
  const { context } = plot;
  context.strokeStyle = colour; context.lineWidth = width; context.setLineDash(dash); context.lineJoin = 'round';
  context.beginPath();
  let on = false, last = null;
  for (const point of points) {
    const v = value(point);
    if (v == null) { on = false; continue; }
    const x = plot.x(point.x), y = plot.y(v);
    if (on) context.lineTo(x, y); else context.moveTo(x, y);
    on = true; last = y;
  }
  context.stroke(); context.setLineDash([]);
  return last;
}

/** Words at the right end of lines, which keep off each other. */
function ends(plot, list) {
  const { context } = plot;
  context.textAlign = 'left'; context.textBaseline = 'middle';
  let below = plot.top + plot.high + 6;
  for (const [at, words, colour] of list.filter(it => it[0] != null).sort((a, b) => b[0] - a[0])) {
    below = Math.min(at, below - 13);
    context.fillStyle = colour; context.fillText(words, plot.right + 7, Math.max(7, below));
  }
}

/** A reference that is dotted and named in place. */
function reference(plot, value) {
  const { context } = plot, at = Math.round(plot.y(value)) + .5;
  context.strokeStyle = colours.dim; context.lineWidth = 1; context.setLineDash([2, 3]);
  context.beginPath(); context.moveTo(plot.left, at); context.lineTo(plot.right, at); context.stroke(); context.setLineDash([]);
}

/** A top for an axis from 0: 1, 2, 2.5 or 5 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 2, 2.5, 5, 10].map(it => it * power).find(it => it >= value * .999);
}

/** The scales that all drives share; they change by whole steps, and seldom back. */
class Scales {
  constructor() { this.reset(); }
  reset() { this.low = null; this.high = null; this.amplification = 4; this.free = 1; this.age = 0; }

  fit(all) {
    let least = Infinity, most = 0, amplification = 2, free = 1;
    for (const sample of all.flat()) {
      if (sample.least < least) least = sample.least;
      if (sample.most > most) most = sample.most;
      if (sample.wa > amplification) amplification = sample.wa;
      if (sample.free > free) free = sample.free;
    }
    if (most > 0) {
      const low = Math.floor(Math.log10(least)), high = Math.max(low + 2, Math.ceil(Math.log10(most) + 1e-9));
      this.low = this.low == null ? low : Math.min(this.low, low);
      this.high = this.high == null ? high : Math.max(this.high, high);
      // What is far from all that is seen is given back now and then.
      if (++this.age % 600 === 0) [this.low, this.high] = [low, high];
    }
    this.amplification = Math.max(roundUp(amplification), this.age % 600 ? this.amplification : 0);
    this.free = Math.max(roundUp(free), this.age % 600 ? this.free : 0);
  }
}

/** Draws the strips of a drive. */
function drawStrips(parts, points, scales, now) {
  const span = Math.max(1, now - points[0].t, points.length > 1 ? (now - points[0].t) / (points.length - 1) * (REACH - 1) : 1);
  for (const point of points) point.x = point.t - now;
  const low = scales.low ?? 4, high = scales.high ?? 7, decades = high - low;
  const marks = Array.from({ length: decades + 1 }, (_, k) => [10 ** (low + k), mark(10 ** (low + k))]);
  const latency = strip(parts.latency, 156, span, ns => (Math.log10(ns) - low) / decades, marks, false);
  const { context } = latency, tints = [colours['r-read'], colours['r-write'], colours['r-trim'], colours['r-flush']];
  OPS.forEach((_, op) => {
    // What is rare is drawn larger, and last.
    const size = op > 1 ? 4 : 2;
    context.fillStyle = tints[op]; context.globalAlpha = op > 1 ? 1 : .55;
    for (const point of points) for (const request of point.r) if (request[1] === op && request[4] > 0) {
      const x = latency.x(request[0] - now);
      if (x >= latency.left) context.fillRect(x - size / 2, latency.y(request[4]) - size / 2, size, size);
    }
  });
  context.globalAlpha = 1;
  const lines = [[2, 'p99.9', [2, 2]], [1, 'p99', []], [0, 'p50', [6, 3]]];
  ends(latency, lines.map(([n, name, dash]) => [line(latency, points, point => point.p[n], colours.fg, dash, 1.6), name, colours.fg]));
  if (points.every(point => !point.r.length)) {
    context.fillStyle = colours.dim; context.textAlign = 'center';
    context.fillText('no request yet', (latency.left + latency.right) / 2, latency.top + latency.high / 2);
  }
  if (!parts.amplification) return;
  const most = scales.amplification;
  const amplification = strip(parts.amplification, 80, span, value => value / most, [[0, '0'], [1, most > 6 ? '' : '1'], [most, digits(most).replace(/\.0+$/, '')]], false);
  reference(amplification, 1);
  ends(amplification, [[line(amplification, points, point => point.wa, colours['r-cell']), last(points, 'wa', value => value.toFixed(2)), colours['r-cell']]]);
  const free = strip(parts.free, 92, span, value => value / scales.free, [[0, '0'], [scales.free, count(scales.free)]], true);
  ends(free, [[line(free, points, point => point.free, colours.fg), last(points, 'free', count), colours.fg]]);
}

function last(points, key, words) {
  const found = points.findLast(point => point[key] != null);
  return found ? words(found[key]) : '';
}
