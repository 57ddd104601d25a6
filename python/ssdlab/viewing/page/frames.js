// Frames: what the engine says of an instant. Cells of the map come as changes, so that a frame is small;
// what it replaces is noted when it is applied, so that time can go back.

const utf8 = new TextDecoder();

/** The frames in some bytes: a head, and the bytes of the cells that changed. */
function decode(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength), found = [];
  for (let at = 0; at < data.length;) {
    const length = view.getUint32(at, true), head = view.getUint32(at + 4, true), cells = at + 8 + head;
    found.push({ head: JSON.parse(utf8.decode(data.subarray(at + 8, cells))), cells: data.subarray(cells, at + 4 + length), before: null });
    at += 4 + length;
  }
  return found;
}

/** The state of the blocks of a drive, cell by cell. */
class Flash {
  constructor() { this.shape = null; this.resize(0); }

  resize(cells) {
    this.count = cells;
    this.valid = new Uint32Array(cells); this.programmed = new Uint32Array(cells);
    this.erases = new Uint32Array(cells); this.head = new Uint8Array(cells); this.retries = new Uint8Array(cells);
    this.changed = []; this.isNew = true;
  }

  /** What cell `n` is: free, open, closed, victim, filling, retired, passed over, as the engine numbers them. */
  state(n) { return this.head[n] & 7; }
  isFrontier(n) { return (this.head[n] & 8) !== 0; }
  stream(n) { return this.head[n] >> 4; }

  apply(frame) {
    if (frame.head.shape) {
      const { shape, count, valid, programmed, erases, head, retries } = this;
      frame.before = { whole: { shape, count, valid, programmed, erases, head, retries } };
      this.shape = frame.head.shape;
      this.resize(this.shape.cells);
    }
    const data = frame.cells, before = frame.before ? null : [];
    let at = 0, next = 0;
    const number = () => { let value = 0, shift = 1; for (;;) { const byte = data[at++]; value += (byte & 127) * shift; if (byte < 128) return value; shift *= 128; } };
    while (at < data.length) {
      const n = next + number();
      next = n + 1;
      if (before) before.push(n, this.head[n], this.valid[n], this.programmed[n], this.erases[n], this.retries[n]);
      this.head[n] = data[at++];
      this.valid[n] = number(); this.programmed[n] = number(); this.erases[n] = number();
      this.retries[n] = data[at++];
      this.changed.push(n);
    }
    if (before) frame.before = Float64Array.from(before);
  }

  undo(frame) {
    const before = frame.before;
    frame.before = null;
    if (before.whole) { Object.assign(this, before.whole); this.changed = []; this.isNew = true; return; }
    for (let k = 0; k < before.length; k += 6) {
      const n = before[k];
      this.head[n] = before[k + 1]; this.valid[n] = before[k + 2]; this.programmed[n] = before[k + 3]; this.erases[n] = before[k + 4]; this.retries[n] = before[k + 5];
      this.changed.push(n);
    }
  }
}

/** The frames that are kept, and which of them is shown. */
class History {
  /** At 60 frames a second a minute and a half; and as many changes of cells as fit into some 60 MB. */
  static FRAMES = 5400;
  static CHANGES = 1_500_000;

  constructor(drives) { this.frames = []; this.at = -1; this.flash = Array.from({ length: drives }, () => new Flash()); this.forgot = false; }

  get now() { return this.frames[this.at]; }
  get ahead() { return this.frames.length - 1 - this.at; }
  get isOver() { const last = this.frames.at(-1); return !!last && last.every(part => part.head.end); }

  /** Adds what a drive each has sent. Where one is over before the other, its last frame stays. */
  add(lists) {
    const most = Math.max(0, ...lists.map(list => list.length));
    for (let k = 0; k < most; k++) {
      const last = this.frames.at(-1);
      this.frames.push(lists.map((list, d) => list[k] ?? { head: { ...last[d].head, shape: undefined, r: [], n: [0, 0, 0, 0], max: undefined }, cells: new Uint8Array(0), before: null }));
    }
  }

  forward() {
    if (this.ahead < 1) return false;
    this.at++;
    this.now.forEach((part, d) => this.flash[d].apply(part));
    return true;
  }

  back() {
    if (this.at < 1) return false;
    this.now.forEach((part, d) => this.flash[d].undo(part));
    this.at--;
    return true;
  }

  to(at) { while (this.at < at && this.forward()); while (this.at > at && this.back()); }

  /** Forgets the oldest frames when there are too many. */
  trim() {
    let drop = this.at - History.FRAMES;
    if (this.at % 60 === 0) {
      let changes = 0, k = this.at;
      while (k > 0 && changes < History.CHANGES) changes += this.frames[k--].reduce((sum, part) => sum + (part.before?.length ?? 0) / 5, 0);
      if (changes >= History.CHANGES) drop = Math.max(drop, k);
    }
    if (drop < 300) return;
    this.frames.splice(0, drop);
    this.at -= drop;
    this.forgot = true;
  }

  /** What comes before an index only made the map. */
  beginAt(at) { this.to(at); this.frames.splice(0, this.at); this.at = 0; }

  /** When the frame at an index is, ns. */
  time(at) { return this.frames[at]?.[0].head.t ?? 0; }
}
