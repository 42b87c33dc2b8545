// What is drawn: the file's first lines, how it reads, the answer. No state, no requests.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const ROLES = {
  wide: { "": "values", index: "row names", drop: "leave out" },
  long: { "": "not used", row: "row", column: "column", value: "value", look: "look (visit)", observer: "observer" },
};

export function isLong(options) {
  return options.row != null || options.column != null;
}

function roleOf(name, options, found) {
  if (name === found.named_by) return "index";
  const named = ["row", "column", "value", "look", "observer", "index"].find((role) => options[role] === name);
  return named ?? ((options.drop ?? []).includes(name) ? "drop" : "");
}

// The first lines, with a choice over each column of what it is.
export function drawLines(found, layout, options, changed) {
  const nothing = found.problem ? "" : "A matrix with labels of its own; there is nothing to choose.";
  if (!found.names.length) return element("p", { className: "hint", textContent: nothing });
  const roles = ROLES[layout];
  const classes = found.names.map((name) => (roleOf(name, options, found) === "drop" ? "drop-out" : roleOf(name, options, found)));
  const heads = found.names.map((name, i) => {
    const choice = element("select", { ariaLabel: `Role of column ${name || i + 1}` });
    for (const [role, words] of Object.entries(roles)) choice.append(element("option", { value: role, textContent: words }));
    choice.value = roleOf(name, options, found) in roles ? roleOf(name, options, found) : "";
    choice.addEventListener("change", () => changed(name, choice.value));
    return element("th", { className: classes[i], scope: "col", title: name }, name || "(no name)", choice);
  });
  const more = found.n_names - found.names.length;
  if (more > 0) heads.push(element("th", { textContent: `… ${more.toLocaleString("en")} more` }));
  const lines = found.lines.map((line) =>
    element("tr", {}, ...found.names.map((_, i) => element("td", { className: classes[i], textContent: line[i] ?? "", title: line[i] ?? "" }))));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines));
}

// How the file reads: a picture of the table's corner, or the sentence that says why not.
export function drawReading(found, apply) {
  const parts = [];
  const buttons = () => {
    const list = element("div", { className: "remedies" });
    for (const { words, options } of found.remedies) {
      const button = element("button", { type: "button", textContent: words });
      button.addEventListener("click", () => apply(options));
      list.append(button);
    }
    return list;
  };
  if (found.problem) {
    parts.push(element("div", { className: "problem", role: "alert" }, element("p", { textContent: found.shown ?? found.problem }), buttons()));
  } else {
    for (const note of found.notes) parts.push(element("div", { className: "note" }, element("p", { textContent: note })));
    if (found.notes.length && found.remedies.length) parts.at(-1).append(buttons());
  }
  if (found.table) parts.push(...drawCorner(found.table));
  return parts;
}

function drawCorner(table) {
  const kinds = { 0: "is-0", 1: "is-1", "?": "is-q" };
  const words = { 0: "zero", 1: "one", "?": "not observed" };
  const heads = [element("th"), ...table.columns.map((name) => element("th", { scope: "col", textContent: name, title: name }))];
  const rows = table.cells.map((cells, i) => element("tr", {},
    element("th", { scope: "row", textContent: table.rows[i], title: table.rows[i] }),
    ...[...cells].map((cell) => element("td", { className: kinds[cell], title: words[cell], ariaLabel: words[cell] }))));
  const more = [table.more_rows && `${table.more_rows.toLocaleString("en")} more rows`, table.more_columns && `${table.more_columns.toLocaleString("en")} more columns`].filter(Boolean);
  const key = Object.keys(words).map((cell) => element("span", {}, element("table", { className: "corner", ariaHidden: "true" },
    element("tr", {}, element("td", { className: kinds[cell] }))), ` ${words[cell]}`));
  return [
    element("h3", { textContent: "How it will be read" }),
    element("p", { textContent: table.summary }),
    element("div", { className: "scroll", tabIndex: 0 }, element("table", { className: "corner" },
      element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows))),
    element("p", { className: "key" }, ...key, more.length ? `… ${more.join(", ")}` : ""),
  ];
}

export function drawDownloads(result, base) {
  const links = [["audit.html?save", "The page, to show and to keep", "audit.html", null],
    ...result.files.map(({ name, words, bytes }) => [name, words, name, bytes])];
  return links.map(([target, words, name, bytes]) => element("a", { href: `${base}/out/${target}`, download: name }, words,
    element("small", { textContent: bytes == null ? name : `${name}, ${size(bytes)}` })));
}

function size(bytes) {
  return bytes < 1e4 ? `${bytes} bytes` : bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
