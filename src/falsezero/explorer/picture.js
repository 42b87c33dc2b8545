// The table as a picture: at most one pixel per cell, labels where there is room, visible cells only.

const STRIP = 7;
const CELL = 24;
const READABLE = 12;
const rgb = (text) =>
  text
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);
const grouped = new Intl.NumberFormat("en");
export const many = (n, one, more = one + "s") => `${grouped.format(n)} ${n === 1 ? one : more}`;
export const hue = (k, count) => `hsl(${Math.round((360 * k) / count + 205) % 360} 55% 50%)`;
// Long names often differ at their end.
export const shorten = (text, length) => {
  const head = Math.floor((2 * length) / 3);
  return text.length > length ? `${text.slice(0, head)}…${text.slice(head + 1 - length)}` : text;
};

// Neighbours of the same group, as [from, to, group].
function runs(groups, from, to) {
  const found = [];
  for (let i = from; i < to; i++)
    if (found.length && found.at(-1)[2] === groups[i]) found.at(-1)[1] = i + 1;
    else found.push([i, i + 1, groups[i]]);
  return found;
}

function addCodes(cells, count, bin, ink, unknown, tinted) {
  for (let i = 0; i < count; i++) {
    if (cells[i] === 1) ink[bin[i]]++;
    else if (cells[i] === 2) {
      unknown[bin[i]]++;
      tinted[bin[i]] = 1;
    }
  }
}

function addAbove(sum, half, count, bin, ink) {
  for (let i = 0; i < count; i++) if (sum[i] >= half) ink[bin[i]]++;
}

function addScaled(sum, scale, count, bin, ink) {
  for (let i = 0; i < count; i++) ink[bin[i]] += sum[i] * scale;
}

// Ink where record and expectation agree; cells where they differ are collected in `differing`.
function addAgreeing(cells, sum, half, count, bin, ink, differing) {
  let found = 0;
  for (let i = 0; i < count; i++) {
    const one = sum[i] >= half ? 1 : 0;
    if (cells[i] !== one) differing[found++] = i;
    else if (one) ink[bin[i]] += 0.5;
  }
  return found;
}

// A row of pixels from its accumulated cells, each as one little-endian number. The square root keeps
// rare differences visible in the mean of a pixel.
function mix({ ink, missed, extra, unknown, tinted }, across, deep, words, at, shades, colours) {
  const { paper, ink: dark, missed: orange, extra: purple, unknown: grey } = colours;
  const [r0, g0, b0] = paper,
    [r1, g1, b1] = dark.map((value, j) => value - paper[j]),
    [r2, g2, b2] = grey.map((value, j) => value - paper[j]);
  for (let x = 0; x < across.length; x++) {
    const share = 1 / (across[x] * deep),
      i = ink[x] * share;
    if (!tinted[x]) {
      words[at + x] = shades[(255 * i + 0.5) | 0];
      continue;
    }
    const m = Math.sqrt(missed[x] * share),
      e = Math.sqrt(extra[x] * share),
      u = unknown[x] * share,
      part = 1 / Math.max(1, m + e),
      rest = 1 - part * (m + e),
      pm = part * m,
      pe = part * e;
    const r = rest * (r0 + i * r1 + u * r2) + pm * orange[0] + pe * purple[0],
      g = rest * (g0 + i * g1 + u * g2) + pm * orange[1] + pe * purple[1],
      b = rest * (b0 + i * b1 + u * b2) + pm * orange[2] + pe * purple[2];
    words[at + x] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
}

// Colours from paper to ink, 0 to 255.
function shadesOf({ paper, ink }) {
  const shade = (i, j) => Math.floor(paper[j] + (i / 255) * (ink[j] - paper[j]));
  return Uint32Array.from({ length: 256 }, (_, i) =>
    (255 << 24) | (shade(i, 2) << 16) | (shade(i, 1) << 8) | shade(i, 0),
  );
}

export class Picture {
  constructor(fit, canvas) {
    this.fit = fit;
    this.canvas = canvas;
    this.view = "differences";
    this.cursor = null;
    // Search matches, and groups of rows.
    this.found = { rows: [], columns: [] };
    this.groups = [];
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
    const { clientWidth, clientHeight } = this.canvas,
      most = { left: 150, top: 104 };
    const size = (room, count) => room / Math.min(count, Math.max(room / CELL, count / this.zoom));
    const rows = size(clientHeight - most.top, this.fit.n) >= READABLE;
    const columns = size(clientWidth - most.left, this.fit.t) >= READABLE;
    return { rows, columns, left: rows ? most.left : 112, top: columns ? most.top : 30 };
  }

  // Visible cells: the whole table at zoom 1; no cell grows larger than its label needs.
  get span() {
    const { n, t } = this.fit,
      { width, height } = this.box();
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

  // Scroll to a cell, at a zoom at which its labels are readable.
  show(r, c) {
    this.zoom = Math.max(this.zoom, this.zoomFor(15));
    const { rows, columns } = this.span;
    this.moveTo(r + 0.5 - rows / 2, c + 0.5 - columns / 2);
  }

  // Scroll to some rows; show all of them if they fit.
  showRows(from, to) {
    this.zoom = Math.min(this.zoomFor(CELL), Math.max(1, this.fit.n / (to - from)));
    this.moveTo(from, this.left);
  }

  box() {
    const { clientWidth, clientHeight } = this.canvas,
      { left, top } = this.gutter;
    return { left, top, width: clientWidth - left, height: clientHeight - top };
  }

  cellAt(x, y) {
    const { left, top, width, height } = this.box(),
      { rows, columns } = this.span;
    const r = Math.floor(this.top + ((y - top) / height) * rows);
    const c = Math.floor(this.left + ((x - left) / width) * columns);
    return x >= left && y >= top && r < this.fit.n && c < this.fit.t ? [r, c] : null;
  }

  // At most `budget` rows are updated, so that the picture keeps up with a moving slider.
  draw(budget = Infinity) {
    const { canvas } = this,
      scale = window.devicePixelRatio || 1;
    const wide = Math.round(canvas.clientWidth * scale),
      high = Math.round(canvas.clientHeight * scale);
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const style = getComputedStyle(canvas),
      colour = (name) => style.getPropertyValue(name).trim();
    this.colours = Object.fromEntries(
      ["paper", "ink", "missed", "extra", "unknown"].map((name) => [name, rgb(colour(`--${name}`))]),
    );
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, high);
    this.paint(scale, budget);
    const { left, top, width, height } = this.box(),
      { rows, columns } = this.span;
    const cell = { high: height / rows, wide: width / columns };
    const first = { r: Math.floor(this.top), c: Math.floor(this.left) };
    pen.imageSmoothingEnabled = false;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.drawImage(
      this.image,
      left - (this.left - first.c) * cell.wide,
      top - (this.top - first.r) * cell.high,
      this.shown.columns * cell.wide,
      this.shown.rows * cell.high,
    );
    this.mark(pen, cell, colour("--focus"));
    if (this.cursor) this.outline(pen, cell, colour("--focus"));
    pen.restore();
    pen.fillStyle = colour("--text");
    pen.font = "11px system-ui, sans-serif";
    this.label(pen, cell, first, colour);
  }

  // Lines between groups, and frames around the rows and columns that match a search.
  mark(pen, cell, colour) {
    const { left, top, width, height } = this.box(),
      y = (r) => top + (r - this.top) * cell.high,
      x = (c) => left + (c - this.left) * cell.wide;
    pen.fillStyle = pen.strokeStyle = colour;
    for (const { from } of this.groups.slice(1)) pen.fillRect(left, y(from) - 1, width, 2);
    pen.lineWidth = 1.5;
    for (const r of this.found.rows.slice(0, 200)) pen.strokeRect(left, y(r), width, Math.max(cell.high, 2));
    for (const c of this.found.columns.slice(0, 200)) pen.strokeRect(x(c), top, Math.max(cell.wide, 2), height);
  }

  outline(pen, cell, colour) {
    const [r, c] = this.cursor,
      { left, top } = this.gutter;
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.strokeRect(
      left + (c - this.left) * cell.wide - 1,
      top + (r - this.top) * cell.high - 1,
      Math.max(cell.wide, 5) + 2,
      Math.max(cell.high, 5) + 2,
    );
  }

  label(pen, cell, first, colour) {
    const { fit } = this,
      { left, top, rows: rowNames, columns: columnNames } = this.gutter;
    const right = left - STRIP - 4,
      above = top - STRIP - 4;
    const y = (r) => top + (r - this.top) * cell.high,
      x = (c) => left + (c - this.left) * cell.wide;
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
    if (rowNames)
      this.each(first.r, this.shown.rows, y, top, this.canvas.clientHeight, (r, at) =>
        pen.fillText(shorten(fit.rows[r], 22), right, at),
      );
    else if (this.groups.length)
      for (const { name, from, to } of this.groups) {
        const [start, end] = [Math.max(top, y(from)), Math.min(this.canvas.clientHeight, y(to))];
        if (end - start > READABLE) pen.fillText(shorten(name, 17), right, (start + end) / 2);
      }
    else
      ["zoom in for names", `of ${many(fit.n, "row")}`].forEach((text, i) =>
        pen.fillText(text, right, top + 12 + 16 * i),
      );
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

  // Centres of the cells that have room for a label.
  each(first, count, edge, low, high, write) {
    for (let i = first; i < first + count; i++) {
      const middle = edge(i + 0.5);
      if (middle > low + 4 && middle < high - 3) write(i, middle);
    }
  }

  // One pixel per cell, or the mean of the cells that share a pixel, for visible cells only.
  paint(scale, budget) {
    const { fit } = this,
      { rows, columns } = this.span,
      { width, height } = this.box();
    const r0 = Math.floor(this.top),
      r1 = Math.min(fit.n, Math.ceil(this.top + rows));
    const c0 = Math.floor(this.left),
      c1 = Math.min(fit.t, Math.ceil(this.left + columns));
    this.shown = { rows: r1 - r0, columns: c1 - c0 };
    const wide = Math.max(1, Math.min(c1 - c0, Math.round(width * scale)));
    const high = Math.max(1, Math.min(r1 - r0, Math.round(height * scale), budget));
    const deepest = Math.max(1, Math.floor(budget / high));
    const pen = this.image.getContext("2d"),
      pixels = this.pixelsOf(pen, wide, high);
    const bin = Uint16Array.from({ length: c1 - c0 }, (_, i) => Math.floor((i * wide) / (c1 - c0)));
    const across = new Float32Array(wide),
      parts = {},
      words = new Uint32Array(pixels.data.buffer);
    const shades = shadesOf(this.colours);
    for (const x of bin) across[x]++;
    for (const name of ["ink", "missed", "extra", "unknown"]) parts[name] = new Float32Array(wide);
    parts.tinted = new Uint8Array(wide);
    for (let y = 0, r = r0; y < high; y++) {
      for (const part of Object.values(parts)) part.fill(0);
      const end = r0 + Math.floor(((y + 1) * (r1 - r0)) / high),
        deep = Math.min(deepest, end - r);
      for (let i = 0; i < deep; i++) this.gather(r + i, c0, c1, bin, parts);
      r = end;
      mix(parts, across, deep, words, y * wide, shades, this.colours);
    }
    pen.putImageData(pixels, 0, 0);
  }

  // Buffers are reused from frame to frame while the size stays the same.
  pixelsOf(pen, wide, high) {
    if (this.pixels?.width !== wide || this.pixels.height !== high) {
      Object.assign(this.image, { width: wide, height: high });
      this.pixels = pen.createImageData(wide, high);
    }
    return this.pixels;
  }

  // Add one row to its pixels. These are the hot loops: plain arrays, few branches.
  gather(r, c0, c1, bin, { ink, missed, extra, unknown, tinted }) {
    const { fit, view } = this,
      from = r * fit.t;
    const half = fit.level(r, 0.5),
      cells = fit.cells.subarray(from + c0, from + c1);
    const sum = fit.sum.subarray(from + c0, from + c1),
      count = c1 - c0;
    if (view === "original") addCodes(cells, count, bin, ink, unknown, tinted);
    else if (view === "denoised") addAbove(sum, half, count, bin, ink);
    else if (view === "probability" && fit.convex) addScaled(sum, 1 / fit.unit[r], count, bin, ink);
    else if (view === "probability")
      for (let i = 0; i < count; i++) ink[bin[i]] += fit.toProbability(sum[i], r);
    else {
      this.differing ??= new Uint32Array(fit.t);
      const found = addAgreeing(cells, sum, half, count, bin, ink, this.differing);
      for (let j = 0; j < found; j++) {
        const i = this.differing[j],
          x = bin[i];
        tinted[x] = 1;
        if (cells[i] === 2) unknown[x]++;
        else if (fit.isSurprising(r, from + c0 + i)) (cells[i] ? extra : missed)[x]++;
        else if (cells[i]) ink[x] += 0.5;
      }
    }
  }
}
