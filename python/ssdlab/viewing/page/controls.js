// Sliders and choices: what turns a key of the experiment. A change makes the engine run anew.

const UNITS = {
  percent: value => percent(value),
  skew: value => value <= 50 ? 'even' : `${Math.round(value)}/${Math.round(100 - value)}`,
  rate: value => `${count(value)}/s`,
  count: value => count(value),
  word: value => value,
};
const HINTS = {
  spare: 'spare space / capacity of the flash',
  skew: '80/20: 80 % of the requests go to 20 % of the drive',
  load: 'requests per second',
  outstanding: 'queue depth: outstanding requests',
  reads: 'share of reads in the requests',
  policy: 'which block is cleaned next',
  cleaning: 'blocking, or interleaved with requests',
  frontiers: 'which pages share blocks',
};

/** Fills a box with knobs; calls `turn(knob, value)` when one was turned. */
function drawKnobs(box, knobs, turn, whose = '') {
  box.replaceChildren(...knobs.map(knob => {
    const label = document.createElement('label'), value = document.createElement('b');
    label.title = HINTS[knob.name] ?? '';
    label.append(knob.label, value);
    let input;
    if (knob.range) {
      input = document.createElement('input');
      Object.assign(input, { type: 'range', min: knob.range[0], max: knob.range[1], step: knob.range[2], value: knob.value });
      const say = () => { value.textContent = UNITS[knob.unit](+input.value); input.setAttribute('aria-valuetext', value.textContent); };
      say();
      input.addEventListener('input', say);
      input.addEventListener('change', () => turn(knob, +input.value));
    } else {
      input = document.createElement('select');
      for (const choice of knob.choices) input.add(new Option(choice, choice, false, choice === knob.value));
      input.addEventListener('change', () => turn(knob, input.value));
    }
    input.setAttribute('aria-label', whose ? `${knob.label}, drive ${whose}` : knob.label);
    input.dataset.knob = `${whose}${knob.name}`;
    label.append(input);
    return label;
  }));
}

/** What a drive is, in words. */
function described(knobs) {
  const find = name => knobs.find(knob => knob.name === name)?.value, words = [];
  if (find('policy')) words.push(find('policy'));
  if (find('cleaning')) words.push(`${find('cleaning')} cleaning`);
  if (find('frontiers')) words.push({ single: 'one frontier', 'separate-moved': 'moved pages apart', 'hot-cold': 'hot and cold apart' }[find('frontiers')] ?? find('frontiers'));
  if (find('spare') != null) words.push(`${percent(find('spare'))} spare`);
  return words.join(', ');
}
