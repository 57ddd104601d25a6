// Where frames come from: the engine in the process behind the page, or a recording in the page.

/** The frames of each drive, one list behind the other with its length before it. */
function parted(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength), lists = [];
  for (let at = 0; at < data.length;) {
    const length = view.getUint32(at, true);
    lists.push(decode(data.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return lists;
}

/** What was refused, in words for the page. */
class Refused extends Error {}

/** The engine: a session of the process that serves this page. */
class Live {
  constructor(key) { this.key = key; this.id = null; this.opened = 0; }

  async post(path, body) {
    let answer;
    try {
      answer = await fetch(path, { method: 'POST', body: JSON.stringify(body), headers: { 'X-Ssdlab-Key': this.key } });
    } catch { throw new Refused('ssdlab does not answer: it was stopped'); }
    if (answer.headers.get('Content-Type') === 'application/octet-stream') return new Uint8Array(await answer.arrayBuffer());
    const found = await answer.json();
    if (!answer.ok) throw new Refused(found.error ?? answer.statusText);
    return found;
  }

  /** A new session in the place of this page's last one; says what is shown. */
  async open(drives, load) {
    const number = ++this.opened, said = await this.post('/open', { drives, load, instead: this.id });
    // Another was asked for meanwhile: this one is not shown.
    if (number !== this.opened) this.post('/close', { id: said.id }).catch(() => {});
    else this.id = said.id;
    return said;
  }

  /** Frames, or how far the drives are prepared. */
  async frames(step_ns, frames) {
    const found = await this.post('/frames', { id: this.id, step_ns, frames });
    return found instanceof Uint8Array ? { lists: parted(found) } : found;
  }

  /** The frame of the next request of a drive that takes as long as `limit_ns`. */
  async slow(drive, limit_ns) {
    const found = await this.post('/slow', { id: this.id, drive, limit_ns });
    return found instanceof Uint8Array ? { lists: parted(found) } : found;
  }

  /** The page is left. */
  leave() {
    if (this.id) fetch('/close', { method: 'POST', keepalive: true, body: JSON.stringify({ id: this.id }), headers: { 'X-Ssdlab-Key': this.key } }).catch(() => {});
    this.id = null;
  }
}

/** A recording, whose frames are all here. */
class Recorded {
  async open() {
    const said = JSON.parse(byId('said').textContent);
    const packed = [...document.querySelectorAll('script.frames')];
    this.lists = await Promise.all(packed.map(async it => {
      const raw = Uint8Array.from(atob(it.textContent.trim()), c => c.charCodeAt(0));
      it.remove();
      const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('deflate'));
      return decode(new Uint8Array(await new Response(stream).arrayBuffer()));
    }));
    return said;
  }

  async frames() { const lists = this.lists; this.lists = []; return { lists }; }
  leave() {}
}
