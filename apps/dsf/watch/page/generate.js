// The box that generates text from a run, shown as it is made.

const byId = (id) => document.getElementById(id);
const form = byId('generate');
const select = byId('g-run');
let running = null;  // the AbortController of the text on its way

// names: the runs that have a checkpoint. The choice is kept where it is still there.
export function offerRuns(names) {
  const offered = [...select.options].map((option) => option.value);
  if (JSON.stringify(offered) !== JSON.stringify(names)) {
    const chosen = select.value;
    select.replaceChildren(...names.map((name) => new Option(name, name)));
    if (names.includes(chosen)) select.value = chosen;
  }
  if (!running) byId('g-start').disabled = names.length === 0;
}

function say(message, bad = false) {
  byId('g-message').textContent = message;
  byId('g-message').classList.toggle('bad', bad);
}

function wanted() {
  const number = (id) => Number(byId(id).value);
  return {
    run: select.value,
    checkpoint: byId('g-checkpoint').value,
    prompt: byId('g-prompt').value,
    tokens: number('g-tokens'),
    temperature: number('g-temperature'),
    top_k: number('g-top-k'),
    top_p: number('g-top-p'),
    seed: number('g-seed'),
  };
}

// The answer is lines of JSON; a piece of it may end in the middle of one.
async function* linesOf(body) {
  let rest = '';
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + decoder.decode(piece.value, {stream: true})).split('\n');
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

async function generate() {
  const text = byId('g-text');
  const response = await fetch('api/generate', {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify(wanted()),
    signal: running.signal,
  });
  if (!response.ok) throw new Error((await response.json()).error);
  text.textContent = '';
  text.hidden = false;
  for await (const line of linesOf(response.body)) {
    if (line.error) throw new Error(line.error);
    if (line.done) return;
    text.append(line.text);
    text.scrollTop = text.scrollHeight;
  }
  throw new Error('the answer broke off');
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (running) return;
  running = new AbortController();
  byId('g-start').disabled = true;
  byId('g-stop').disabled = false;
  say('generating …');
  try {
    await generate();
    say('');
  } catch (error) {
    if (error.name === 'AbortError') say('stopped');
    else say(error.message, true);
  }
  running = null;
  byId('g-start').disabled = false;
  byId('g-stop').disabled = true;
});

byId('g-stop').addEventListener('click', () => running?.abort());
byId('g-prompt').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
