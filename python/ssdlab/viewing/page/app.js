// The page: plays frames, draws them, and asks for more.

const recorded = !!byId('said');
const source = recorded ? new Recorded() : new Live(location.hash.slice(1));
const calm = matchMedia('(prefers-reduced-motion: reduce)'), dark = matchMedia('(prefers-color-scheme: dark)');
/** Seconds of simulated time that are shown in one; of a recording, how fast it is played. */
const SPEEDS = recorded ? [[.25, '¼×'], [.5, '½×'], [1, '1×'], [2, '2×'], [4, '4×']]
  : [[.001, '1 ms/s'], [.01, '10 ms/s'], [.1, '100 ms/s'], [1, '1 s/s'], [10, '10 s/s']];
/** Frames that are there before they are wanted: a third of a second. */
const AHEAD = 20;
/** Requests a second that an eye can follow. */
const FOLLOWED = 1500;

const app = {
  said: null, history: null, views: [], scales: new Scales(), load: {}, turned: [],
  playing: false, speed: 1, speedIsChosen: false, by: 'valid', due: 0, isDirty: true, everything: true, asking: false, generation: 0,
  stats: { frames: 0, scripting: 0, deltas: [], drawn: 0 }, numbersAt: 0, stripsAt: 0, isBehind: false, error: '',
};
const letters = 'AB', isTwo = () => app.turned.length > 1;
const named = d => isTwo() ? `Drive ${letters[d]}: ` : '';
const tell = words => { byId('live').textContent = words; };
function message(words, plain = false) { byId('message').textContent = words; byId('message').classList.toggle('plain', plain); app.error = plain ? '' : words; }

/** Begins: of the engine a new run, of a recording its first frame. */
async function begin() {
  const generation = ++app.generation;
  // No request until the new run is there: it would be for the old one.
  app.asking = true;
  try {
    const said = await source.open(app.turned, app.load);
    if (generation !== app.generation) return;
    app.asking = false;
    message('');
    show(said);
    await fill(generation);
  } catch (refused) { refuse(refused); }
}

function refuse(refused) {
  if (!(refused instanceof Refused)) throw refused;
  message(refused.message);
  app.asking = false;
  // What was turned is as it was.
  if (app.said) knobs();
}

function show(said) {
  app.said = said;
  app.turned = said.turned;
  app.history = new History(said.drives.length);
  app.scales.reset();
  if (!app.views.length && said.colour) app.by = said.colour;
  if (!app.speedIsChosen) app.speed = recorded ? 1 : said.speed ?? .01;
  document.body.classList.toggle('two', said.drives.length > 1);
  document.body.classList.toggle('recorded', recorded);
  byId('two').setAttribute('aria-pressed', said.drives.length > 1);
  byId('about').textContent = [said.title, said.kept].filter(Boolean).join(' ');
  byId('ask').hidden = !said.questions.length; byId('caption').textContent = said.title;
  byId('questions').replaceChildren(...said.questions.map(it => Object.assign(document.createElement('li'), { textContent: it })));
  build();
  knobs();
  choose();
  app.everything = app.isDirty = true;
}

/** The part of the page for each drive. */
function build() {
  const { said, history } = app, many = said.drives.length > 1;
  byId('drives').innerHTML = said.drives.map((_, d) => `<article class="drive" aria-label="${many ? `Drive ${letters[d]}` : 'Drive'}">
<div class="head"><h2${many ? ` style="color:var(--r-${letters[d]})"` : ''}>${many ? `Drive ${letters[d]}` : 'Drive'}</h2><span class="what"></span><p class="say"></p></div>
<div class="knobs"></div>
<section><h3>Blocks <span class="counts"></span></h3><div class="map"><canvas tabindex="0" role="application"></canvas><canvas aria-hidden="true"></canvas></div><div class="key"></div><p class="read"></p></section>
<section class="side"><dl class="figures"><div><dt>requests/s</dt><dd>–</dd></div><div><dt>p50</dt><dd>–</dd></div><div><dt>p99</dt><dd>–</dd></div><div><dt>amplification</dt><dd>–</dd></div></dl>
<div><h3>Latency <span>each request; percentiles of the last 10,000</span></h3><div><canvas class="latency" role="img"></canvas></div><div class="key marks"></div></div>
<div class="flash"><h3>Write amplification <span>pages programmed / pages written</span></h3><div><canvas class="amplification" role="img" aria-label="Write amplification over time"></canvas></div></div>
<div class="flash"><h3>Erased blocks</h3><div><canvas class="free" role="img" aria-label="Erased blocks over time"></canvas></div></div>
<div><h3>Requests <span>bold: at least ten times p50</span></h3><table aria-label="The last requests"><tbody>${'<tr><td></td><td></td><td></td><td></td><td></td></tr>'.repeat(6)}</tbody></table></div></section></article>`).join('');
  app.views = [...document.querySelectorAll('.drive')].map((box, d) => {
    const find = it => box.querySelector(it), view = { box, find, d, cause: '', strips: { latency: find('.latency'), amplification: find('.amplification'), free: find('.free') } };
    const frontiers = said.drives[d].knobs.find(knob => knob.name === 'frontiers')?.value;
    const streams = frontiers === 'hot-cold' ? ['hot pages', 'cold pages'] : frontiers === 'single' ? ['all pages'] : ['written by the host', 'moved by cleaning'];
    view.map = new BlockMap(find('.map'), history.flash[d], {
      by: () => app.by, streams: () => streams, laid: () => { document.querySelector('[data-by=age]').hidden = !agesAny(); }, moved: () => { find('.key').innerHTML = view.map.key(); },
      room: () => innerWidth < 901 ? 560 : Math.max(260, innerHeight - find('.map').getBoundingClientRect().top - scrollY - (many ? 330 : 90)),
    });
    listen(view);
    return view;
  });
}

function listen(view) {
  const { map, find } = view, canvas = map.canvas, at = event => { const box = canvas.getBoundingClientRect(); return map.at(event.clientX - box.left, event.clientY - box.top); };
  const read = (n, aloud) => { view.reading = n; find('.read').textContent = n < 0 ? '' : map.words(n); if (aloud && n >= 0) tell(map.words(n)); };
  view.read = read;
  canvas.addEventListener('pointermove', event => { if (map.focus < 0) read(at(event), false); });
  canvas.addEventListener('pointerleave', () => { if (map.focus < 0) read(-1, false); });
  canvas.addEventListener('pointerdown', event => { const n = at(event); if (n >= 0) { map.focus = n; read(n, true); map.outline(); } });
  canvas.addEventListener('focus', () => { if (map.focus < 0 && map.shown) { map.focus = 0; read(0, true); map.outline(); } });
  canvas.addEventListener('blur', () => { map.focus = -1; read(-1, false); if (map.shown) map.outline(); });
  canvas.addEventListener('keydown', event => {
    if (!map.shown || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!/^(Arrow|Page|Home$|End$)/.test(event.key)) return;
    map.go(event.key);
    read(map.focus, true); map.outline();
    event.preventDefault(); event.stopPropagation();
  });
}

function knobs() {
  const { said } = app, turn = (where, name, value) => {
    where[name] = value;
    const focused = document.activeElement?.dataset?.knob;
    begin().then(() => { if (focused) document.querySelector(`[data-knob="${focused}"]`)?.focus(); });
  };
  if (recorded) return said.drives.forEach((drive, d) => { app.views[d].find('.what').textContent = described(drive.knobs); });
  const whose = knob => knob.of === 'load' ? app.load : app.turned[0], first = said.drives[0].knobs;
  // Of one drive they stand together, of two each has its own.
  drawKnobs(byId('load'), isTwo() ? first.filter(knob => knob.of === 'load') : first, (knob, value) => turn(whose(knob), knob.name, value));
  said.drives.forEach((drive, d) => {
    const own = drive.knobs.filter(knob => knob.of === 'drive');
    if (isTwo()) drawKnobs(app.views[d].find('.knobs'), own, (knob, value) => turn(app.turned[d], knob.name, value), letters[d]);
    app.views[d].find('.what').textContent = described(own);
  });
}

/** Asks for more frames when there are few left. */
async function fill(generation = app.generation) {
  const { history } = app;
  if (app.asking || !history || history.isOver || history.ahead >= AHEAD) return;
  app.asking = true;
  try {
    let found;
    while ((found = await source.frames(Math.max(1, Math.round(app.speed / 60 * 1e9)), AHEAD)).preparing) {
      if (generation !== app.generation) return;
      const shares = found.preparing.map(share => share ?? 0);
      message(`Preparing: ${shares.map((share, d) => named(d) + percent(share)).join(', ')}`, true);
    }
    if (generation !== app.generation) return;
    if (found.closed) throw new Refused('This session was replaced by newer ones; press Start again');
    took(found.lists);
  } catch (refused) { refuse(refused); } finally { if (generation === app.generation) app.asking = false; }
}

function took(lists) {
  const { history } = app, isFirst = history.at < 0;
  if (!app.error) message('');
  history.add(lists);
  if (!isFirst) return;
  history.forward();
  history.beginAt(app.said.begins_at);
  if (!recorded && !app.speedIsChosen && app.said.speed == null) guess();
  app.isDirty = app.everything = true;
  if (!calm.matches && !app.paused) play(true);
}

/** A speed at which as many requests are seen as can be followed. */
function guess() {
  const { history } = app, span = history.time(history.frames.length - 1), asked = history.frames.reduce((sum, it) => sum + it[0].head.n.reduce((a, b) => a + b, 0), 0);
  const found = asked && span ? FOLLOWED * span / 1e9 / asked : .01;
  app.speed = SPEEDS.map(it => it[0]).reduce((best, it) => Math.abs(Math.log(it / found)) < Math.abs(Math.log(best / found)) ? it : best);
  choose();
}

function play(on) {
  app.playing = on; app.paused = !on; app.due = 0;
  byId('play').textContent = on ? 'Pause' : 'Play';
  byId('play').setAttribute('aria-pressed', on);
  if (on || !app.history?.now) return;
  draw(performance.now(), true);
  tell(app.views.map((view, d) => named(d) + say(d, view)).join(' '));
}

/** One frame on, or back. */
async function step(forward) {
  play(false);
  if (!app.history) return;
  if (forward && app.history.ahead < 1) await fill();
  if (!(forward ? app.history.forward() : app.history.back()) && !forward) message(app.history.forgot ? 'Earlier frames are no longer kept; Start again shows them' : 'This is the beginning', true);
  app.isDirty = true;
  draw(performance.now(), true);
  tell(`${time(app.history.time(app.history.at))}. ${app.views.map((view, d) => named(d) + say(d, view)).join(' ')}`);
}

/** On to the next request that takes ten times the median or longer. */
async function toSlow() {
  const { history } = app;
  if (!history?.now || app.asking) return;
  play(false);
  const median = d => history.now[d].head.p[0], limits = history.now.map((_, d) => 10 * (median(d) ?? Infinity));
  if (limits.every(limit => limit === Infinity)) return message('No median yet: wait for more requests', true);
  const isSlow = (frame, d) => (frame[d].head.max ?? 0) >= limits[d];
  for (let k = history.at + 1; k < history.frames.length; k++) {
    const d = limits.findIndex((_, d) => isSlow(history.frames[k], d));
    if (d >= 0) return arrive(k, d);
  }
  if (recorded || history.isOver) return message('No more slow requests until the end', true);
  // Of two drives, the one whose slow requests are slower.
  const { generation } = app, worse = d => (history.now[d].head.p[1] ?? 0) / (median(d) ?? 1), drive = history.now.length > 1 && worse(1) > worse(0) ? 1 : 0;
  app.asking = true;
  try {
    message('Searching for a slow request', true);
    const found = await source.slow(drive, Math.ceil(limits[drive]));
    if (generation !== app.generation || !found.lists) return;
    history.add(found.lists);
    const last = history.frames.length - 1;
    if (isSlow(history.frames[last], drive)) arrive(last, drive);
    else { arrive(last, -1); message(`${named(drive)}no request up to here took ten times the median (${time(limits[drive])})`, true); }
  } catch (refused) { refuse(refused); } finally { if (generation === app.generation) app.asking = false; }
}

function arrive(k, d) {
  app.history.to(k);
  app.isDirty = true;
  draw(performance.now(), true);
  if (d < 0) return;
  const head = app.history.now[d].head, slowest = head.r.find(it => it[4] === head.max);
  const words = `${named(d)}a ${OPS[slowest?.[1] ?? 0]} took ${time(head.max)}${slowest ? `, ${time(slowest[6])} of it ${app.said.parts[slowest[5]]}` : ''}`;
  message(words, true); tell(words);
}

/** What is worth saying of a drive now. */
function say(d, view) {
  const head = app.history.now[d].head, [p50, p99] = head.p, wa = view.wa;
  if (head.end) return `The run is over after ${time(head.t)}.`;
  if (p99 == null) return 'The run has just begun.';
  if (p99 > 8 * p50) return `p99 is ${time(p99)}, ${digits(p99 / p50)} times the median${view.cause ? `: most of it ${view.cause}` : ''}.`;
  if (wa > 3) return `${percent(1 - 1 / wa)} of the programmed pages are moved by cleaning. More spare space would lower this.`;
  if (head.q > 4 * p99 / p50 + 64) return `${count(head.q)} requests wait: the drive is overloaded.`;
  return `p99 is ${time(p99)}.`;
}

/** The part of most slow requests that took longest. */
function cause(points, parts) {
  const tally = new Map();
  for (const point of points) {
    const { slowest } = point;
    if (slowest[4] >= (point.p[1] ?? Infinity)) tally.set(slowest[5], (tally.get(slowest[5]) ?? 0) + 1);
  }
  const best = [...tally].sort((a, b) => b[1] - a[1])[0];
  return best ? parts[best[0]] : '';
}

function draw(now, numbers) {
  const { history } = app;
  if (!history?.now) return;
  const { everything } = app, isDue = (at, ms) => numbers || everything || now - at > ms;
  for (const view of app.views) view.map.draw(everything);
  // Blocks move at every frame; strips twenty times a second, numbers eight times.
  if (isDue(app.stripsAt, 48)) {
    const all = app.views.map((_, d) => samples(history, d));
    app.scales.fit(all);
    app.stripsAt = now;
    app.views.forEach((view, d) => {
      drawStrips(view.strips, all[d], app.scales, history.now[d].head.t);
      if (everything) view.find('.key').innerHTML = view.map.key();
      if (isDue(app.numbersAt, 125)) write(view, d, all[d]);
    });
    byId('clock').textContent = time(history.time(history.at));
    if (isDue(app.numbersAt, 125)) app.numbersAt = now;
    app.isBehind = false;
  } else app.isBehind = true;
  app.everything = app.isDirty = false;
}

/** The figures of a drive, at most eight times a second. */
function write(view, d, points) {
  const { history } = app, head = history.now[d].head, latest = points.at(-1), put = (n, [value, unit = '']) => {
    const cell = view.find('.figures').children[n].lastElementChild, text = unit ? `${value}<small>${unit}</small>` : value;
    if (cell.innerHTML !== text) cell.innerHTML = text;
  };
  view.wa = latest.wa; view.cause = cause(points, app.said.parts);
  const perSecond = rate(history, d);
  put(0, [perSecond == null ? ABSENT : count(+perSecond.toPrecision(3))]); put(1, timed(head.p[0])); put(2, timed(head.p[1]));
  put(3, [latest.wa == null ? ABSENT : latest.wa.toFixed(2)]);
  const flash = history.flash[d], has = flash.count > 0;
  for (const box of view.box.querySelectorAll('.flash')) box.hidden = !has;
  view.find('.counts').textContent = has ? `${count(flash.shape.blocks)}${flash.shape.blocks_per_cell > 1 ? ` in cells of ${flash.shape.blocks_per_cell}` : ''}, ${count(head.free)} erased${head.f ? `; ${count(head.f[ERASES])} erasures` : ''}` : '';
  if (!has) view.find('.read').textContent = 'This device has no flash, so there are no blocks to show.';
  else if (view.reading >= 0) view.find('.read').textContent = view.map.words(view.reading);
  const words = say(d, view);
  if (view.find('.say').textContent !== words) view.find('.say').textContent = words;
  view.find('.latency').setAttribute('aria-label', `Latency over time; p50 ${time(head.p[0])}, p99 ${time(head.p[1])}, p99.9 ${time(head.p[2])}`);
  const ops = OPS.map((name, op) => points.some(point => point.r.some(it => it[1] === op)) ? `<span><i style="background:var(--r-${name})"></i>${name}</span>` : '').join('');
  if (view.find('.marks').innerHTML !== ops) view.find('.marks').innerHTML = ops;
  list(view, points, head);
  const scrub = byId('scrub');
  if (document.activeElement !== scrub || app.playing) { scrub.max = history.frames.length - 1; scrub.value = history.at; }
  scrub.setAttribute('aria-valuetext', time(head.t));
  byId('kept').textContent = `kept: ${time(history.time(0))} to ${time(history.time(history.frames.length - 1))}`;
}

function list(view, points, head) {
  const found = [];
  for (let k = points.length - 1; k >= 0 && found.length < 6; k--) found.push(...points[k].r.slice().sort((a, b) => b[0] - a[0]).slice(0, 6 - found.length));
  [...view.find('tbody').rows].forEach((row, n) => {
    const it = found[n], cells = it ? [`${(it[0] / 1e9).toFixed(5)}${THIN}s`, OPS[it[1]], it[3] ? `${bytes(it[3] * 512)} at ${bytes(it[2] * 512)}` : '', time(it[4]), `${app.said.parts[it[5]]}`] : ['', '', '', '', ''];
    row.className = it && head.p[0] && it[4] >= 10 * head.p[0] ? 'slow' : '';
    cells.forEach((words, k) => { if (row.cells[k].textContent !== words) row.cells[k].textContent = words; });
    row.cells[1].style.color = it ? `var(--r-${OPS[it[1]]})` : '';
  });
}

let before = 0;
function tick(now) {
  requestAnimationFrame(tick);
  const started = performance.now(), { history, stats } = app, passed = before ? now - before : 16;
  before = now;
  if (app.playing && history) {
    app.due = Math.min(8, app.due + passed * (recorded ? app.said.frames_per_second * app.speed : 60) / 1000);
    while (app.due >= 1) {
      app.due -= 1;
      if (!history.forward()) { app.due = 0; if (history.isOver || recorded) { play(false); } break; }
      app.isDirty = true;
    }
    history.trim();
    stats.deltas.push(passed);
    if (stats.deltas.length > 600) stats.deltas.shift();
  }
  // What was left out comes when nothing else does.
  if (app.isBehind && !app.playing) app.isDirty = true;
  if (app.isDirty) { draw(now, app.isBehind && !app.playing); stats.drawn++; stats.scripting += performance.now() - started; }
  if (app.playing) fill();
}

/** Buttons as things are. */
function choose() {
  byId('speed').replaceChildren(...SPEEDS.map(([speed, words], n) => {
    const button = document.createElement('button');
    button.textContent = words; button.title = `${n + 1}${recorded ? '' : ': simulated time per second'}`;
    button.setAttribute('aria-pressed', speed === app.speed);
    button.onclick = () => faster(n);
    return button;
  }));
  for (const button of byId('colour').children) button.setAttribute('aria-pressed', button.dataset.by === app.by);
}
function faster(n) { if (SPEEDS[n]) { app.speed = SPEEDS[n][0]; app.speedIsChosen = true; choose(); } }
/** Whether data of a drive age: only then is there something to colour. */
function agesAny() { return app.views.some(view => view.map.ages); }
function colour(by) { app.by = by; app.everything = app.isDirty = true; choose(); }
function compare() { if (recorded) return; app.turned = isTwo() ? app.turned.slice(0, 1) : [app.turned[0], { ...app.turned[0] }]; begin(); }
function again() { if (!recorded) begin(); else { app.history.to(0); app.isDirty = true; } }

byId('play').onclick = () => play(!app.playing);
byId('step').onclick = () => step(true);
byId('back').onclick = () => step(false);
byId('slow').onclick = toSlow;
byId('two').onclick = compare;
byId('again').onclick = again;
for (const button of byId('colour').children) button.onclick = () => colour(button.dataset.by);
byId('scrub').addEventListener('input', event => { const to = +event.target.value; play(false); app.history.to(to); app.isDirty = true; draw(performance.now(), true); });
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select')) return;
  const isButton = event.target.closest?.('button');
  const keys = { '.': () => step(true), ',': () => step(false), ArrowRight: () => step(true), ArrowLeft: () => step(false), j: toSlow, v: () => colour('valid'), e: () => colour('erases'), s: () => colour('stream'), a: () => { if (agesAny()) colour('age'); }, c: compare, r: again };
  if (event.key === ' ' && !isButton) play(!app.playing);
  else if (/^[1-5]$/.test(event.key)) faster(event.key - 1);
  else if (keys[event.key.toLowerCase()]) keys[event.key.toLowerCase()]();
  else return;
  event.preventDefault();
});
const redraw = () => { readColours(); app.everything = app.isDirty = true; };
addEventListener('resize', redraw);
dark.addEventListener('change', redraw);
addEventListener('pagehide', () => source.leave());
addEventListener('pageshow', event => { if (event.persisted) begin(); });
readColours();
choose();
requestAnimationFrame(tick);
if (recorded || source.key) begin(); else message('The key is missing: open the address shown in the terminal.');
globalThis.ssdlabView = app;
