// Finding a row or a column by its name, and the groups of rows.

import { h, percent } from "./layout.js";
import { many } from "./picture.js";

// A search field for rows and columns: "/" focuses it, Enter shows the next match, Escape clears it.
export function finder(page) {
  const { fit, picture } = page,
    status = h("output", { className: "hint", "aria-live": "polite" });
  let matches = [],
    current = -1;
  const field = h("input", { type: "search", id: "fz-find", placeholder: "a row or a column", "aria-keyshortcuts": "/" });
  const look = () => {
    const wanted = field.value.trim().toLowerCase(),
      at = (names, i) => names[i].toLowerCase().indexOf(wanted),
      excess = (names, i) => (at(names, i) ? 1e6 : names[i].length),
      // Exact matches first, then names that begin with the text.
      among = (names) =>
        wanted ? [...names.keys()].filter((i) => at(names, i) >= 0).sort((i, j) => excess(names, i) - excess(names, j)) : [];
    const rows = among(fit.rows),
      columns = among(fit.columns);
    matches = [...columns.map((c) => [null, c]), ...rows.map((r) => [r, null])];
    current = -1;
    picture.found = { rows, columns };
    status.textContent = !wanted ? "" : matches.length ? `${many(rows.length, "row")}, ${many(columns.length, "column")}; Enter shows the next` : "Nothing has that name.";
    page.draw();
  };
  const go = (step) => {
    if (!matches.length) return;
    current = (current + step + matches.length) % matches.length;
    const [r, c] = matches[current],
      [r0, c0] = picture.cursor ?? [0, 0],
      cell = [r ?? r0, c ?? c0];
    picture.show(...cell);
    page.explain(...cell);
    status.textContent = `${current + 1} of ${matches.length}: ${r === null ? `column ${fit.columns[c]}` : `row ${fit.rows[r]}`}`;
  };
  field.addEventListener("input", look);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      field.value = "";
      look();
      page.canvas.focus();
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches?.("input, textarea, select")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  return h("div", { className: "finder" }, h("label", { htmlFor: "fz-find" }, "Find ", field), status);
}

// Where each group of rows begins and ends; rows without a group come last.
export function groupSpans(fit) {
  let from = 0;
  const spans = (fit.groups ?? []).map((name, i) => ({ name, from, to: (from += fit.group_sizes[i]) }));
  if (spans.length && from < fit.n) spans.push({ name: "no group", from, to: fit.n });
  return spans.filter(({ from, to }) => to > from);
}

// A choice of one group: the picture shows its rows, the list its cells.
export function groupChoice(page) {
  const { fit, picture } = page;
  if (!picture.groups.length) return [];
  const choice = h("select", { id: "fz-group" }, h("option", { value: "" }, "all groups"));
  picture.groups.forEach(({ name, from, to }, i) => choice.append(h("option", { value: i }, `${name} (${many(to - from, "row")})`)));
  choice.addEventListener("change", () => {
    const chosen = choice.value === "" ? null : picture.groups[choice.value];
    page.group = chosen;
    fit.range = chosen ? [chosen.from, chosen.to] : [0, fit.n];
    if (chosen) picture.showRows(chosen.from, chosen.to);
    else picture.whole();
    page.rest();
  });
  return h("label", { htmlFor: "fz-group" }, "Rows of ", choice);
}

// A summary of each group: ones, surprising zeros, strongest components.
export function groupTable(page) {
  const { fit, picture } = page;
  if (!picture.groups.length) return [];
  const heads = ["Group", "Rows", "Ones", "Surprising zeros", "Made by"];
  page.groupLines = picture.groups.map((group) => ({ group, count: h("td", { className: "number" }) }));
  const body = page.groupLines.map(({ group: { name, from, to }, count }) => {
    const ones = fit.cells.subarray(from * fit.t, to * fit.t).reduce((sum, code) => sum + (code === 1), 0);
    const number = (text) => h("td", { className: "number" }, text);
    return h("tr", {}, h("th", { scope: "row" }, name), number(`${to - from}`), number(`${ones}`), count, h("td", {}, madeBy(fit, from, to)));
  });
  return h(
    "section",
    { className: "groups", "aria-labelledby": "fz-groups" },
    h("h2", { id: "fz-groups" }, "Groups of rows"),
    h("table", {}, h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", className: i % 4 ? "number" : "" }, text)))), h("tbody", {}, body)),
  );
}

// The three components with most weight in these rows, in words.
function madeBy(fit, from, to) {
  const mean = fit.W.map((w) => w.subarray(from, to).reduce((sum, x) => sum + Math.abs(x), 0));
  const total = mean.reduce((a, b) => a + b, 0) || 1;
  const first = [...mean.keys()].sort((a, b) => mean[b] - mean[a]).slice(0, 3);
  return first.filter((k) => mean[k] > 0.05 * total).map((k) => `component ${k + 1} (${percent(mean[k] / total)})`).join(", ");
}

// Recount the surprising zeros of each group.
export function countGroups(page) {
  const { fit } = page,
    range = fit.range;
  for (const { group, count } of page.groupLines ?? []) {
    fit.range = [group.from, group.to];
    count.textContent = fit.surprising(0, page.least, 1).count.toLocaleString("en");
  }
  fit.range = range;
}
