// Sliders and choices: what turns a key of the experiment. A change makes the engine run anew.

const UNITS = {
  percent: value => percent(value),
  skew: value => value <= 50 ? 'even' : `${Math.round(value)}/${Math.round(100 - value)}`,
  rate: value => `${count(value)}/s`,
  count: value => count(value),
  word: value => value,
};
const HINTS = {
  spare: 'share of the flash that is spare',
  skew: 'requests in a hundred / hundredths of the drive that they go to',
  load: 'requests a second',
  outstanding: 'requests outstanding',
  reads: 'share of the requests that read',
  policy: 'which block is cleaned next',
  cleaning: 'whether cleaning lets requests go between its moves',
  frontiers: 'which pages are written to the same blocks',
};

/** Fills a box with knobs; `turn(knob, value)` is told when one was turned. */
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
