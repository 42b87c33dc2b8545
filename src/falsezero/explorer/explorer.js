// The page where an analyst moves P(u|k) and watches the table. No dependency, no network.
// `render({model, el})` has anywidget's shape: `model.get("payload")` is the packed fit.

// -- unpacking ------------------------------------------------------------------------------------

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=/?@^_:{|}~";

async function unpack(text) {
  const blank = text.indexOf(" ");
  const packed = fromBase85(text.slice(blank + 1)).subarray(0, Number(text.slice(0, blank)));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const fit = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  let at = 4 + size;
  for (const { name, type, count } of fit.sections) {
    const width = type === "bytes" ? 1 : type === "planes2" ? 2 : 4;
    fit[name] = joinPlanes(bytes.subarray(at, (at += width * count)), count, width);
  }
  return fit;
}

function fromBase85(text) {
  const value = new Uint8Array(128);
  for (let i = 0; i < 85; i++) value[DIGITS.charCodeAt(i)] = i;
  const bytes = new Uint8Array((text.length / 5) * 4);
  const view = new DataView(bytes.buffer);
  for (let i = 0, at = 0; i < text.length; at += 4) {
    let word = 0;
    for (let j = 0; j < 5; j++) word = word * 85 + value[text.charCodeAt(i++)];
    view.setUint32(at, word);
  }
  return bytes;
}

// Numbers come as planes of bytes, the high ones first: like bytes side by side pack better.
function joinPlanes(bytes, count, width) {
  if (width === 1) return bytes;
  const numbers = new Uint32Array(count);
  for (let p = 0; p < width; p++)
    for (let i = 0; i < count; i++) numbers[i] = numbers[i] * 256 + bytes[p * count + i];
  return numbers;
}

// Cells as gaps between them: 255 means "255 further, and go on".
function fillGaps(cells, gaps, code) {
  let at = -1;
  for (const gap of gaps) {
    at += gap;
    if (gap < 255) cells[++at] = code;
  }
}

function readCells({ bitmap, ones, missing }, count) {
  const cells = new Uint8Array(count);
  if (bitmap) for (let i = 0; i < count; i++) cells[i] = (bitmap[i >> 3] >> (7 - (i & 7))) & 1;
  else fillGaps(cells, ones, 1);
  fillGaps(cells, missing, 2);
  return cells;
}

// -- arithmetic -----------------------------------------------------------------------------------

const SURE = 1 - 1e-9;

// Probabilities of every cell, kept up to date while the sliders move. `sum` holds, per cell, what
// adds up over components: kept probability (convex), -log(1 - p) (noisy-or), or a score.
export class Fit {
  constructor(fit) {
    Object.assign(this, fit);
    const [n, t] = this.shape, k = this.kinds.length;
    Object.assign(this, { n, t, k, preset: [...this.keep], keep: this.kinds.map(() => 1) });
    this.cells = readCells(fit, n * t);
    const read = (codes, width, name) => Array.from({ length: k }, (_, i) =>
      Float64Array.from(codes.subarray(i * width, (i + 1) * width), (code) =>
        this[`${name}_range`] * (code / this[`${name}_levels`] - this[`${name}_shift`]) ** this[`${name}_power`]));
    this.W = read(this.weights, n, "weight");
    this.A = read(this.components, t, "component");
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
    this.full = this.sum.slice();
    this.setAll(this.preset);
  }

  normaliseWeights() {
    for (let r = 0; r < this.n; r++) {
      let total = 0;
      for (const w of this.W) total += w[r];
      for (const w of this.W) w[r] /= total || 1;
    }
  }

  // One row from scratch: rows that lost most of their weight would magnify rounding errors.
  exactRow(r) {
    const { t, sum, keep } = this, from = r * t;
    this.applied.set(keep, r * this.k);
    this.moves[r] = 0;
    for (let c = 0; c < t; c++) sum[from + c] = this.base[c] ?? 0;
    this.mass[r] = 0;
    for (let k = 0; k < this.k; k++) this.shiftRow(r, k, 0, keep[k]);
    this.unit[r] = this.mass[r] || 1;
  }

  shiftRow(r, k, before, after) {
    const w = this.W[k][r], a = this.A[k], step = (after - before) * w, { t, sum } = this, from = r * t;
    if (!step) return;
    this.mass[r] += step;
    if (this.link === "noisy-or")
      for (let c = 0; c < t; c++)
        sum[from + c] += Math.log1p(-Math.min(before * w * a[c], SURE)) - Math.log1p(-Math.min(after * w * a[c], SURE));
    else for (let c = 0; c < t; c++) sum[from + c] += step * a[c];
  }

  // A slider moves. Rows follow when they are looked at, so that what is out of sight costs nothing.
  move(k, value) {
    if (value === this.keep[k]) return;
    this.keep[k] = value;
    this.version++;
  }

  // Bring a row up to date by adding what changed since it was last looked at.
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
    if (this.moves[r] > 200 || (this.convex && this.mass[r] < 0.05)) this.exactRow(r);
  }

  setAll(keep) {
    keep.forEach((value, k) => this.move(k, value));
  }

  // The sum at which a cell of this row has probability p.
  level(r, p) {
    this.follow(r);
    if (this.convex) return p * this.unit[r];
    return { logistic: Math.log(p / (1 - p)), tanh: 2 * Math.atanh(p), "noisy-or": -Math.log1p(-p) }[this.link];
  }

  toProbability(sum, r) {
    const p = this.convex ? sum / this.unit[r] : this.link === "noisy-or" ? -Math.expm1(-sum)
      : this.link === "tanh" ? Math.tanh(sum / 2) : 1 / (1 + Math.exp(-sum));
    return p > 0 ? (p < 1 ? p : 1) : 0;
  }

  probability(r, c) {
    this.follow(r);
    return this.toProbability(this.sum[r * this.t + c], r);
  }

  // Posterior probability that something taken out made the cell's value.
  noise(r, c) {
    if (!this.convex) return 1;
    this.follow(r);
    const at = r * this.t + c, one = this.cells[at] === 1, full = this.full[at], kept = this.sum[at];
    const removed = one ? full - kept : 1 - this.mass[r] - full + kept;
    return Math.min(1, Math.max(0, removed / Math.max(one ? full : 1 - full, 1e-12)));
  }

  // Probability that the recorded value is wrong: noise made it, and the content says otherwise.
  doubt(r, c) {
    const p = this.probability(r, c);
    return this.noise(r, c) * (this.cells[r * this.t + c] === 1 ? 1 - p : p);
  }

  // Cells of this recorded value that are doubted by at least `least`, best first.
  doubtful(value, least, most = Infinity) {
    const { n, t, cells, sum } = this, found = [], counts = new Uint32Array(513), sign = value ? -1 : 1;
    for (let r = 0; r < n; r++) {
      const reach = sign * this.level(r, value ? 1 - least : least), end = (r + 1) * t;
      for (let at = r * t; at < end; at++) {
        if (cells[at] !== value || sign * sum[at] < reach) continue;
        const doubt = this.doubt(r, at - r * t);
        if (doubt < least) continue;
        counts[Math.floor(512 * doubt)]++;
        found.push([r, at - r * t, doubt]);
      }
    }
    let bin = 512, above = counts[512];
    while (bin > 0 && above < most) above += counts[--bin];
    const best = found.filter((cell) => cell[2] >= bin / 512);
    best.sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]);
    return { count: found.length, cells: best.slice(0, Math.min(most, best.length)) };
  }

  // Which component made the recorded value (all weights), and which speak for a one or a zero.
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

// -- drawing --------------------------------------------------------------------------------------

const STRIP = 7;
const CELL = 24;
const READABLE = 12;
const PALE = 0.06;
const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
const hue = (k, count) => `hsl(${Math.round((360 * k) / count + 205) % 360} 55% 50%)`;
const shorten = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);

// Neighbours of the same group, as [from, to, group].
function runs(groups, from, to) {
  const found = [];
  for (let i = from; i < to; i++)
    if (found.length && found.at(-1)[2] === groups[i]) found.at(-1)[1] = i + 1;
    else found.push([i, i + 1, groups[i]]);
  return found;
}

function addCodes(cells, count, bin, ink, unknown) {
  for (let i = 0; i < count; i++)
    if (cells[i] === 1) ink[bin[i]]++;
    else if (cells[i] === 2) unknown[bin[i]]++;
}

function addAbove(sum, half, count, bin, ink) {
  for (let i = 0; i < count; i++) if (sum[i] >= half) ink[bin[i]]++;
}

function addScaled(sum, scale, count, bin, ink) {
  for (let i = 0; i < count; i++) ink[bin[i]] += sum[i] * scale;
}

// Ink where record and expectation agree; the places where they do not go to `differing`.
function addAgreeing(cells, sum, half, count, bin, ink, unknown, differing) {
  let found = 0;
  for (let i = 0; i < count; i++) {
    const code = cells[i], one = sum[i] >= half ? 1 : 0;
    if (code === one) {
      if (one) ink[bin[i]] += 0.5;
    } else if (code === 2) unknown[bin[i]]++;
    else differing[found++] = i;
  }
  return found;
}

class Picture {
  constructor(fit, canvas) {
    this.fit = fit;
    this.canvas = canvas;
    this.view = "differences";
    this.cursor = null;
    this.image = document.createElement("canvas");
    this.whole();
  }

  whole() {
    this.top = 0;
    this.left = 0;
    this.zoom = 1;
  }

  // Room for names at the left and on top, less of it while cells are too small to be named.
  get gutter() {
    const { clientWidth, clientHeight } = this.canvas, most = { left: 150, top: 104 };
    const size = (room, count) => room / Math.min(count, Math.max(room / CELL, count / this.zoom));
    const rows = size(clientHeight - most.top, this.fit.n) >= READABLE;
    const columns = size(clientWidth - most.left, this.fit.t) >= READABLE;
    return { rows, columns, left: rows ? most.left : 112, top: columns ? most.top : 30 };
  }

  // Cells in sight: the whole table at zoom 1; no cell grows beyond what its label needs.
  get span() {
    const { n, t } = this.fit, { width, height } = this.box();
    return {
      rows: Math.min(n, Math.max(height / CELL, n / this.zoom)),
      columns: Math.min(t, Math.max(width / CELL, t / this.zoom)),
    };
  }

  zoomFor(pixels) {
    const { width, height } = this.box();
    return Math.max(1, (this.fit.n * pixels) / height, (this.fit.t * pixels) / width);
  }

  zoomBy(factor, r, c) {
    const before = this.span;
    const y = r === undefined ? 0.5 : (r - this.top) / before.rows;
    const x = c === undefined ? 0.5 : (c - this.left) / before.columns;
    this.zoom = Math.min(this.zoomFor(CELL), Math.max(1, this.zoom * factor));
    const after = this.span;
    this.moveTo(this.top + y * (before.rows - after.rows), this.left + x * (before.columns - after.columns));
  }

  moveTo(top, left) {
    const { rows, columns } = this.span;
    this.top = Math.min(Math.max(0, top), this.fit.n - rows);
    this.left = Math.min(Math.max(0, left), this.fit.t - columns);
  }

  // Bring a cell into sight, at a zoom where its labels can be read.
  show(r, c) {
    this.zoom = Math.max(this.zoom, this.zoomFor(15));
    const { rows, columns } = this.span;
    this.moveTo(r + 0.5 - rows / 2, c + 0.5 - columns / 2);
  }

  box() {
    const { clientWidth, clientHeight } = this.canvas, { left, top } = this.gutter;
    return { left, top, width: clientWidth - left, height: clientHeight - top };
  }

  cellAt(x, y) {
    const { left, top, width, height } = this.box(), { rows, columns } = this.span;
    const r = Math.floor(this.top + ((y - top) / height) * rows);
    const c = Math.floor(this.left + ((x - left) / width) * columns);
    return x >= left && y >= top && r < this.fit.n && c < this.fit.t ? [r, c] : null;
  }

  // At most `budget` rows are looked at, for a picture that keeps up with a moving hand.
  draw(budget = Infinity) {
    const { canvas } = this, scale = window.devicePixelRatio || 1;
    const wide = Math.round(canvas.clientWidth * scale), high = Math.round(canvas.clientHeight * scale);
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const style = getComputedStyle(canvas), colour = (name) => style.getPropertyValue(name).trim();
    this.colours = Object.fromEntries(
      ["paper", "ink", "missed", "extra", "unknown"].map((name) => [name, rgb(colour(`--${name}`))]));
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, high);
    this.paint(scale, budget);
    const { left, top, width, height } = this.box(), { rows, columns } = this.span;
    const cell = { high: height / rows, wide: width / columns };
    const first = { r: Math.floor(this.top), c: Math.floor(this.left) };
    pen.imageSmoothingEnabled = false;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.drawImage(this.image, left - (this.left - first.c) * cell.wide, top - (this.top - first.r) * cell.high,
      this.shown.columns * cell.wide, this.shown.rows * cell.high);
    if (this.cursor) this.outline(pen, cell, colour("--focus"));
    pen.restore();
    pen.fillStyle = colour("--text");
    pen.font = "11px system-ui, sans-serif";
    this.label(pen, cell, first, colour);
  }

  outline(pen, cell, colour) {
    const [r, c] = this.cursor, { left, top } = this.gutter;
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.strokeRect(left + (c - this.left) * cell.wide - 1, top + (r - this.top) * cell.high - 1,
      Math.max(cell.wide, 5) + 2, Math.max(cell.high, 5) + 2);
  }

  label(pen, cell, first, colour) {
    const { fit } = this, { left, top, rows: rowNames, columns: columnNames } = this.gutter;
    const right = left - STRIP - 4, above = top - STRIP - 4;
    const y = (r) => top + (r - this.top) * cell.high, x = (c) => left + (c - this.left) * cell.wide;
    for (const [from, to, group] of runs(fit.row_group, first.r, first.r + this.shown.rows)) {
      const start = Math.max(top, y(from));
      pen.fillStyle = hue(group, fit.k);
      pen.fillRect(left - STRIP, start, STRIP - 2, y(to) - start);
    }
    for (const [from, to, group] of runs(fit.column_group, first.c, first.c + this.shown.columns)) {
      const start = Math.max(left, x(from));
      pen.fillStyle = hue(group, fit.k);
      pen.fillRect(start, top - STRIP, x(to) - start, STRIP - 2);
    }
    pen.textBaseline = "middle";
    pen.fillStyle = colour("--text");
    pen.textAlign = "right";
    if (rowNames) this.each(first.r, this.shown.rows, y, top, this.canvas.clientHeight,
      (r, at) => pen.fillText(shorten(fit.rows[r], 22), right, at));
    else ["zoom in for names", `of ${many(fit.n, "row")}`].forEach((text, i) => pen.fillText(text, right, top + 12 + 16 * i));
    pen.textAlign = "left";
    if (!columnNames) return pen.fillText(`zoom in for names of ${many(fit.t, "column")}`, left, above - 6);
    this.each(first.c, this.shown.columns, x, left, this.canvas.clientWidth, (c, at) => {
      pen.save();
      pen.translate(at, above);
      pen.rotate(-Math.PI / 2);
      pen.fillText(shorten(fit.columns[c], 17), 0, 0);
      pen.restore();
    });
  }

  // Middles of the cells whose label has room.
  each(first, count, edge, low, high, write) {
    for (let i = first; i < first + count; i++) {
      const middle = edge(i + 0.5);
      if (middle > low + 4 && middle < high - 3) write(i, middle);
    }
  }

  // One pixel a cell, or the mean of the cells that share a pixel, for what is in sight only.
  paint(scale, budget) {
    const { fit } = this, { rows, columns } = this.span, { width, height } = this.box();
    const r0 = Math.floor(this.top), r1 = Math.min(fit.n, Math.ceil(this.top + rows));
    const c0 = Math.floor(this.left), c1 = Math.min(fit.t, Math.ceil(this.left + columns));
    this.shown = { rows: r1 - r0, columns: c1 - c0 };
    const wide = Math.max(1, Math.min(c1 - c0, Math.round(width * scale)));
    const high = Math.max(1, Math.min(r1 - r0, Math.round(height * scale), budget));
    const deepest = Math.max(1, Math.floor(budget / high));
    Object.assign(this.image, { width: wide, height: high });
    const pen = this.image.getContext("2d"), pixels = pen.createImageData(wide, high);
    const bin = Uint16Array.from({ length: c1 - c0 }, (_, i) => Math.floor((i * wide) / (c1 - c0)));
    const across = new Float32Array(wide), parts = {}, words = new Uint32Array(pixels.data.buffer);
    const shades = Uint32Array.from({ length: 256 }, (_, i) => this.tint(i / 255, 0, 0, 0));
    for (const x of bin) across[x]++;
    for (const name of ["ink", "missed", "extra", "unknown"]) parts[name] = new Float32Array(wide);
    for (let y = 0, r = r0; y < high; y++) {
      for (const part of Object.values(parts)) part.fill(0);
      const end = r0 + Math.floor(((y + 1) * (r1 - r0)) / high), deep = Math.min(deepest, end - r);
      for (let i = 0; i < deep; i++) this.gather(r + i, c0, c1, bin, parts);
      r = end;
      this.mix(parts, across, deep, words, y * wide, shades);
    }
    pen.putImageData(pixels, 0, 0);
  }

  // Add one row to the pixels it falls into. The loops are the hot ones: plain arrays, few branches.
  gather(r, c0, c1, bin, { ink, missed, extra, unknown }) {
    const { fit, view } = this, from = r * fit.t;
    const half = fit.level(r, 0.5), cells = fit.cells.subarray(from + c0, from + c1);
    const sum = fit.sum.subarray(from + c0, from + c1), count = c1 - c0;
    if (view === "original") addCodes(cells, count, bin, ink, unknown);
    else if (view === "denoised") addAbove(sum, half, count, bin, ink);
    else if (view === "probability" && fit.convex) addScaled(sum, 1 / fit.unit[r], count, bin, ink);
    else if (view === "probability") for (let i = 0; i < count; i++) ink[bin[i]] += fit.toProbability(sum[i], r);
    else {
      const found = addAgreeing(cells, sum, half, count, bin, ink, unknown, (this.differing ??= new Uint32Array(fit.t)));
      for (let j = 0; j < found; j++) {
        const i = this.differing[j];
        (cells[i] ? extra : missed)[bin[i]] += fit.doubt(r, c0 + i) >= 0.5 ? 1 : PALE;
      }
    }
  }

  mix({ ink, missed, extra, unknown }, across, deep, pixels, at, shades) {
    for (let x = 0; x < across.length; x++) {
      const share = 1 / (across[x] * deep), shade = Math.round(255 * ink[x] * share);
      pixels[at + x] = missed[x] || extra[x] || unknown[x]
        ? this.tint(shade / 255, missed[x] * share, extra[x] * share, unknown[x] * share)
        : shades[shade];
    }
  }

  // A pixel as one number, in the byte order of every machine that runs a browser. Rare differences
  // must not drown in the mean of a pixel: the root lifts them.
  tint(i, missed, extra, u) {
    const { paper, ink, missed: orange, extra: purple, unknown: grey } = this.colours;
    const m = Math.sqrt(missed), e = Math.sqrt(extra), part = 1 / Math.max(1, m + e);
    let word = 255;
    for (let j = 2; j >= 0; j--) {
      const value = paper[j] + i * (ink[j] - paper[j]) + u * (grey[j] - paper[j]);
      word = (word << 8) | (value + part * (m * (orange[j] - value) + e * (purple[j] - value)));
    }
    return word;
  }
}

// -- the page -------------------------------------------------------------------------------------

const FRAME = 14;
const percent = (x) => (x > 0 && x < 0.01 ? "<1 %" : x < 1 && x > 0.99 ? ">99 %" : `${Math.round(100 * x)} %`);
const many = (n, one, more = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;
const KIND = {
  content: "content",
  white: "makes zeros only: stands for what was missed",
  black: "makes ones only: stands for what was added",
};

function h(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options))
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

// Largest first; few enough to read.
function strongest(values, most, least = 0) {
  return [...values.keys()].filter((i) => values[i] > least)
    .sort((a, b) => values[b] - values[a] || a - b).slice(0, most);
}

const bar = (share, text) => h("div", { className: "bar" },
  h("span", { className: "fill", style: `width:${(100 * share).toFixed(1)}%`, "aria-hidden": "true" }),
  h("span", { className: "name" }, text), h("span", { className: "number" }, percent(share)));

class Page {
  constructor(fit, el) {
    Object.assign(this, { fit, el, value: 0, least: 0.5, budget: Infinity });
    this.canvas = h("canvas", { tabIndex: 0, id: "fz-table", role: "application",
      "aria-describedby": "fz-keys", "aria-label": `Picture of the table, ${many(fit.n, "row")} by ${many(fit.t, "column")}` });
    this.said = h("output", { className: "said", "aria-live": "polite" }, "Point at a cell, or press an arrow key in the table.");
    this.why = h("div", { id: "fz-why", "aria-live": "polite" }, h("p", {}, "Click a cell of the table or a line of the list."));
    this.body = h("tbody");
    this.count = h("p", { className: "count", role: "status" });
    this.picture = new Picture(fit, this.canvas);
    el.classList.add("falsezero");
    el.replaceChildren(this.head(), h("main", {}, this.components(), this.table(), h("div", { className: "side" }, this.doubts(), this.reason())));
    this.listen();
    this.picture.draw();
    this.list();
  }

  head() {
    const { fit } = this, noisy = (kind) => [...fit.kinds.keys()].filter((k) => fit.kinds[k] === kind);
    const does = (list, what) => (list.length > 1 ? `components ${list.join(", ")} make` : `component ${list[0]} makes`) + ` ${what}`;
    const stands = (list, what) => (list.length > 1 ? `They stand for what ${what}, so they start` : `It stands for what ${what}, so it starts`);
    const white = noisy("white"), black = noisy("black"), ones = fit.cells.reduce((a, b) => a + (b === 1), 0);
    const lines = [`A zero in a table can mean two things: not there, or there and missed. The model explains this table (${many(fit.n, "row")}, ${many(fit.t, "column")}, ${percent(ones / fit.cells.length)} ones) by ${many(fit.k, "component")}: sets of columns that tend to occur together.`];
    if (white.length) lines.push(`Here ${does(white, "zeros in every column")}. ${stands(white, "was missed")} switched off; what the others then expect, but nobody recorded, is drawn in orange: the doubtful zeros.`);
    if (black.length) lines.push(`Here ${does(black, "ones in nearly every column")}. ${stands(black, "was added by mistake")} switched off; ones that nothing else expects are drawn in purple: the doubtful ones.`);
    if (!white.length && !black.length) lines.push(fit.link === "convex"
      ? "No component looks like noise here, so no zero is doubted yet. Switch off a component that you take for noise, and see which zeros it was hiding."
      : "A zero is doubtful where the components together expect a one.");
    lines.push("A doubtful zero deserves a second look, not a correction: the model knows only what occurs together in this table.");
    return h("header", {}, h("h1", {}, fit.title), h("p", {}, lines.join(" ")));
  }

  components() {
    const { fit } = this;
    const button = (text, keep) => h("button", { type: "button", onclick: () => this.setAll(keep()) }, text);
    this.sliders = [];
    return h("section", { className: "components", "aria-labelledby": "fz-components" },
      h("h2", { id: "fz-components" }, "Components"),
      h("p", {}, "Each slider says how much you believe in a component: 100 % keeps it, 0 % takes it out as noise."),
      h("div", { className: "buttons" }, button("Noise out", () => fit.preset), button("Keep all", () => fit.kinds.map(() => 1))),
      fit.kinds.map((kind, k) => this.card(kind, k)));
  }

  card(kind, k) {
    const { fit } = this, top = strongest(fit.A[k], 6);
    const shown = h("output", { htmlFor: `fz-keep-${k}` }, percent(fit.keep[k]));
    const slider = h("input", { type: "range", id: `fz-keep-${k}`, min: 0, max: 1, step: 0.01, value: fit.keep[k] });
    slider.addEventListener("input", () => this.slide(k, Number(slider.value)));
    slider.addEventListener("change", () => this.rest());
    this.sliders.push({ slider, shown });
    const picture = fit.image_shape ? [this.thumbnail(k)] : [];
    const scale = fit.link === "convex" || fit.link === "noisy-or" ? 1 : Math.max(...fit.A[k], 1e-9);
    return h("article", { className: `card ${kind}` },
      h("h3", {}, h("span", { className: "swatch", style: `background:${hue(k, fit.k)}`, "aria-hidden": "true" }), `Component ${k}`,
        h("small", {}, ` ${percent(fit.importance[k])} of the weight`)),
      kind === "content" ? [] : h("p", { className: "kind" }, KIND[kind]),
      fit.image_shape ? picture : top.map((c) => bar(fit.A[k][c] / scale, fit.columns[c])),
      h("div", { className: "slider" }, h("label", { htmlFor: `fz-keep-${k}` }, `Keep component ${k}`), slider, shown));
  }

  thumbnail(k) {
    const [high, wide] = this.fit.image_shape, image = h("canvas", { className: "thumbnail", width: wide, height: high, role: "img", "aria-label": `Component ${k} as an image` });
    const pen = image.getContext("2d"), pixels = pen.createImageData(wide, high);
    this.fit.pixel.forEach((place, c) => pixels.data.set([11, 42, 69, 255 * Math.min(1, this.fit.A[k][c])], 4 * place));
    pen.putImageData(pixels, 0, 0);
    return image;
  }

  table() {
    const views = { original: "As recorded", probability: "Probability", denoised: "Without noise", differences: "Differences" };
    const radios = Object.entries(views).map(([view, text]) => h("label", {}, h("input", { type: "radio", name: "fz-view", value: view, checked: view === this.picture.view,
      onchange: () => { this.picture.view = view; this.draw(); } }), ` ${text}`));
    const zoom = (text, label, act) => h("button", { type: "button", "aria-label": label, title: label, onclick: () => { act(); this.draw(); } }, text);
    const at = () => this.picture.cursor ?? [];
    const key = (name, text) => h("span", { className: "key" }, h("span", { className: `patch ${name}`, "aria-hidden": "true" }), text);
    return h("section", { className: "table", "aria-labelledby": "fz-table-title" },
      h("h2", { id: "fz-table-title" }, "Table"),
      h("div", { className: "tools" }, h("fieldset", {}, h("legend", {}, "Show"), radios),
        h("div", { className: "buttons" }, zoom("−", "Zoom out", () => this.picture.zoomBy(1 / 1.6, ...at())), zoom("+", "Zoom in", () => this.picture.zoomBy(1.6, ...at())),
          zoom("All", "Show the whole table", () => this.picture.whole()))),
      h("p", { className: "legend" }, key("ink", "one"), key("missed", "doubtful zero: recorded 0, expected 1"), key("extra", "doubtful one: recorded 1, expected 0"), key("unknown", "not observed"), "Pale: unexpected, but not doubted."),
      this.canvas, this.said,
      h("p", { id: "fz-keys", className: "hint" }, "Rows and columns are sorted by their strongest component (coloured edges). Drag to move, Ctrl and wheel to zoom. With the keyboard: arrows move from cell to cell, + and − zoom, 0 shows all, Enter explains."));
  }

  doubts() {
    const radios = ["Doubtful zeros", "Doubtful ones"].map((text, value) => h("label", {}, h("input", { type: "radio", name: "fz-value", value, checked: value === this.value,
      onchange: () => { this.value = value; this.list(); } }), ` ${text}`));
    const least = h("input", { type: "number", id: "fz-least", min: 0.05, max: 1, step: 0.05, value: this.least, onchange: () => {
      this.least = Math.min(1, Math.max(0.05, Number(least.value) || 0.5)); least.value = this.least; this.list(); } });
    return h("section", { className: "doubts", "aria-labelledby": "fz-doubts" }, h("h2", { id: "fz-doubts" }, "What to doubt"),
      h("div", { className: "tools" }, h("fieldset", {}, h("legend", {}, "List"), radios),
        h("label", { htmlFor: "fz-least" }, "at least ", least)), this.count,
      h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Doubtful cells" }, h("table", {}, h("thead", {}, h("tr", {}, ["Row", "Column", "Probability"].map((t) => h("th", { scope: "col" }, t)))), this.body)),
      h("button", { type: "button", onclick: () => this.download() }, "Download all as CSV"));
  }

  reason() {
    return h("section", { className: "why", "aria-labelledby": "fz-why-title" }, h("h2", { id: "fz-why-title" }, "Why this cell?"), this.why);
  }

  // -- what happens -------------------------------------------------------------------------------

  listen() {
    const { canvas, picture } = this;
    let grip = null;
    const at = (event) => picture.cellAt(event.offsetX, event.offsetY);
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      grip = { x: event.offsetX, y: event.offsetY, top: picture.top, left: picture.left, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!grip) return at(event) ? this.say(...at(event)) : undefined;
      const { width, height } = picture.box(), { rows, columns } = picture.span;
      const dx = event.offsetX - grip.x, dy = event.offsetY - grip.y;
      grip.moved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (grip.moved) picture.moveTo(grip.top - (dy / height) * rows, grip.left - (dx / width) * columns);
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (grip && !grip.moved && at(event)) this.explain(...at(event));
      grip = null;
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      picture.zoomBy(Math.exp(-event.deltaY / 300), ...(at(event) ?? []));
      this.draw();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  key(event) {
    const { picture, fit } = this, step = event.shiftKey ? 10 : 1;
    const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
    const zooms = { "+": 1.6, "=": 1.6, "-": 1 / 1.6 };
    if (event.key in moves) {
      const [r, c] = picture.cursor ?? [Math.floor(picture.top), Math.floor(picture.left)];
      const [dr, dc] = picture.cursor ? moves[event.key] : [0, 0];
      const to = [Math.min(fit.n - 1, Math.max(0, r + dr)), Math.min(fit.t - 1, Math.max(0, c + dc))];
      picture.cursor = to;
      const { rows, columns } = picture.span;
      picture.moveTo(Math.min(to[0], Math.max(picture.top, to[0] + 1 - rows)), Math.min(to[1], Math.max(picture.left, to[1] + 1 - columns)));
      this.say(...to);
    } else if (event.key in zooms) picture.zoomBy(zooms[event.key], ...(picture.cursor ?? []));
    else if (event.key === "0") picture.whole();
    else if (event.key === "Enter" && picture.cursor) this.explain(...picture.cursor);
    else return;
    event.preventDefault();
    this.draw();
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.picture.draw();
    });
  }

  slide(k, value) {
    this.fit.move(k, value);
    this.sliders[k].shown.textContent = percent(value);
    this.moving ??= requestAnimationFrame(() => {
      this.moving = null;
      const began = performance.now(), rows = Math.min(this.budget, this.picture.span.rows);
      this.picture.draw(Math.round(this.budget));
      const ideal = (rows * FRAME) / Math.max(performance.now() - began, 0.1);
      this.budget = Math.max(40, 0.5 * Math.min(this.budget, 1e6) + 0.5 * ideal);
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.rest(), 500);
      // The list may take a tenth of the time, no more.
      if (performance.now() - this.listed.at > 10 * this.listed.took) this.list();
    });
  }

  rest() {
    clearTimeout(this.resting);
    this.picture.draw();
    this.list();
    if (this.explained) this.explain(...this.explained, false);
  }

  setAll(keep) {
    this.fit.setAll(keep);
    keep.forEach((value, k) => {
      this.sliders[k].slider.value = value;
      this.sliders[k].shown.textContent = percent(value);
    });
    this.rest();
  }

  list() {
    const began = performance.now(), { fit, value, least } = this;
    const { count, cells } = fit.doubtful(value, least, 100);
    const word = value ? "one" : "zero";
    const nothing = fit.keep.every((x) => x === 0) ? "Every component is switched off: keep at least one."
      : fit.link === "convex" && fit.keep.every((x) => x === 1) ? `Every component is kept, so nothing is taken for noise and no ${word} is doubted.`
      : `No ${word} is doubted by ${least} or more.`;
    this.count.textContent = count ? `${many(count, word)} ${count === 1 ? "is" : "are"} probably wrong${count > cells.length ? `; the ${cells.length} most doubtful:` : ":"}` : nothing;
    this.body.replaceChildren(...cells.map(([r, c, doubt]) => h("tr", {},
      h("td", {}, h("button", { type: "button", onclick: () => { this.picture.show(r, c); this.explain(r, c); } }, fit.rows[r])),
      h("td", {}, fit.columns[c]), h("td", { className: "number" }, percent(doubt)))));
    this.listed = { at: performance.now(), took: performance.now() - began };
  }

  nameOf(r, c) {
    const { fit } = this, numbered = (label, word) => (/^\d+$/.test(label) ? `${word} ${label}` : label);
    return `${numbered(fit.rows[r], "row")}, ${numbered(fit.columns[c], "column")}`;
  }

  state(r, c) {
    return ["recorded 0", "recorded 1", "not observed"][this.fit.cells[r * this.fit.t + c]];
  }

  say(r, c) {
    const { fit } = this;
    this.said.textContent = `${this.nameOf(r, c)}: ${this.state(r, c)}, probability of a one ${percent(fit.probability(r, c))}`;
  }

  explain(r, c, draw = true) {
    const { fit } = this, code = fit.cells[r * fit.t + c], p = fit.probability(r, c), { made, against } = fit.causes(r, c);
    this.explained = this.picture.cursor = [r, c];
    const about = (k) => (fit.kinds[k] !== "content" ? " (noise)" : fit.image_shape ? "" : `: ${strongest(fit.A[k], 3).map((i) => fit.columns[i]).join(", ")}`);
    const name = (k) => `component ${k}${about(k)}`;
    const bars = (shares) => strongest(shares, 4, 0.005).map((k) => bar(shares[k], name(k)));
    const lines = [h("p", {}, h("strong", {}, this.nameOf(r, c)), `: ${this.state(r, c)}. By the components you keep, a one has probability ${percent(p)}.`)];
    const word = code ? "one" : "zero";
    if (code < 2 && fit.link === "convex") {
      const noise = fit.noise(r, c), doubt = fit.doubt(r, c);
      lines.push(h("p", {}, `The chance that what you took out made this ${word}: ${percent(noise)}. Together: this ${word} is wrong with probability ${percent(doubt)}${doubt >= 0.5 ? `, so it is a doubtful ${word}.` : "."}`),
        h("h3", {}, `What made this ${word}?`), bars(made), h("h3", {}, `What speaks for a ${code ? "zero" : "one"}?`), bars(against));
    } else lines.push(h("h3", {}, "What speaks for a one?"), bars(code === 1 ? made : against));
    this.why.replaceChildren(...lines.flat());
    this.say(r, c);
    if (draw) this.draw();
  }

  download() {
    const { fit, value } = this, quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const rows = fit.doubtful(value, this.least).cells.map(([r, c, doubt]) => {
      const { against } = fit.causes(r, c);
      const causes = strongest(against, 3, 0.05).map((k) => `${k} (${against[k].toFixed(2)})`).join(", ");
      return [fit.rows[r], fit.columns[c], doubt.toFixed(4), fit.probability(r, c).toFixed(4), fit.noise(r, c).toFixed(4), causes].map(quote).join(",");
    });
    const text = ["row,column,probability,content,noise,causes", ...rows].join("\n") + "\n";
    const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: value ? "doubtful-ones.csv" : "doubtful-zeros.csv" });
    link.click();
    URL.revokeObjectURL(link.href);
  }
}

export async function render({ model, el }) {
  el.explorer = new Page(new Fit(await unpack(model.get("payload"))), el);
  el.dataset.ready = "yes";
}

export default { render };
