// The fitted model in the browser.

import { fillGaps, readCells, readFactors } from "./unpack.js";

const SURE = 1 - 1e-9;
const OFTEN = 200;
const STEP = 50;
const HALF = 0.5;
// A one is surprising if its probability is at most a tenth of its column's share of ones.
export const UNLIKELY = 0.9;
const SURPRISING = 1;
const USUAL = 2;

// Probabilities of every cell, kept up to date while the sliders move. `sum` holds, per cell, what
// adds up over components: kept probability (convex), -log(1 - p) (noisy-or), or a score.
export class Fit {
  constructor(packed) {
    const [n, t] = packed.shape,
      k = packed.kinds.length;
    this.n = n;
    this.t = t;
    this.k = k;
    // Field by field: browsers optimise objects whose fields they can see.
    this.link = packed.link;
    this.kinds = packed.kinds;
    this.preset = packed.keep;
    this.keep = packed.kinds.map(() => 1);
    this.isPreset = this.preset.every((x) => x === 1);
    this.rows = Array.from(packed.rows, String);
    this.columns = Array.from(packed.columns, String);
    this.row_group = packed.row_group;
    this.column_group = packed.column_group;
    this.importance = packed.importance;
    this.image_shape = packed.image_shape;
    this.pixel = packed.pixel;
    this.title = packed.title;
    this.groups = packed.groups;
    this.group_sizes = packed.group_sizes;
    // Rows that are searched for surprising cells.
    this.range = [0, n];
    this.base = packed.base;
    this.trace = packed.trace;
    this.cells = readCells(packed);
    this.corrections = new Uint8Array(n * t);
    fillGaps(this.corrections, packed.surprising, SURPRISING);
    fillGaps(this.corrections, packed.usual, USUAL);
    this.rates = this.columnRates();
    this.W = readFactors(packed, "weight", k, n);
    this.A = readFactors(packed, "component", k, t);
    this.convex = this.link === "convex";
    if (this.convex) this.normaliseWeights();
    this.W.forEach((w, i) => w.forEach((_, r) => (w[r] += this.trace[i] ?? 0)));
    this.sum = new Float32Array(n * t);
    this.mass = new Float64Array(n);
    this.unit = new Float64Array(n);
    this.applied = new Float64Array(n * k);
    this.versions = new Uint32Array(n);
    this.moves = new Uint16Array(n);
    this.version = 0;
    for (let r = 0; r < n; r++) this.exactRow(r);
    // Rows are recomputed now and then, against rounding; not all of them in the same frame.
    for (let r = 0; r < n; r++) this.moves[r] = r % OFTEN;
    this.full = this.sum.slice();
    this.setAll(this.preset);
  }

  // Share of ones among the observed cells of each column; 1 where there are none.
  columnRates() {
    const { n, t, cells } = this,
      ones = new Float64Array(t),
      known = new Float64Array(t);
    for (let at = 0; at < n * t; at++) {
      ones[at % t] += cells[at] === 1;
      known[at % t] += cells[at] !== 2;
    }
    return ones.map((count, c) => count / known[c] || 1);
  }

  normaliseWeights() {
    for (let r = 0; r < this.n; r++) {
      let total = 0;
      for (const w of this.W) total += w[r];
      for (const w of this.W) w[r] /= total || 1;
    }
  }

  // Compute a row from scratch: rows that lost most of their weight would magnify rounding errors.
  exactRow(r) {
    const { t, sum, keep } = this,
      from = r * t;
    this.applied.set(keep, r * this.k);
    this.moves[r] = 0;
    for (let c = 0; c < t; c++) sum[from + c] = this.base[c] ?? 0;
    this.mass[r] = 0;
    for (let k = 0; k < this.k; k++) this.shiftRow(r, k, 0, keep[k]);
    this.unit[r] = this.mass[r] || 1;
  }

  shiftRow(r, k, before, after) {
    const w = this.W[k][r],
      a = this.A[k],
      step = (after - before) * w,
      { t, sum } = this,
      from = r * t;
    if (!step) return;
    this.mass[r] += step;
    if (this.link === "noisy-or")
      for (let c = 0; c < t; c++)
        sum[from + c] +=
          Math.log1p(-Math.min(before * w * a[c], SURE)) - Math.log1p(-Math.min(after * w * a[c], SURE));
    else for (let c = 0; c < t; c++) sum[from + c] += step * a[c];
  }

  // Move a slider. Rows are updated when they are read, so rows out of sight cost nothing.
  move(k, value) {
    if (value === this.keep[k]) return;
    this.keep[k] = value;
    this.isPreset = this.keep.every((x, i) => x === this.preset[i]);
    this.version++;
  }

  // Update a row by adding what has changed since it was last read.
  follow(r) {
    if (this.versions[r] === this.version) return;
    const { k: count, applied, keep } = this;
    this.versions[r] = this.version;
    this.moves[r]++;
    for (let k = 0, at = r * count; k < count; k++, at++)
      if (applied[at] !== keep[k]) {
        this.shiftRow(r, k, applied[at], keep[k]);
        applied[at] = keep[k];
      }
    this.unit[r] = this.mass[r] || 1;
    if (this.moves[r] > OFTEN || (this.convex && this.mass[r] < 0.05)) this.exactRow(r);
  }

  setAll(keep) {
    keep.forEach((value, k) => this.move(k, value));
  }

  // The sum at which a cell of this row has probability p.
  level(r, p) {
    this.follow(r);
    if (this.convex) return p * this.unit[r];
    return { logistic: Math.log(p / (1 - p)), tanh: 2 * Math.atanh(p), "noisy-or": -Math.log1p(-p) }[
      this.link
    ];
  }

  toProbability(sum, r) {
    const p = this.convex
      ? sum / this.unit[r]
      : this.link === "noisy-or"
        ? -Math.expm1(-sum)
        : this.link === "tanh"
          ? Math.tanh(sum / 2)
          : 1 / (1 + Math.exp(-sum));
    return p > 0 ? (p < 1 ? p : 1) : 0;
  }

  probability(r, c) {
    this.follow(r);
    return this.toProbability(this.sum[r * this.t + c], r);
  }

  // Posterior probability that a removed component made the cell's value.
  noise(r, c) {
    this.follow(r);
    return this.noiseAt(r, r * this.t + c);
  }

  // Whether any component is turned down.
  get isReduced() {
    return this.keep.some((x) => x < 1);
  }

  // The same for a row that is up to date, and the cell's place in the table.
  noiseAt(r, at) {
    const one = this.cells[at] === 1,
      full = this.full[at],
      kept = this.sum[at];
    const removed = one ? full - kept : 1 - this.mass[r] - full + kept;
    return Math.min(1, Math.max(0, removed / Math.max(one ? full : 1 - full, 1e-12)));
  }

  // How surprising a cell is, given the kept components: p for a zero, 1 - p / rate for a one.
  surpriseAt(r, at) {
    const p = this.toProbability(this.sum[at], r);
    return this.cells[at] === 1 ? 1 - Math.min(1, p / this.rates[at - r * this.t]) : p;
  }

  // Whether a cell is surprising. Numbers here are rounded, so for the preset sliders the page holds
  // corrections for all cells that it could judge differently from the library.
  isSurprising(r, at, least = HALF, surprise = this.surpriseAt(r, at)) {
    const one = this.cells[at] === 1,
      known = this.isPreset && (one || least === HALF) ? this.corrections[at] : 0;
    return known ? known === SURPRISING : surprise >= (one ? UNLIKELY : least);
  }

  // Surprising cells of this recorded value (zeros: by at least `least`), most surprising first.
  surprising(value, least, most = Infinity) {
    const search = this.search(value, least, most);
    for (;;) {
      const { done, value: found } = search.next();
      if (done) return found;
    }
  }

  // The same in small steps, so that the page can draw in between.
  *search(value, least, most) {
    const found = [],
      counts = new Uint32Array(513),
      [from, to] = this.range;
    for (let r = from; r < to; r++) {
      this.searchRow(r, value, least, found, counts);
      if (r % STEP === STEP - 1) yield;
    }
    let bin = 512,
      above = counts[512];
    while (bin > 0 && above < most) above += counts[--bin];
    const best = found.filter((cell) => cell[2] >= bin / 512);
    best.sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]);
    return { count: found.length, cells: best.slice(0, Math.min(most, best.length)) };
  }

  searchRow(r, value, least, found, counts) {
    const { t, cells, sum, corrections } = this,
      reach = value ? -Infinity : this.level(r, least),
      end = (r + 1) * t;
    this.follow(r);
    for (let at = r * t; at < end; at++) {
      if (cells[at] !== value || (sum[at] < reach && !corrections[at])) continue;
      const surprise = this.surpriseAt(r, at);
      if (!this.isSurprising(r, at, least, surprise)) continue;
      counts[Math.floor(512 * surprise)]++;
      found.push([r, at - r * t, surprise]);
    }
  }

  // A component's columns, the most frequent first; ties (to a per cent) by how seldom other
  // components make them (the highest Bayes factor).
  topColumns(k, most) {
    const a = this.A[k],
      others = Float64Array.from(a, (_, c) => this.A.reduce((sum, row, j) => (j === k ? sum : sum + this.importance[j] * Math.abs(row[c])), 0)),
      frequent = (c) => Math.round(100 * a[c]);
    return [...a.keys()]
      .filter((c) => a[c] > 0)
      .sort((b, c) => frequent(c) - frequent(b) || others[b] - others[c] || b - c)
      .slice(0, most);
  }

  // Which component made the recorded value, and which argue for a one or a zero.
  causes(r, c) {
    const one = this.cells[r * this.t + c] === 1;
    const made = this.W.map((w, k) => w[r] * (one ? this.A[k][c] : 1 - this.A[k][c]));
    const against = this.W.map((w, k) => this.keep[k] * w[r] * (one ? 1 - this.A[k][c] : this.A[k][c]));
    return { made: shareOut(made), against: shareOut(against) };
  }
}

function shareOut(parts) {
  const positive = parts.map((part) => Math.max(part, 0));
  const total = positive.reduce((a, b) => a + b, 0);
  return positive.map((part) => (total ? part / total : 0));
}
