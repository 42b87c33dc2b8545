// The interactive page: sliders P(u|k) and the table that follows them. No dependency, no network.
// `render({model, el})` has anywidget's shape: `model.get("payload")` is the packed fit.

import { countGroups, finder, groupChoice, groupSpans, groupTable } from "./find.js";
import { Fit } from "./fit.js";
import { answer, bar, components, decimals, h, head, likely, line, percent, reason, strongest, surprises, table } from "./layout.js";
import { Picture, many, shorten } from "./picture.js";
import { unpack } from "./unpack.js";

// Milliseconds that one frame of a moving slider may take.
const FRAME = 6;
// Milliseconds of it for the search for surprising cells, which continues in the next frame.
const LOOK = 2;
const LISTED = 100;

class Page {
  constructor(fit, el) {
    Object.assign(this, { fit, el, value: 0, least: 0.5, budget: Infinity });
    this.canvas = h("canvas", {
      tabIndex: 0,
      id: "fz-table",
      role: "application",
      "aria-describedby": "fz-keys",
      "aria-label": `Picture of the table, ${many(fit.n, "row")} by ${many(fit.t, "column")}`,
    });
    this.readout = h(
      "output",
      { className: "readout", "aria-live": "polite" },
      "Point at a cell, or press an arrow key in the table.",
    );
    this.why = h("div", { id: "fz-why", "aria-live": "polite" }, h("p", {}, "Click a cell of the table."));
    this.which = h("dd", { id: "fz-which" });
    this.sure = h("dd");
    this.next = h("dd");
    this.nOnes = fit.cells.reduce((sum, code) => sum + (code === 1), 0);
    this.nZeros = fit.cells.reduce((sum, code) => sum + (code === 0), 0);
    this.body = h("tbody");
    this.lines = [];
    this.count = h("p", { className: "count", role: "status" });
    this.picture = new Picture(fit, this.canvas);
    this.picture.groups = groupSpans(fit);
    this.finder = finder(this);
    this.choice = groupChoice(this);
    el.classList.add("falsezero");
    el.replaceChildren(
      head(this),
      h(
        "main",
        {},
        components(this),
        table(this),
        h("div", { className: "side" }, surprises(this), reason(this)),
        groupTable(this),
      ),
    );
    this.listen();
    this.list();
    const first = this.lines[0]?.cell;
    if (first) this.explain(...first, false);
    this.picture.draw();
  }

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
      const { width, height } = picture.box(),
        { rows, columns } = picture.span;
      const dx = event.offsetX - grip.x,
        dy = event.offsetY - grip.y;
      grip.moved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (grip.moved) picture.moveTo(grip.top - (dy / height) * rows, grip.left - (dx / width) * columns);
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (grip && !grip.moved && at(event)) this.answer(...at(event));
      grip = null;
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        picture.zoomBy(Math.exp(-event.deltaY / 300), ...(at(event) ?? []));
        this.draw();
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  key(event) {
    const { picture, fit } = this,
      step = event.shiftKey ? 10 : 1;
    const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
    const zooms = { "+": 1.6, "=": 1.6, "-": 1 / 1.6 };
    if (event.key in moves) {
      const [r, c] = picture.cursor ?? [Math.floor(picture.top), Math.floor(picture.left)];
      const [dr, dc] = picture.cursor ? moves[event.key] : [0, 0];
      const to = [Math.min(fit.n - 1, Math.max(0, r + dr)), Math.min(fit.t - 1, Math.max(0, c + dc))];
      picture.cursor = to;
      const { rows, columns } = picture.span;
      picture.moveTo(
        Math.min(to[0], Math.max(picture.top, to[0] + 1 - rows)),
        Math.min(to[1], Math.max(picture.left, to[1] + 1 - columns)),
      );
      this.say(...to);
    } else if (event.key in zooms) picture.zoomBy(zooms[event.key], ...(picture.cursor ?? []));
    else if (event.key === "0") picture.whole();
    else if (event.key === "Enter" && picture.cursor) this.answer(...picture.cursor);
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
    this.sliders[k].say(value);
    this.moving ??= requestAnimationFrame(() => {
      this.moving = null;
      const began = performance.now(),
        rows = Math.min(this.budget, this.picture.span.rows);
      this.picture.draw(Math.round(this.budget));
      const ideal = (rows * FRAME) / Math.max(performance.now() - began, 0.1);
      this.budget = Math.max(40, 0.5 * Math.min(this.budget, 1e6) + 0.5 * ideal);
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.rest(), 500);
      this.searchOn();
    });
  }

  // While a slider moves, the list is updated in the time that the picture leaves.
  searchOn() {
    const until = performance.now() + LOOK;
    this.search ??= this.fit.search(this.value, this.least, LISTED);
    while (performance.now() < until) {
      const { done, value } = this.search.next();
      if (!done) continue;
      this.search = null;
      return this.write(value);
    }
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
      this.sliders[k].say(value);
    });
    this.rest();
  }

  list() {
    this.search = null;
    countGroups(this);
    this.write(this.fit.surprising(this.value, this.least, LISTED));
  }

  // Lines are created once and overwritten; rebuilding the list in every frame would be too slow.
  write({ count, cells }) {
    const { fit, value, least, lines } = this;
    const word = value ? "one" : "zero",
      nothing = fit.keep.every((x) => x === 0)
        ? "Every component is switched off: keep at least one."
        : value
          ? "No ones are surprising: each was expected more than a tenth as often as its column has ones."
          : `No zero is surprising: nowhere is a one expected with a probability of ${percent(least)} or more.`;
    this.count.textContent = count
      ? `${many(count, word)}${this.group ? ` of ${this.group.name}` : ""} ${count === 1 ? "is" : "are"} surprising${count > cells.length ? `; these ${cells.length} most of all:` : ":"}`
      : nothing;
    while (lines.length < cells.length) {
      lines.push(line((r, c) => this.point(r, c)));
      this.body.append(lines.at(-1).row);
    }
    lines.forEach((entry, i) => {
      const [r, c] = cells[i] ?? [];
      entry.show(cells[i] && [r, c], fit.rows[r], fit.columns[c], cells[i] && likely(fit.probability(r, c)));
    });
    answer(this, count);
  }

  // A line of the list was chosen: show its cell, and explain it.
  point(r, c) {
    this.picture.show(r, c);
    this.answer(r, c);
  }

  // On a narrow page the explanation appears below what was clicked.
  answer(r, c) {
    this.explain(r, c);
    this.why.parentElement.scrollIntoView({ block: "nearest" });
  }

  nameOf(r, c) {
    const { fit } = this,
      numbered = (label, word) => (/^\d+$/.test(label) ? `${word} ${label}` : label);
    const group = this.picture.groups.find(({ from, to }) => r >= from && r < to);
    return `${numbered(fit.rows[r], "row")}${group ? ` (${group.name})` : ""}, ${numbered(fit.columns[c], "column")}`;
  }

  state(r, c) {
    return ["recorded 0", "recorded 1", "not observed"][this.fit.cells[r * this.fit.t + c]];
  }

  say(r, c) {
    const { fit } = this;
    this.readout.textContent = `${this.nameOf(r, c)}: ${this.state(r, c)}, probability of a one ${likely(fit.probability(r, c))}`;
  }

  explain(r, c, draw = true) {
    const { fit } = this,
      code = fit.cells[r * fit.t + c],
      word = code ? "one" : "zero",
      p = likely(fit.probability(r, c)),
      { made, against } = fit.causes(r, c);
    this.explained = this.picture.cursor = [r, c];
    const bars = (shares) => strongest(shares, 4, 0.005).map((k) => bar(shares[k], this.about(k)));
    const surprising = code < 2 && fit.isSurprising(r, r * fit.t + c, this.least) ? `, so this ${word} is surprising.` : ".";
    const lines = [
      h("p", {}, h("strong", {}, this.nameOf(r, c)), `: ${this.state(r, c)}.`),
      h("p", {}, `The components that you keep expect a one here with a probability of ${p}${surprising}`),
    ];
    if (code < 2 && fit.link === "convex") {
      if (fit.isReduced)
        lines.push(h("p", {}, `The components that you removed made this ${word} with a probability of ${likely(fit.noise(r, c))}.`));
      lines.push(
        h("h3", {}, `What made this ${word}?`),
        bars(made),
        h("h3", {}, `What supports a ${code ? "zero" : "one"}?`),
        bars(against),
      );
    } else lines.push(h("h3", {}, "What supports a one?"), bars(code === 1 ? made : against));
    this.why.replaceChildren(...lines.flat());
    this.say(r, c);
    if (draw) this.draw();
  }

  // A component in a few words: its strongest columns, or that it is noise.
  about(k) {
    const { fit } = this,
      noise = { white: " (makes zeros only)", black: " (makes ones only)" }[fit.kinds[k]];
    const names = fit.topColumns(k, 3).map((c) => shorten(fit.columns[c], 32));
    return `component ${k + 1}${noise ?? (fit.image_shape ? "" : `: ${names.join(", ")}`)}`;
  }

  download() {
    const { fit, value } = this,
      // Spreadsheets must not interpret a label as a formula.
      runs = (text) => /^[=+\-@\t\r\n]/.test(text) && Number.isNaN(Number(text)),
      inert = (text) => (runs(text) ? `'${text}` : text),
      quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text),
      quote = (text) => quoted(inert(text));
    const rows = fit.surprising(value, this.least).cells.map(([r, c]) => {
      const { against } = fit.causes(r, c);
      const causes = strongest(against, 3, 0.05)
        .map((k) => `${k + 1} (${decimals(against[k], 2)})`)
        .join(", ");
      return [
        fit.rows[r],
        fit.columns[c],
        decimals(fit.probability(r, c), 4),
        fit.convex && fit.isReduced ? decimals(fit.noise(r, c), 4) : "",
        causes,
      ]
        .map(quote)
        .join(",");
    });
    const text = ["row,column,expected,noise,causes", ...rows].join("\n") + "\n";
    const link = h("a", {
      href: URL.createObjectURL(new Blob([text], { type: "text/csv" })),
      download: value ? "surprising-ones.csv" : "surprising-zeros.csv",
    });
    link.click();
    URL.revokeObjectURL(link.href);
  }
}

export function show(packed, el) {
  el.explorer = new Page(new Fit(packed), el);
  el.dataset.ready = "yes";
}

export async function render({ model, el }) {
  show(await unpack(model.get("payload")), el);
}

export default { render };
