// What stands where on the page, and the words on it.

import { hue, many } from "./picture.js";

export const percent = (x) =>
  x > 0 && x < 0.01 ? "<1 %" : x < 1 && x > 0.99 ? ">99 %" : `${Math.round(100 * x)} %`;
// No fit of a table makes a probability certain, whatever rounding says.
export const likely = (x) => (x > 0.99 ? ">99 %" : percent(x));
const KIND = {
  content: "content",
  white: "makes zeros only: stands for what was missed",
  black: "makes ones only: stands for what was added",
};

export function h(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options))
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

// Largest first; few enough to read.
export function strongest(values, most, least = 0) {
  return [...values.keys()]
    .filter((i) => values[i] > least)
    .sort((a, b) => values[b] - values[a] || a - b)
    .slice(0, most);
}

export const bar = (share, text) =>
  h(
    "div",
    { className: "bar" },
    h("span", { className: "fill", style: `width:${(100 * share).toFixed(1)}%`, "aria-hidden": "true" }),
    h("span", { className: "name" }, text),
    h("span", { className: "number" }, percent(share)),
  );

export function head(page) {
  const { fit } = page,
    noisy = (kind) => [...fit.kinds.keys()].filter((k) => fit.kinds[k] === kind);
  const does = (list, what) =>
    (list.length > 1 ? `components ${list.map((k) => k + 1).join(", ")} make` : `component ${list[0] + 1} makes`) + ` ${what}`;
  const stands = (list, what) =>
    list.length > 1
      ? `They stand for what ${what}, so they start`
      : `It stands for what ${what}, so it starts`;
  const white = noisy("white"),
    black = noisy("black"),
    ones = fit.cells.reduce((a, b) => a + (b === 1), 0);
  const lines = [
    `A zero in a table can mean two things: not there, or there and missed. The model explains this table (${many(fit.n, "row")}, ${many(fit.t, "column")}, ${percent(ones / fit.cells.length)} ones) by ${many(fit.k, "component")}: sets of columns that tend to occur together.`,
  ];
  if (white.length)
    lines.push(
      `Here ${does(white, "zeros in every column")}. ${stands(white, "was missed")} switched off; what the others then expect, but nobody recorded, is drawn in orange: the doubtful zeros.`,
    );
  if (black.length)
    lines.push(
      `Here ${does(black, "ones in nearly every column")}. ${stands(black, "was added by mistake")} switched off; ones that nothing else expects are drawn in purple: the doubtful ones.`,
    );
  if (!white.length && !black.length)
    lines.push(
      fit.link === "convex"
        ? "No component looks like noise here, so no zero is doubted yet. Switch off a component that you take for noise, and see which zeros it was hiding."
        : "A zero is doubtful where the components together expect a one.",
    );
  lines.push(
    "A doubtful zero deserves a second look, not a correction: the model knows only what occurs together in this table.",
  );
  return h("header", {}, h("h1", {}, fit.title), h("p", {}, lines.join(" ")));
}

export function components(page) {
  const { fit } = page;
  const button = (text, keep) => h("button", { type: "button", onclick: () => page.setAll(keep()) }, text);
  page.sliders = [];
  return h(
    "section",
    { className: "components", "aria-labelledby": "fz-components" },
    h("h2", { id: "fz-components" }, "Components"),
    h(
      "p",
      {},
      "Each slider says how much you believe in a component: 100 % keeps it, 0 % takes it out as noise.",
    ),
    h(
      "div",
      { className: "buttons" },
      button("Noise out", () => fit.preset),
      button("Keep all", () => fit.kinds.map(() => 1)),
    ),
    fit.kinds.map((kind, k) => card(page, kind, k)),
  );
}

function card(page, kind, k) {
  const { fit } = page,
    top = strongest(fit.A[k], 6);
  const shown = h("output", { htmlFor: `fz-keep-${k}` }, percent(fit.keep[k]));
  const slider = h("input", {
    type: "range",
    id: `fz-keep-${k}`,
    min: 0,
    max: 1,
    step: 0.01,
    value: fit.keep[k],
  });
  slider.addEventListener("input", () => page.slide(k, Number(slider.value)));
  slider.addEventListener("change", () => page.rest());
  page.sliders.push({ slider, shown });
  const picture = fit.image_shape ? [thumbnail(page, k)] : [];
  const scale = fit.link === "convex" || fit.link === "noisy-or" ? 1 : Math.max(...fit.A[k], 1e-9);
  return h(
    "article",
    { className: `card ${kind}` },
    h(
      "h3",
      {},
      h("span", { className: "swatch", style: `background:${hue(k, fit.k)}`, "aria-hidden": "true" }),
      `Component ${k + 1}`,
      h("small", {}, ` ${percent(fit.importance[k])} of the weight`),
    ),
    kind === "content" ? [] : h("p", { className: "kind" }, KIND[kind]),
    fit.image_shape ? picture : top.map((c) => bar(fit.A[k][c] / scale, fit.columns[c])),
    h(
      "div",
      { className: "slider" },
      h("label", { htmlFor: `fz-keep-${k}` }, `Keep component ${k + 1}`),
      slider,
      shown,
    ),
  );
}

function thumbnail(page, k) {
  const [high, wide] = page.fit.image_shape,
    image = h("canvas", {
      className: "thumbnail",
      width: wide,
      height: high,
      role: "img",
      "aria-label": `Component ${k + 1} as an image`,
    });
  const pen = image.getContext("2d"),
    pixels = pen.createImageData(wide, high);
  page.fit.pixel.forEach((place, c) =>
    pixels.data.set([11, 42, 69, 255 * Math.min(1, page.fit.A[k][c])], 4 * place),
  );
  pen.putImageData(pixels, 0, 0);
  return image;
}

export function table(page) {
  const views = {
    original: "As recorded",
    probability: "Probability",
    denoised: "Without noise",
    differences: "Differences",
  };
  const radios = Object.entries(views).map(([view, text]) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "fz-view",
        value: view,
        checked: view === page.picture.view,
        onchange: () => {
          page.picture.view = view;
          page.draw();
        },
      }),
      ` ${text}`,
    ),
  );
  const zoom = (text, label, act) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": label,
        title: label,
        onclick: () => {
          act();
          page.draw();
        },
      },
      text,
    );
  const at = () => page.picture.cursor ?? [];
  const key = (name, text) =>
    h("span", { className: "key" }, h("span", { className: `patch ${name}`, "aria-hidden": "true" }), text);
  return h(
    "section",
    { className: "table", "aria-labelledby": "fz-table-title" },
    h("h2", { id: "fz-table-title" }, "Table"),
    h(
      "div",
      { className: "tools" },
      h("fieldset", {}, h("legend", {}, "Show"), radios),
      h(
        "div",
        { className: "buttons" },
        zoom("−", "Zoom out", () => page.picture.zoomBy(1 / 1.6, ...at())),
        zoom("+", "Zoom in", () => page.picture.zoomBy(1.6, ...at())),
        zoom("All", "Show the whole table", () => page.picture.whole()),
      ),
    ),
    h(
      "p",
      { className: "legend" },
      key("ink", "one"),
      key("missed", "doubtful zero: recorded 0, expected 1"),
      key("extra", "doubtful one: recorded 1, expected 0"),
      key("unknown", "not observed"),
      "Pale: unexpected, but not doubted.",
    ),
    page.canvas,
    page.said,
    h(
      "p",
      { id: "fz-keys", className: "hint" },
      "Rows and columns are sorted by their strongest component (coloured edges). Drag to move, Ctrl and wheel to zoom. With the keyboard: arrows move from cell to cell, + and − zoom, 0 shows all, Enter explains.",
    ),
  );
}

export function doubts(page) {
  const radios = ["Doubtful zeros", "Doubtful ones"].map((text, value) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "fz-value",
        value,
        checked: value === page.value,
        onchange: () => {
          page.value = value;
          page.list();
        },
      }),
      ` ${text}`,
    ),
  );
  const least = h("input", {
    type: "number",
    id: "fz-least",
    min: 0.05,
    max: 1,
    step: 0.05,
    value: page.least,
    onchange: () => {
      page.least = Math.min(1, Math.max(0.05, Number(least.value) || 0.5));
      least.value = page.least;
      page.list();
    },
  });
  return h(
    "section",
    { className: "doubts", "aria-labelledby": "fz-doubts" },
    h("h2", { id: "fz-doubts" }, "What to doubt"),
    h(
      "div",
      { className: "tools" },
      h("fieldset", {}, h("legend", {}, "List"), radios),
      h("label", { htmlFor: "fz-least" }, "at least ", least),
    ),
    page.count,
    h(
      "div",
      { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Doubtful cells" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Row", "Column", "Probability"].map((t) => h("th", { scope: "col" }, t)),
          ),
        ),
        page.body,
      ),
    ),
    h("button", { type: "button", onclick: () => page.download() }, "Download all as CSV"),
  );
}

export function reason(page) {
  return h(
    "section",
    { className: "why", "aria-labelledby": "fz-why-title" },
    h("h2", { id: "fz-why-title" }, "Why this cell?"),
    page.why,
  );
}
