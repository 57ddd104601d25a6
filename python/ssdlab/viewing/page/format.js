// Numbers as every page of ssdlab writes them: three digits, a narrow space before the unit.
const THIN = '\u202f', ABSENT = '–';
const byId = id => document.getElementById(id);
// Made once: making them takes longer than all else that is written.
const FORMATS = [0, 1, 2, 3].map(n => new Intl.NumberFormat('en-US', { minimumFractionDigits: n, maximumFractionDigits: n }));
const count = n => FORMATS[0].format(Math.round(n));

function digits(value) {
  if (!value) return '0';
  const after = Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)) + 1e-9)));
  return FORMATS[after].format(value);
}

/** A time as its number and its unit. */
function timed(ns) {
  if (ns == null) return [ABSENT, ''];
  for (const [unit, size] of [['ns', 1], ['µs', 1e3], ['ms', 1e6]]) if (ns / size < 999.5) return [digits(ns / size), unit];
  return [digits(ns / 1e9), 's'];
}
const time = ns => timed(ns).join(THIN).trim();
/** A round time beside an axis. */
const mark = ns => ns < 1e3 ? `${ns}${THIN}ns` : ns < 1e6 ? `${ns / 1e3}${THIN}µs` : ns < 1e9 ? `${ns / 1e6}${THIN}ms` : `${ns / 1e9}${THIN}s`;
const bytes = n => { let unit = 0; const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']; while (n >= 1024 && unit < 4) { n /= 1024; unit++; } return `${digits(n).replace(/\.0+$/, '')}${THIN}${units[unit]}`; };
const percent = share => `${Math.round(100 * share)}${THIN}%`;
const clip = (value, least, most) => Math.min(most, Math.max(least, value));
