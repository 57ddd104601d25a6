// The map of a drive's blocks: a cell each, in a panel for each unit. Only cells that changed are drawn;
// frontiers, victims and the focus are outlines on a second canvas above.

const STATES = ['erased', 'being written', 'full', 'being cleaned', 'receiving cold data', 'worn out', 'full, skipped because of its wear'];
const FREE = 0, VICTIM = 3, RETIRED = 5;
/** Shares of valid pages at which the ramp goes on. */
const STEPS = [.15, .35, .5, .65, .75, .85, .95];
/** Retries of its mean page from which on a block has the next colour of the ramp, and those of one that cannot be read. */
const RETRIES = [1, 2, 4, 6, 10, 16, 30], UNREADABLE = 255;
const UNKNOWN_STREAM = 15, MOST_PANELS = 32, LABEL = 15;
/** Width of the smallest cell. */
const LEAST = 1.5;
/** Room around the cells for outlines. */
const EDGE = 4;

/** The colours of the style sheet, read when the theme changes. */
const colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement), get = name => style.getPropertyValue(`--${name}`).trim();
  for (const name of ['bg', 'fg', 'dim', 'grid', 'axis', 'rule', 'link', 'free', 'front', 'victim', 'r-read', 'r-write', 'r-trim', 'r-flush', 'r-cell', 'r-unit', 'r-B', 'r-A', 'r-context']) colours[name] = get(name);
  colours.valid = STEPS.concat(1).map((_, n) => get(`h${n}`));
  colours.erases = colours.valid.map((_, n) => get(`e${n}`));
  colours.stream = ['r-cell', 'r-unit', 'r-B', 'r-A'].map(get);
}

class BlockMap {
  constructor(box, flash, options) {
    this.flash = flash;
    this.options = options;
    this.box = box;
    [this.canvas, this.over] = box.querySelectorAll('canvas');
    this.focus = -1;
    this.outlined = [];
    this.erases = [0, 7];
  }

  /** The panels: one for each unit, or for each drive of many. */
  panels() {
    const { shape } = this.flash, many = shape.drives.length > 1;
    const named = (unit, number) => many ? `drive ${number}, ${unit.name}` : unit.name;
    let panels = shape.drives.flatMap((drive, number) => drive.units.map(unit => ({ ...unit, name: named(unit, number), pages: drive.data_pages })));
    if (panels.length > MOST_PANELS) panels = shape.drives.map((drive, number) => {
      const cells = drive.units.reduce((sum, unit) => sum + unit.cells, 0), blocks = drive.units.reduce((sum, unit) => sum + unit.blocks, 0);
      return { name: many ? `drive ${number}` : 'all units', first: drive.units[0].first, cells, blocks, pages: drive.data_pages };
    });
    return panels;
  }

  /** Chooses the size of cells and the places of panels for the width and height there is. */
  layout() {
    // A page that is hidden or very narrow has room for no cell: there is one across all the same.
    this.width = this.box.clientWidth;
    const width = Math.max(LEAST, this.width - 2 * EDGE), panels = this.shown = this.panels(), most = Math.max(1, ...panels.map(panel => panel.cells));
    const room = Math.max(240, this.options.room()), gap = 10;
    let best = null;
    for (let across = 1; across <= panels.length; across++) {
      const down = Math.ceil(panels.length / across), each = (width - gap * (across - 1)) / across;
      // Panels that are too narrow for their names are none.
      if (across > 1 && each < 56) break;
      for (let columns = 1; columns <= Math.min(most, each / LEAST); columns++) {
        const wide = Math.min(28, Math.floor(2 * each / columns) / 2), rows = Math.ceil(most / columns);
        const fit = (room - down * LABEL - gap * (down - 1)) / (down * rows);
        const high = clip(Math.floor(2 * fit) / 2, Math.min(wide, 4), 1.25 * wide);
        const height = down * (rows * high + LABEL) + gap * (down - 1);
        // Cells should be large and nearly square, and full rows look calm.
        const score = Math.sqrt(wide * high) * Math.sqrt(Math.min(wide, high) / Math.max(wide, high)) * (most % columns ? .8 : 1) / (1 + 2 * Math.max(0, height / room - 1));
        if (!best || score > best.score) best = { score, across, down, wide, high, columns, rows, height: height + EDGE };
      }
    }
    const spread = (width - gap * (best.across - 1)) / best.across;
    panels.forEach((panel, n) => {
      panel.x = EDGE + (n % best.across) * (spread + gap);
      panel.y = Math.floor(n / best.across) * (best.rows * best.high + LABEL + gap) + LABEL;
      panel.width = spread;
    });
    this.grid = best;
    const least = Math.min(best.wide, best.high);
    this.gap = least >= 4 ? 1 : least >= 2.5 ? .5 : 0;
    for (const canvas of [this.canvas, this.over]) {
      const ratio = Math.min(2, devicePixelRatio || 1);
      canvas.width = Math.round((width + 2 * EDGE) * ratio); canvas.height = Math.round(best.height * ratio);
      canvas.style.height = `${best.height}px`;
      canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.canvas.setAttribute('aria-label', `Blocks: ${count(this.flash.shape.blocks)} in ${panels.length} ${panels.length > 1 ? 'panels' : 'panel'}${this.perCell > 1 ? `, ${this.perCell} a cell` : ''}. Arrow keys go from cell to cell.`);
    // Which panel each cell is in, and where in it.
    this.panelOf = new Uint16Array(this.flash.count);
    panels.forEach((panel, n) => this.panelOf.fill(n, panel.first, panel.first + panel.cells));
  }

  /** Whether its data age. */
  get ages() { return !!this.flash.shape?.drives.some(drive => drive.ages); }

  get perCell() { return this.flash.shape.blocks_per_cell; }

  place(n) {
    const panel = this.shown[this.panelOf[n]], within = n - panel.first, { columns, wide, high } = this.grid;
    return [panel.x + (within % columns) * wide, panel.y + Math.floor(within / columns) * high];
  }

  /** Pages that a cell can hold. */
  room(n) {
    const panel = this.shown[this.panelOf[n]];
    const blocks = n === panel.first + panel.cells - 1 ? panel.blocks - (panel.cells - 1) * this.perCell : this.perCell;
    return Math.max(1, blocks) * panel.pages;
  }

  colour(n) {
    const { flash } = this, by = this.options.by();
    if (by === 'erases') {
      const [least, most] = this.erases;
      return colours.erases[clip(Math.floor(8 * (flash.erases[n] / this.perCell - least) / (most - least + 1)), 0, 7)];
    }
    const state = flash.state(n);
    if (state === FREE) return null;
    if (state === RETIRED) return colours.axis;
    if (by === 'stream') { const stream = flash.stream(n); return stream === UNKNOWN_STREAM ? colours['r-context'] : colours.stream[stream % 4]; }
    if (by === 'age') {
      const retries = flash.retries[n];
      return retries === UNREADABLE ? colours.victim : colours.erases[RETRIES.filter(it => retries >= it).length];
    }
    const share = flash.valid[n] / this.room(n);
    let step = 0;
    while (step < 7 && share > STEPS[step]) step++;
    return colours.valid[step];
  }

  paint(context, n) {
    const [x, y] = this.place(n), wide = this.grid.wide - this.gap, high = this.grid.high - this.gap, colour = this.colour(n);
    context.fillStyle = colour ?? colours.axis;
    context.fillRect(x, y, wide, high);
    if (colour) return;
    // An erased block is hollow.
    const rim = Math.min(wide, high) > 4 ? 1 : 0;
    context.fillStyle = colours.free;
    context.fillRect(x + rim, y + rim, wide - 2 * rim, high - 2 * rim);
  }

  /** Draws what has changed, or everything. */
  draw(everything) {
    const { flash } = this;
    if (!flash.shape || !flash.count) return;
    if (everything || flash.isNew || this.box.clientWidth !== this.width) { this.layout(); this.options.laid(); everything = true; flash.isNew = false; }
    everything = this.rescale() || everything;
    const context = this.canvas.getContext('2d');
    if (everything) {
      context.fillStyle = colours.bg;
      context.fillRect(0, 0, this.width, this.grid.height);
      context.font = '11px system-ui, sans-serif'; context.fillStyle = colours.dim; context.textBaseline = 'alphabetic';
      for (const panel of this.shown) context.fillText(fitted(context, panel.name, panel.width), panel.x, panel.y - 4);
      for (let n = 0; n < flash.count; n++) this.paint(context, n);
    } else for (const n of flash.changed) this.paint(context, n);
    flash.changed.length = 0;
    this.outline();
  }

  /** The ends of the ramp of erasures, in whole steps; whether they have moved. */
  rescale() {
    if (this.options.by() !== 'erases') return false;
    let least = Infinity, most = 0;
    for (const erases of this.flash.erases) { if (erases < least) least = erases; if (erases > most) most = erases; }
    least = Math.floor(least / this.perCell); most = Math.ceil(most / this.perCell);
    if (most - least < 7) { least = Math.max(0, Math.min(least, most - 7)); most = least + 7; }
    const moved = this.erases[0] !== least || this.erases[1] !== most;
    this.erases = [least, most];
    if (moved) this.options.moved();
    return moved;
  }

  outline() {
    const { flash } = this, context = this.over.getContext('2d'), wide = this.grid.wide - this.gap, high = this.grid.high - this.gap;
    for (const [x, y] of this.outlined) context.clearRect(x - 6, y - 6, wide + 12, high + 12);
    this.outlined = [];
    const ring = (n, colour) => {
      const [x, y] = this.place(n);
      this.outlined.push([x, y]);
      for (const [line, width] of [[colours.bg, 4.5], [colour, 2]]) {
        context.strokeStyle = line; context.lineWidth = width; context.strokeRect(x - 1.5, y - 1.5, wide + 3, high + 3);
      }
    };
    for (let n = 0; n < flash.count; n++) {
      const head = flash.head[n];
      if ((head & 7) === VICTIM) ring(n, colours.victim);
      else if (head & 8) ring(n, colours.front);
    }
    if (this.focus >= 0 && this.focus < flash.count) {
      const [x, y] = this.place(this.focus);
      this.outlined.push([x, y]);
      context.strokeStyle = colours.link; context.lineWidth = 2;
      context.strokeRect(x - 4, y - 4, wide + 8, high + 8);
    }
  }

  /** The cell at a place of the canvas, or -1. */
  at(x, y) {
    if (!this.shown) return -1;
    const { columns, wide, high, rows } = this.grid;
    for (const panel of this.shown) {
      const column = Math.floor((x - panel.x) / wide), row = Math.floor((y - panel.y) / high), within = row * columns + column;
      if (column >= 0 && column < columns && row >= 0 && row < rows && within < panel.cells) return panel.first + within;
    }
    return -1;
  }

  /** Where an arrow key goes from the cell in focus. */
  go(key) {
    const { columns } = this.grid, panel = this.shown[this.panelOf[Math.max(0, this.focus)]];
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -panel.cells, PageDown: panel.cells }[key];
    const to = this.focus < 0 ? 0 : key === 'Home' ? panel.first : key === 'End' ? panel.first + panel.cells - 1 : this.focus + step;
    this.focus = clip(to, 0, this.flash.count - 1);
  }

  /** What the cell is, in words. */
  words(n) {
    const { flash } = this, panel = this.shown[this.panelOf[n]], within = n - panel.first, state = flash.state(n), room = this.room(n);
    const per = this.perCell, last = Math.min((within + 1) * per, panel.blocks) - 1;
    const name = per > 1 ? `Blocks ${within * per} to ${last} of ${panel.name}` : `Block ${within} of ${panel.name}`;
    const erases = per > 1 ? `erased ${digits(flash.erases[n] / (last - within * per + 1))} times on average` : `erased ${flash.erases[n]} ${flash.erases[n] === 1 ? 'time' : 'times'}`;
    const role = flash.isFrontier(n) ? 'being written' : STATES[state] === 'being written' ? 'opened' : STATES[state];
    if (state === FREE) return `${name}: ${role}, ${erases}`;
    const stream = flash.stream(n) === UNKNOWN_STREAM ? '' : `, ${this.options.streams()[flash.stream(n)] ?? `stream ${flash.stream(n)}`}`;
    const retries = flash.retries[n], most = per > 1 ? 'its oldest block takes' : 'a read takes';
    const age = !this.ages ? '' : retries === UNREADABLE ? ', too old to be read' : `, ${most} ${retries} ${retries === 1 ? 'retry' : 'retries'}`;
    return `${name}: ${count(flash.valid[n])} of ${count(room)} pages valid, ${role}, ${erases}${age}${stream}`;
  }

  /** What the colours mean, as HTML. */
  key() {
    const by = this.options.by(), ramp = list => `<span class="ramp">${list.map(c => `<i style="background:${c}"></i>`).join('')}</span>`;
    const box = (style, words) => `<span><i style="${style}"></i>${words}</span>`;
    const scale = by === 'valid' ? `<span title="steps at ${STEPS.map(it => Math.round(100 * it)).join(', ')} %">0${ramp(colours.valid)}100${THIN}% valid</span>`
      : by === 'erases' ? `<span>${this.erases[0]}${ramp(colours.erases)}${this.erases[1]} erasures</span>`
        : by === 'age' ? `<span title="retries of the mean page; steps at ${RETRIES.join(', ')}">0${ramp(colours.erases)}${RETRIES.at(-1)} retries</span>${box(`background:${colours.victim}`, 'too old to be read')}`
        : this.options.streams().map((words, n) => box(`background:${colours.stream[n % 4]}`, words)).join('');
    const free = by === 'erases' ? '' : box(`background:${colours.free};border:1px solid ${colours.rule}`, 'erased');
    return scale + box(`border:2px solid ${colours.front}`, 'being written') + box(`border:2px solid ${colours.victim}`, 'being cleaned') + free;
  }
}

/** As much of a name as there is room for. */
function fitted(context, name, width) {
  if (context.measureText(name).width <= width) return name;
  const short = name.match(/\d+[^\d]*$/)?.[0] ?? '';
  return context.measureText(short).width <= width ? short : '';
}
