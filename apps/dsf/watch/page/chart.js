// A chart: curves over training steps as SVG, with the values under the pointer.

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = {left: 58, right: 12, top: 8, bottom: 24};
const TICKS_X = 5;
const TICKS_Y = 5;
const MOST_DOTS = 20;  // a curve of few points shows them

export function svgElement(name, attributes = {}, parent = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

// A short line in a run's colour and dash.
export function swatch(look) {
  const svg = svgElement('svg', {class: `swatch ${look.color}`, viewBox: '0 0 18 10'});
  svgElement('line', {x1: 0, y1: 5, x2: 18, y2: 5, class: look.dash}, svg);
  return svg;
}

export function formatNumber(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  if (size !== 0 && size < 0.001) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// The numbers on one axis, all written in one way and short enough for the margin.
function tickLabels(ticks) {
  const largest = Math.max(...ticks.map(Math.abs));
  const short = (value) => Number(value.toPrecision(4));
  if (largest < 0.01 || largest >= 1e9) return ticks.map((tick) => (tick ? short(tick).toExponential() : '0'));
  if (largest >= 1e6) return ticks.map((tick) => (tick ? `${short(tick / 1e6)}M` : '0'));
  return ticks.map(formatNumber);
}

// Round numbers that cut [low, high] into about `count` parts.
function roundTicks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((x) => x * power).find((x) => x >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(i * step);
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const digit of [1, 2, 5]) {
      const tick = digit * 10 ** power;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length >= 2 ? ticks : roundTicks(low, high, TICKS_Y);
}

// Exponential moving average that is not drawn towards its start.
function smoothed(values, weight) {
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    sum = weight * sum + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return sum / norm;
  });
}

// Where a column of pixels has many points: the first, lowest, highest and last of them.
function thinned(points) {
  const kept = [];
  let column = [];
  const flush = () => {
    if (column.length <= 4) {
      kept.push(...column);
    } else {
      const by = (better) => column.reduce((a, b) => (better(b[1], a[1]) ? b : a));
      kept.push(column[0], by((a, b) => a < b), by((a, b) => a > b), column[column.length - 1]);
    }
    column = [];
  };
  for (const point of points) {
    if (column.length && Math.floor(point[0]) !== Math.floor(column[0][0])) flush();
    column.push(point);
  }
  flush();
  return kept;
}

const pathOf = (points) => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');

export class Chart {
  // tooltip: an element shared by all charts.
  constructor(parent, tooltip, {id, title, smooth, log}) {
    this.options = {smooth, log};
    this.tooltip = tooltip;
    this.curves = [];
    this.view = {smoothing: 0, log: false};
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = title;
    this.svg = svgElement('svg', {class: 'plot', id: `chart-${id}`, role: 'img', 'aria-label': title});
    figure.append(caption, this.svg);
    parent.append(figure);
    this.svg.addEventListener('pointermove', (event) => this.point(event));
    this.svg.addEventListener('pointerleave', () => this.leave());
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // curves: [{name, look: {color, dash}, x, y}]; view: {smoothing, log}.
  show(curves, view) {
    this.curves = curves;
    this.view = view;
    this.draw();
  }

  draw() {
    const {width, height} = this.svg.getBoundingClientRect();
    this.svg.replaceChildren();
    if (width === 0) return;
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.area = {left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom};
    const useLog = this.view.log && this.options.log;
    const usable = (y) => Number.isFinite(y) && (!useLog || y > 0);
    this.series = this.curves.map((curve) => this.prepare(curve, usable)).filter((s) => s.x.length);
    if (!this.series.length) {
      const text = svgElement('text', {x: width / 2, y: height / 2, 'text-anchor': 'middle'}, this.svg);
      text.textContent = 'no points yet';
      return;
    }
    this.scale(useLog);
    this.drawAxes(useLog);
    for (const series of this.series) this.drawSeries(series);
    this.cross = svgElement('line', {class: 'cross', visibility: 'hidden'}, this.svg);
  }

  prepare(curve, usable) {
    const smoothing = this.options.smooth ? this.view.smoothing : 0;
    const x = [];
    const raw = [];
    curve.y.forEach((y, i) => {
      if (!usable(y)) return;
      x.push(curve.x[i]);
      raw.push(y);
    });
    return {...curve, x, raw, y: smoothing > 0 ? smoothed(raw, smoothing) : raw, smoothing};
  }

  scale(useLog) {
    const x0 = 0;
    let [x1, y0, y1] = [1, Infinity, -Infinity];
    for (const {x, y} of this.series) {
      x1 = Math.max(x1, x[x.length - 1]);
      for (const value of y) {
        y0 = Math.min(y0, value);
        y1 = Math.max(y1, value);
      }
    }
    const place = useLog ? Math.log : (y) => y;
    let [low, high] = [place(y0), place(y1)];
    const pad = (high - low || Math.abs(high) || 1) * 0.05;
    [low, high] = [low - pad, high + pad];
    if (!useLog && y0 >= 0) low = Math.max(low, 0);
    const {left, right, top, bottom} = this.area;
    this.px = (x) => left + ((x - x0) / (x1 - x0)) * (right - left);
    this.py = (y) => bottom - ((place(y) - low) / (high - low)) * (bottom - top);
    this.xRange = [x0, x1];
    this.yRange = useLog ? [Math.exp(low), Math.exp(high)] : [low, high];
  }

  drawAxes(useLog) {
    const {left, right, top, bottom} = this.area;
    const label = (attributes, text) => {
      svgElement('text', attributes, this.svg).textContent = text;
    };
    const yTicks = useLog ? logTicks(...this.yRange) : roundTicks(...this.yRange, TICKS_Y);
    const yLabels = tickLabels(yTicks);
    yTicks.forEach((y, i) => {
      svgElement('line', {class: 'grid', x1: left, x2: right, y1: this.py(y), y2: this.py(y)}, this.svg);
      label({x: left - 6, y: this.py(y) + 4, 'text-anchor': 'end'}, yLabels[i]);
    });
    const xTicks = roundTicks(...this.xRange, TICKS_X);
    const xLabels = tickLabels(xTicks);
    xTicks.forEach((x, i) => {
      svgElement('line', {class: 'grid', x1: this.px(x), x2: this.px(x), y1: top, y2: bottom}, this.svg);
      const anchor = this.px(x) > right - 20 ? 'end' : 'middle';
      label({x: this.px(x), y: bottom + 16, 'text-anchor': anchor}, xLabels[i]);
    });
    svgElement('line', {class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom}, this.svg);
  }

  drawSeries(series) {
    const group = svgElement('g', {class: series.look.color, 'data-run': series.name, 'data-points': series.x.length}, this.svg);
    const placed = (values) => thinned(series.x.map((x, i) => [this.px(x), this.py(values[i])]));
    const {top, bottom} = this.area;
    if (series.smoothing > 0) {  // what lies outside of the smoothed range is drawn at its edge
      const raw = placed(series.raw).map(([x, y]) => [x, Math.min(Math.max(y, top), bottom)]);
      svgElement('path', {class: 'curve raw', d: pathOf(raw)}, group);
    }
    svgElement('path', {class: `curve ${series.look.dash}`, d: pathOf(placed(series.y))}, group);
    if (series.x.length <= MOST_DOTS) {
      series.x.forEach((x, i) => {
        svgElement('circle', {class: 'point', cx: this.px(x), cy: this.py(series.y[i]), r: 2.2}, group);
      });
    }
  }

  // Each run's value at its last point up to the pointer.
  point(event) {
    if (!this.series?.length) return;
    const box = this.svg.getBoundingClientRect();
    const {left, right, top, bottom} = this.area;
    const at = Math.min(Math.max(event.clientX - box.left, left), right);
    const [x0, x1] = this.xRange;
    const step = x0 + ((at - left) / (right - left)) * (x1 - x0);
    for (const [key, value] of Object.entries({x1: at, x2: at, y1: top, y2: bottom, visibility: 'visible'})) {
      this.cross.setAttribute(key, value);
    }
    this.tooltip.replaceChildren();
    const title = document.createElement('div');
    title.className = 'step';
    title.textContent = `step ${formatNumber(Math.round(step))}`;
    this.tooltip.append(title);
    for (const series of this.series) {
      const index = series.x.findLastIndex((x) => x <= step);
      if (index < 0) continue;
      const row = document.createElement('div');
      const name = document.createElement('span');
      const value = document.createElement('span');
      row.className = 'row';
      value.className = 'value';
      name.textContent = series.name;
      value.textContent = formatNumber(series.y[index]);
      row.append(swatch(series.look), name, value);
      this.tooltip.append(row);
    }
    this.tooltip.hidden = false;
    const {width, height} = this.tooltip.getBoundingClientRect();
    const x = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
    this.tooltip.style.left = `${Math.max(x, 4)}px`;
    this.tooltip.style.top = `${Math.min(event.clientY + 12, innerHeight - height - 4)}px`;
  }

  leave() {
    this.tooltip.hidden = true;
    this.cross?.setAttribute('visibility', 'hidden');
  }
}
