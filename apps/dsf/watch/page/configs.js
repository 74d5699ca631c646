// The configurations side by side: a row a key, a column a run, differences marked.

import {swatch} from './chart.js';

const byId = (id) => document.getElementById(id);
let shown = '';  // rows are made anew only when something changed: a selection stays

function heading(run) {
  const element = document.createElement('th');
  element.append(swatch(run.look), ` ${run.info.name}`);
  return element;
}

function rowOf(key, values) {
  const row = document.createElement('tr');
  const name = document.createElement('th');
  name.textContent = key;
  row.append(name);
  const usual = usualValue(values);
  for (const value of values) {
    const cell = document.createElement('td');
    cell.textContent = value;
    cell.title = value;
    cell.classList.toggle('differs', value !== usual);
    row.append(cell);
  }
  return row;
}

// What several runs have, and most of them; a value that no two share is usual to none.
function usualValue(values) {
  const count = (value) => values.filter((other) => other === value).length;
  const best = values.reduce((a, b) => (count(b) > count(a) ? b : a));
  return values.length === 1 || count(best) > 1 ? best : null;
}

// runs: those to show, each with config: [[key, value], ...].
export function showConfigs(runs) {
  const known = runs.filter((run) => run.config);
  const onlyDifferences = byId('only-differences').checked && known.length > 1;
  const state = JSON.stringify([onlyDifferences, known.map((run) => [run.info.name, run.look, run.config])]);
  if (state === shown) return;
  shown = state;
  const table = byId('configs');
  const head = document.createElement('tr');
  head.append(document.createElement('th'), ...known.map(heading));
  const rows = [];
  (known[0]?.config ?? []).forEach(([key], i) => {
    const values = known.map((run) => run.config[i][1]);
    const differs = values.some((value) => value !== values[0]);
    if (differs || !onlyDifferences) rows.push(rowOf(key, values));
  });
  table.tHead.replaceChildren(...(rows.length ? [head] : []));
  table.tBodies[0].replaceChildren(...rows);
  byId('no-differences').hidden = rows.length > 0;
  byId('no-differences').textContent =
      known.length > 1 ? 'The runs shown have the same configuration.' : '';
}
