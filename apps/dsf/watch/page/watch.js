// Asks the server what is new and keeps the page up to date with it.

import {Chart, formatNumber, swatch} from './chart.js';
import {showConfigs} from './configs.js';
import {offerRuns} from './generate.js';

const COLORS = 8;
const QUICK = 1000;  // milliseconds between two questions while a run is training
const SLOW = 3000;

const CHARTS = [
  {id: 'loss', title: 'training loss', column: 'loss', smooth: true, log: true},
  {id: 'perplexity', title: 'validation perplexity', column: 'perplexity', evaluations: true, log: true},
  {id: 'learning_rate', title: 'learning rate', column: 'learning_rate'},
  {id: 'gradient_norm', title: 'gradient norm', column: 'gradient_norm', smooth: true, log: true},
  {id: 'tokens_per_second', title: 'tokens per second', column: 'tokens_per_second', smooth: true},
];

const byId = (id) => document.getElementById(id);
const runs = new Map();  // by name: {info, look, generation, training, evaluations, hidden}
const charts = CHARTS.map((options) => new Chart(byId('charts'), byId('tooltip'), options));
let looks = 0;

async function fetchJson(url) {
  const response = await fetch(url);
  const json = await response.json();
  if (!response.ok) throw new Error(json.error);
  return json;
}

// Colours first, then dashes: a run keeps its look for as long as the page is open.
function nextLook() {
  const number = looks++;
  const dash = Math.floor(number / COLORS) % 3;
  return {color: `c${number % COLORS}`, dash: dash ? `dash${dash}` : ''};
}

function noPoints() {
  return {
    generation: 0,
    training: {step: [], loss: [], learning_rate: [], gradient_norm: [], tokens_per_second: []},
    evaluations: {step: [], perplexity: []},
  };
}

function append(news, columns) {
  for (const [name, values] of Object.entries(columns)) {
    values.length = Math.min(values.length, news.from);
    for (const value of news[name]) values.push(value);
  }
}

function isBehind(run) {
  return run.generation !== run.info.generation || run.training.step.length < run.info.training ||
      run.evaluations.step.length < run.info.evaluations;
}

async function catchUp(run) {
  while (isBehind(run)) {
    const known = new URLSearchParams({
      run: run.info.name,
      generation: run.generation,
      training: run.training.step.length,
      evaluations: run.evaluations.step.length,
    });
    const news = await fetchJson(`api/points?${known}`);
    if (news.generation !== run.generation) Object.assign(run, noPoints(), {generation: news.generation});
    append(news.training, run.training);
    append(news.evaluations, run.evaluations);
    if (!news.training.step.length && !news.evaluations.step.length) return;  // it was begun anew
  }
}

function takeOver(list) {
  const names = new Set(list.map((info) => info.name));
  for (const name of runs.keys()) if (!names.has(name)) runs.delete(name);
  for (const info of list) {
    if (!runs.has(info.name)) runs.set(info.name, {...noPoints(), look: nextLook(), hidden: false});
    runs.get(info.name).info = info;
  }
}

// --- the table of runs ---

function duration(seconds) {
  const whole = Math.round(seconds);
  const two = (number) => String(number).padStart(2, '0');
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  if (whole >= 60) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${whole} s`;
}

function cell(content, className = '') {
  const element = document.createElement('td');
  element.className = className;
  element.append(content);
  return element;
}

function nameCell(run) {
  const box = document.createElement('input');
  box.type = 'checkbox';
  box.checked = !run.hidden;
  box.addEventListener('change', () => {
    run.hidden = !box.checked;
    show();
  });
  const label = document.createElement('label');
  label.append(box, swatch(run.look), run.info.name);
  return cell(label, 'name');
}

// By what the steps so far took, evaluations included.
function timeLeft({state, step, total_steps: total, seconds}) {
  return state === 'running' && step > 0 && step < total ? ` · ${duration(seconds * (total - step) / step)} left` : '';
}

function stepsCell(info) {
  const {step, total_steps: total} = info;
  const parts = document.createDocumentFragment();
  if (total > 0) {
    const bar = document.createElement('progress');
    bar.max = total;
    bar.value = step;
    parts.append(bar);
  }
  parts.append(total > 0 ? `${formatNumber(step)} / ${formatNumber(total)}` : formatNumber(step), timeLeft(info));
  return cell(parts);
}

function rowOf(run) {
  const {info} = run;
  const row = document.createElement('tr');
  row.classList.toggle('off', run.hidden);
  row.append(
      nameCell(run), cell(info.state, `state-${info.state}`), cell(info.method), cell(info.model),
      cell(formatNumber(info.parameters), 'number'), stepsCell(info),
      cell(info.best_perplexity === null ? '–' : info.best_perplexity.toFixed(2), 'number'),
      cell(formatNumber(Math.round(info.tokens_per_second)), 'number'), cell(duration(info.seconds), 'number'));
  return row;
}

// The focused checkbox must survive that the rows are made anew.
function showTable() {
  const body = byId('runs').tBodies[0];
  const boxes = () => [...body.querySelectorAll('input')];
  const focused = boxes().indexOf(document.activeElement);
  body.replaceChildren(...[...runs.values()].map(rowOf));
  if (focused >= 0) boxes()[focused]?.focus();
  byId('runs').hidden = runs.size === 0;
  byId('no-runs').hidden = runs.size > 0;
}

function showCharts() {
  const view = {smoothing: Number(byId('smoothing').value), log: byId('log-scale').checked};
  const visible = [...runs.values()].filter((run) => !run.hidden);
  CHARTS.forEach((options, i) => {
    const kind = options.evaluations ? 'evaluations' : 'training';
    charts[i].show(
        visible.map((run) => ({name: run.info.name, look: run.look, x: run[kind].step, y: run[kind][options.column]})),
        view);
  });
}

function show() {
  showTable();
  showCharts();
  showConfigs([...runs.values()].filter((run) => !run.hidden));
}

// --- the conversation with the server ---

let configsOf = '';  // runs and generations whose configurations are shown

async function update() {
  const {directory, runs: list} = await fetchJson('api/runs');
  byId('directory').textContent = directory;
  takeOver(list);
  for (const run of runs.values()) await catchUp(run);
  const signature = JSON.stringify(list.map((info) => [info.name, info.generation]));
  if (signature !== configsOf) {
    const {keys, runs: values} = await fetchJson('api/configs');
    for (const run of runs.values()) run.config = keys.map((key, i) => [key, values[run.info.name]?.[i] ?? '']);
    configsOf = signature;
  }
  offerRuns(list.filter((info) => info.can_generate).map((info) => info.name));
  show();
  const training = list.filter((info) => info.state === 'running').length;
  byId('connection').textContent = training ? `live: ${training} training` : 'up to date';
  return training ? QUICK : SLOW;
}

async function keepUpToDate() {
  let pause = SLOW;
  try {
    pause = await update();
    byId('connection').classList.remove('lost');
  } catch (error) {
    byId('connection').textContent = `no answer from dsf watch (${error.message}); trying again`;
    byId('connection').classList.add('lost');
  }
  setTimeout(keepUpToDate, pause);
}

for (const id of ['smoothing', 'log-scale', 'only-differences']) byId(id).addEventListener('input', show);
keepUpToDate();
