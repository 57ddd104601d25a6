'use strict';
// How numbers are written: three digits, a narrow space before the unit, absent is a dash.
const NONE = '–', THIN = '\u202f';
const sig = v => { if (!v) return '0'; const a = Math.abs(v);
  const d = Math.max(0, 2 - Math.floor(Math.log10(a) + 1e-9));
  const o = { minimumFractionDigits: Math.min(d, 3), maximumFractionDigits: Math.min(d, 3) };
  return (a >= 1000 ? Math.round(v) : v).toLocaleString('en-US', o) };
const parts = { // a value and its unit, apart
  time: s => s < 999.5e-9 ? [sig(s * 1e9), 'ns'] : s < 999.5e-6 ? [sig(s * 1e6), 'µs']
    : s < 0.9995 ? [sig(s * 1e3), 'ms'] : [sig(s), 's'],
  rate: v => [v >= 100 ? Math.round(v).toLocaleString('en-US') : sig(v), '/s'],
  bytes: v => v < 999.5e3 ? [sig(v / 1e3), 'kB/s'] : v < 999.5e6 ? [sig(v / 1e6), 'MB/s']
    : [sig(v / 1e9), 'GB/s'],
  share: v => [v > 0 && v < 0.0005 ? '<0.1' : sig(v * 100), '%'],
  count: v => [Math.round(v).toLocaleString('en-US'), ''],
  ratio: v => [v.toFixed(2), ''] };
const show = (v, unit) => { if (v === null || v === undefined) return NONE;
  const [n, u] = parts[unit](v); return u === '/s' ? n + u : u ? n + THIN + u : n };
// A mark on an axis: short, "10 ms", "5k/s".
const mark = (v, unit) => { if (unit === 'count' || unit === 'rate') {
    const s = v >= 1e6 ? v / 1e6 + THIN + 'M' : v >= 1e4 ? v / 1e3 + 'k' : v.toLocaleString('en-US');
    return unit === 'rate' && v ? s + '/s' : s }
  if (unit === 'ratio') return String(v);
  if (!v) return '0';
  const [n, u] = parts[unit](v); return n.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') + THIN + u };
const clock = s => { s = Math.floor(s); const two = v => String(v).padStart(2, '0');
  return (s >= 3600 ? Math.floor(s / 3600) + ':' : '') + two(Math.floor(s / 60) % 60) + ':' + two(s % 60) };
const size = b => b % 2 ** 30 === 0 ? b / 2 ** 30 + ' GiB' : b >= 2 ** 30 ? sig(b / 2 ** 30) + ' GiB'
  : (b % 2 ** 20 ? sig(b / 2 ** 20) : b / 2 ** 20) + ' MiB';
// Times in an order as people write them: "latency add 2ms".
const ns = n => { n = +n; for (const [u, s] of [['s', 1e9], ['ms', 1e6], ['us', 1e3]])
  if (n >= s) return +(n / s).toPrecision(3) + u; return n + 'ns' };
const plain = order => order.replace(/\b(\d+)ns\b/g, (_, n) => ns(n)).replace(/ (p|rate)=1$/, '');
