// The layout of the page and its text.

import { hue, many, shorten } from "./picture.js";

export const percent = (x) =>
  x > 0 && x < 0.01 ? "<1 %" : x < 1 && x > 0.99 ? ">99 %" : `${Math.round(100 * x)} %`;
// No fit makes a probability certain, even where rounding would print it so.
export const likely = (x) => (x > 0.99 ? ">99 %" : percent(x));
// Rounded to so many decimals, but never to 0 or 1.
export const decimals = (x, n) => (x > 1 - 0.5 * 10 ** -n ? `0.${"9".repeat(n)}` : x.toFixed(n));
const KIND = {
  white: "Makes zeros only, like omissions",
  black: "Makes ones only, like false entries",
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

export const bar = (share, text, title = text) =>
  h(
    "div",
    { className: "bar" },
    h("span", { className: "fill", style: `width:${(100 * share).toFixed(1)}%`, "aria-hidden": "true" }),
    h("span", { className: "name", title }, text),
    h("span", { className: "number" }, likely(share)),
  );

export function head(page) {
  const { fit } = page,
    ask = (question, answer) => [h("dt", {}, question), answer];
  return h(
    "header",
    {},
    h("h1", {}, fit.title),
    h(
      "p",
      {},
      `A zero can mean two things: not there, or there and missed. This page shows where a one was expected, in a table of ${many(fit.n, "row")} and ${many(fit.t, "column")} with ${many(page.nOnes, "one")} and ${many(page.nZeros, "zero")}.`,
    ),
    h(
      "dl",
      {},
      ask("Which zeros are surprising?", page.which),
      ask("Why?", h("dd", {}, why(fit))),
      ask("Are they false?", page.sure),
      ask("What next?", page.next),
    ),
  );
}

function why(fit) {
  const of = (kind) => [...fit.kinds.keys()].filter((k) => fit.kinds[k] === kind),
    white = of("white"),
    black = of("black");
  const does = (list, what) =>
    (list.length > 1 ? `Components ${list.map((k) => k + 1).join(", ")} make` : `Component ${list[0] + 1} makes`) + ` ${what}`;
  const lines = [
    `The table is described by ${many(fit.k, "component")}: sets of columns that tend to be one together.`,
  ];
  if (white.length)
    lines.push(
      `${does(white, "zeros in every column, like omissions")}. With its slider at 0 % it is left out, and a zero is surprising where the other components expect a one.`,
    );
  if (black.length)
    lines.push(
      `${does(black, "ones in nearly every column, like false entries")}. Without that, no component expects some of the recorded ones: the surprising ones, in purple.`,
    );
  if (!white.length && !black.length)
    lines.push(
      "A zero is surprising where the components together expect a one more often than not.",
    );
  return lines.join(" ");
}

function next(fit, count) {
  if (count)
    return "Choose a line of the list to see its reason. Look again at the most expected ones where you can: a surprising zero deserves a second look, not a correction. The whole list can be downloaded.";
  return "Set a component that looks like noise to 0 % to see which zeros it was hiding, or try a fit with more components.";
}

// The answers that change with the sliders.
export function answer(page, count) {
  const { fit, least, nOnes, nZeros, value } = page;
  if (value || page.group) return;
  page.which.textContent = count
    ? `${many(count, "zero")} of ${nZeros.toLocaleString("en")} (${percent(count / nZeros)}): the components that you keep expect a one there with a probability of ${percent(least)} or more. In the picture they are orange; the list begins with the most expected.`
    : `None: nowhere do the components that you keep expect a one with a probability of ${percent(least)} or more.`;
  page.next.textContent = next(fit, count);
  page.sure.textContent = count
    ? `${tooMany(count, nOnes)}A single look at each cell can rank the zeros, but not tell how many of them are false. The components know only what occurs together in this table, not what is rare, new, or was never looked for.`
    : "That no zero is surprising does not prove that every zero is true: omissions that affect all rows and columns alike leave few traces.";
}

function tooMany(count, nOnes) {
  if (count <= nOnes / 2) return "";
  const what =
    count > nOnes
      ? "more zeros are surprising than ones were recorded"
      : `${many(count, "surprising zero")} stand against ${many(nOnes, "recorded one")}`;
  return `Hardly all of them are: ${what}. `;
}

export function components(page) {
  const { fit } = page;
  const button = (text, title, keep) =>
    h("button", { type: "button", title, onclick: () => page.setAll(keep()) }, text);
  const noisy = fit.kinds.some((kind) => kind !== "content");
  page.sliders = [];
  return h(
    "section",
    { className: "components", "aria-labelledby": "fz-components" },
    h("h2", { id: "fz-components" }, "Components"),
    h(
      "p",
      {},
      `${fit.image_shape ? "Dark pixels" : "Bars"} say how often a component makes a one${fit.image_shape ? "" : ", for its strongest columns"}. The slider says how much you trust it: 100 % keeps it, 0 % removes it as noise.`,
    ),
    h(
      "div",
      { className: "buttons" },
      noisy
        ? button("Remove noise", "Components that make zeros only, or ones only, to 0 %; all others to 100 %", () => fit.preset)
        : [],
      button("Keep all", "Every component to 100 %", () => fit.kinds.map(() => 1)),
    ),
    fit.kinds.map((kind, k) => card(page, kind, k)),
  );
}

function card(page, kind, k) {
  const { fit } = page,
    top = fit.topColumns(k, 6);
  const shown = h("output", { htmlFor: `fz-keep-${k}` });
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
  const say = (value) => {
    shown.textContent = percent(value);
    slider.setAttribute("aria-valuetext", percent(value));
  };
  say(fit.keep[k]);
  page.sliders.push({ slider, say });
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
      h("small", {}, ` ${fit.link === "convex" ? "made " : ""}${percent(fit.importance[k])} of ${fit.link === "convex" ? "cells" : "the weight"}`),
    ),
    kind === "content" ? [] : h("p", { className: "kind" }, KIND[kind]),
    fit.image_shape ? picture : top.map((c) => bar(fit.A[k][c] / scale, shorten(fit.columns[c], 60), fit.columns[c])),
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
          legend(page);
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
  page.legend = h("p", { className: "legend" });
  legend(page);
  return h(
    "section",
    { className: "table", "aria-labelledby": "fz-table-title" },
    h("h2", { id: "fz-table-title" }, "Table"),
    h(
      "div",
      { className: "tools" },
      h("fieldset", {}, h("legend", {}, "Show"), radios),
      page.finder,
      page.choice,
      h(
        "div",
        { className: "buttons" },
        zoom("−", "Zoom out", () => page.picture.zoomBy(1 / 1.6, ...at())),
        zoom("+", "Zoom in", () => page.picture.zoomBy(1.6, ...at())),
        zoom("Whole table", "Show the whole table", () => page.picture.whole()),
      ),
    ),
    page.legend,
    page.canvas,
    page.readout,
    h(
      "p",
      { id: "fz-keys", className: "hint" },
      "Rows and columns are sorted by the component that is strongest in them (coloured edges). Click a cell to learn why; drag to move, Ctrl and wheel to zoom. With the keyboard: arrows move from cell to cell, + and − zoom, 0 shows all, Enter explains, / finds a name.",
    ),
  );
}

// What the colours mean in the view that is shown.
function legend(page) {
  const { cells } = page.fit,
    key = (name, text) =>
      h("span", { className: "key" }, h("span", { className: `patch ${name}`, "aria-hidden": "true" }), text);
  const unknown = cells.includes(2) ? [key("unknown", "not observed")] : [];
  page.legend.replaceChildren(
    ...{
      original: () => [key("ink", "one"), key("paper", "zero"), ...unknown],
      probability: () => [key("scale", "probability of a one by the components you keep, 0 % to 100 %")],
      denoised: () => [key("ink", "one is more probable"), key("paper", "zero is more probable")],
      differences: () => [
        key("agreed", "one"),
        key("paper", "zero"),
        key("missed", "surprising zero: a one was expected"),
        key("extra", "surprising one"),
        ...unknown,
      ],
    }[page.picture.view](),
  );
}

export function surprises(page) {
  const radios = ["Surprising zeros", "Surprising ones"].map((text, value) =>
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
          page.leastLabel.hidden = value === 1;
          page.list();
        },
      }),
      ` ${text}`,
    ),
  );
  const least = h("input", {
    type: "number",
    id: "fz-least",
    "aria-label": "Least probability of a one, in percent",
    min: 5,
    max: 100,
    step: 5,
    value: Math.round(100 * page.least),
    onchange: () => {
      page.least = Math.min(100, Math.max(5, Number(least.value) || 50)) / 100;
      least.value = Math.round(100 * page.least);
      page.list();
    },
  });
  page.leastLabel = h("label", { htmlFor: "fz-least" }, "a one expected with at least ", least, " %");
  const heads = ["Row", "Column", "One expected"];
  return h(
    "section",
    { className: "surprises", "aria-labelledby": "fz-surprises" },
    h("h2", { id: "fz-surprises" }, "Surprising cells"),
    h(
      "div",
      { className: "tools" },
      h("fieldset", {}, h("legend", {}, "List"), radios),
      page.leastLabel,
    ),
    page.count,
    h("button", { type: "button", onclick: () => page.download() }, "Download all as CSV"),
    h(
      "div",
      { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Surprising cells" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((text) => h("th", { scope: "col" }, text)),
          ),
        ),
        page.body,
      ),
    ),
  );
}

// A line of the list, to be overwritten.
export function line(choose) {
  const entry = { cell: null },
    name = h("button", { type: "button", title: "Show this cell and its reason", onclick: () => choose(...entry.cell) }),
    column = h("td"),
    number = h("td", { className: "number" });
  const write = (element, text) => element.textContent !== text && (element.textContent = text);
  entry.row = h("tr", {}, h("td", {}, name), column, number);
  entry.show = (cell, ...texts) => {
    entry.cell = cell ?? null;
    entry.row.hidden = !cell;
    if (!cell) return;
    [name, column, number].forEach((element, i) => write(element, texts[i]));
    name.ariaLabel = `${texts[0]}, ${texts[1]}: show why`;
  };
  return entry;
}

export function reason(page) {
  return h(
    "section",
    { className: "why", "aria-labelledby": "fz-why-title" },
    h("h2", { id: "fz-why-title" }, "Why this cell?"),
    page.why,
  );
}
