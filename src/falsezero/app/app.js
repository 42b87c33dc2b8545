// From a file that is dropped in to its audit: what is asked of the server, and when.

import { drawDownloads, drawLines, drawReading, element, isLong } from "./view.js";

const get = (id) => document.getElementById(id);
const form = get("form");
const STEPS = ["drop", "confirm", "busy", "result"];
const TEXTS = ["layer", "delimiter", "encoding", "duplicates", "surveyed", "rows", "columns"];
const NUMBERS = ["binarize", "skip"];

let desk = null; // key of the desk on the server
let names = []; // of the files dropped in, as they lie there
let title = ""; // of the table, as the person calls it
let dropped = new Set(); // columns chosen to be left out
let roles = {}; // row, column, value, look, observer, index: which column is what
let layout = "wide";
let turn = 0; // answers to older questions are not shown

function show(step) {
  for (const each of STEPS) get(each).hidden = each !== step;
  for (const item of document.querySelectorAll(".steps li")) {
    const at = STEPS.indexOf(item.dataset.step), now = STEPS.indexOf(step);
    item.className = at < now ? "done" : at === now ? "now" : "";
    if (at === now) item.setAttribute("aria-current", "step"); else item.removeAttribute("aria-current");
  }
  document.body.dataset.step = step;
  get(step).querySelector("[tabindex='-1']")?.focus({ preventScroll: true });
}

function complain(sentence) {
  get("problem").hidden = !sentence;
  get("problem").textContent = sentence ?? "";
  if (sentence) get("problem").scrollIntoView({ block: "nearest" });
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("falsezero does not answer; start `falsezero app` in the terminal again, and open its new address.");
  }
  const reply = await answer.json().catch(() => ({ problem: `The server answered ${answer.status}.` }));
  if (!answer.ok) throw new Error(reply.problem ?? `The server answered ${answer.status}.`);
  return reply;
}

const post = (path, body) => ask(path, { method: "POST", body: body === undefined ? undefined : body });

// Wait for the answer to a task; null where something else was asked in the meantime.
async function finish(mine, watch = () => {}) {
  for (;;) {
    const state = await ask(`desks/${desk}`);
    if (mine !== turn) return null;
    if (state.state !== "busy") return state;
    watch(state);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function receive(files) {
  if (!files.length) return;
  complain(null);
  turn += 1;
  const most = Number(document.querySelector("main").dataset.maxBytes);
  const large = files.find((file) => file.size > most);
  if (large) return complain(`${large.name} is larger than ${most / 1e6} MB, which this page takes; start falsezero app --max-megabytes with more, or use falsezero audit in the terminal.`);
  try {
    desk = (await post("desks")).desk;
    names = [];
    for (const file of files) {
      get("receiving").textContent = `Receiving ${file.name} …`;
      names.push((await post(`desks/${desk}/files/${encodeURIComponent(file.name)}`, file)).name);
    }
    title = files[0].name;
    prepareForm(tableAmong(names));
    await look(null);
    show("confirm");
  } catch (problem) {
    complain(problem.message);
  }
  get("receiving").textContent = "";
  get("files").value = "";
}

// Of several files, the table is the matrix that the others label, or else the first.
function tableAmong(all) {
  return all.find((name) => /\.(mtx|mtx\.gz|npz|npy)$/i.test(name)) ?? all[0];
}

function prepareForm(table) {
  form.reset();
  for (const field of ["file", "surveyed", "rows", "columns"]) {
    const none = field === "file" ? [] : [element("option", { value: "", textContent: "none" })];
    form.elements[field].replaceChildren(...none, ...names.map((name) => element("option", { value: name, textContent: name })));
  }
  form.elements.file.value = table;
  roles = {};
  dropped = new Set();
  get("more").open = false;
}

function readOptions() {
  const options = {};
  for (const [role, name] of Object.entries(roles)) if (isUsed(role)) options[role] = name;
  for (const field of TEXTS) if (form.elements[field].value) options[field] = form.elements[field].value;
  for (const field of NUMBERS) {
    const text = form.elements[field].value.trim().replace(",", ".");
    if (text) options[field] = Number.isFinite(Number(text)) ? Number(text) : text;
  }
  const typed = form.elements.drop.value.split(",").map((name) => name.trim()).filter(Boolean);
  if (dropped.size + typed.length) options.drop = [...new Set([...dropped, ...typed])];
  const marks = marksOf(form.elements.marks.value);
  if (Object.keys(marks).length) options.marks = marks;
  if (form.elements.no_header.checked) options.header = false;
  return options;
}

const isUsed = (role) => (role === "index") === (layout === "wide");

function marksOf(text) {
  const marks = {};
  if (!text.trim()) return marks;
  for (const part of text.split(",")) {
    const at = part.lastIndexOf("="), means = part.slice(at + 1).trim();
    marks[part.slice(0, Math.max(at, 0)).trim()] = /^(na|nan|none)$/i.test(means) || means === "" ? null : Number.isNaN(Number(means)) ? means : Number(means);
  }
  return marks;
}

// Put options into the form: those that were guessed, or that a sentence recommends.
function adopt(options) {
  for (const [name, value] of Object.entries(options)) {
    if (["row", "column", "value", "look", "observer", "index"].includes(name)) roles[name] = value;
    else if (name === "header") form.elements.no_header.checked = value === false;
    else if (name === "marks") {
      const added = Object.entries(value).map(([text, means]) => `${text}=${means ?? "NA"}`);
      form.elements.marks.value = [form.elements.marks.value, ...added].filter(Boolean).join(", ");
    } else if (name === "drop") for (const each of [value].flat()) dropped.add(each);
    else if (form.elements[name]) form.elements[name].value = value;
  }
  if (isLong(options)) layout = "long";
  else if ("index" in options) layout = "wide";
  form.elements.layout.value = layout;
}

// Ask how the file reads, with these options or, without any, as it seems to be laid out.
async function look(options) {
  const mine = ++turn, file = form.elements.file.value;
  get("start").disabled = true;
  if (options === null) { layout = "wide"; roles = {}; }
  const body = JSON.stringify({ file, options, transpose: form.elements.transpose.checked });
  await post(`desks/${desk}/look`, body);
  const state = await finish(mine, ({ stage }) => { get("reading").ariaBusy = "true"; get("receiving").textContent = stage; });
  if (state === null) return;
  get("reading").ariaBusy = "false";
  const found = state.state === "done" ? state.result
    : { names: [], n_names: 0, lines: [], options: options ?? {}, problem: state.problem ?? "Cancelled.", notes: [], remedies: [], table: null };
  if (options === null) adopt(found.options);
  get("file-title").textContent = names.length > 1 ? `${file} and ${names.length - 1} more` : title;
  get("layout-choice").hidden = !found.names.length;
  get("lines").replaceChildren(drawLines(found, layout, readOptions(), chooseRole));
  get("reading").replaceChildren(...drawReading(found, (wanted) => { adopt(wanted); lookAgain(); }));
  markNamed(found.problem ?? found.notes.join(" "));
  get("start").disabled = found.table === null;
}

function lookAgain() {
  complain(null);
  look(readOptions()).catch((problem) => complain(problem.message));
}

function chooseRole(name, role) {
  for (const each of Object.keys(roles)) if (roles[each] === name) delete roles[each];
  dropped.delete(name);
  if (role === "drop") dropped.add(name);
  else if (role) roles[role] = name;
  lookAgain();
}

// Show which options a sentence speaks of.
function markNamed(sentence) {
  for (const field of form.querySelectorAll("#more [name]")) {
    const named = new RegExp(`\\b${field.name}=`).test(sentence);
    field.classList.toggle("named", named);
  }
}

async function audit() {
  complain(null);
  const mine = ++turn, began = performance.now(), bar = get("bar");
  bar.value = 0;
  get("stage").textContent = "Starting";
  show("busy");
  try {
    const loss = form.elements.loss.value.trim().replace(",", ".");
    const asked = { ...(loss ? { loss: Number.isNaN(Number(loss)) ? loss : Number(loss) } : {}), ...(form.elements.false_alarms.checked ? { false_alarms: true } : {}) };
    const body = { file: form.elements.file.value, options: readOptions(), audit: asked, title, transpose: form.elements.transpose.checked };
    await post(`desks/${desk}/audit`, JSON.stringify(body));
    const state = await finish(mine, ({ stage, done, total }) => {
      if (total) bar.value = done / total;
      get("stage").textContent = `${stage} (${Math.round((performance.now() - began) / 1000)} s)`;
    });
    if (state === null) return;
    if (state.state === "done") return showResult(state.result);
    show("confirm");
    complain(state.problem ?? null);
  } catch (problem) {
    show("confirm");
    complain(problem.message);
  }
}

function showResult(result) {
  const base = `desks/${desk}`;
  get("result-title").textContent = title;
  get("headline").textContent = result.headline;
  get("downloads").replaceChildren(...drawDownloads(result, base));
  get("whole").href = `${base}/out/audit.html`;
  get("page").src = `${base}/out/audit.html`;
  show("result");
}

const zone = get("drop-zone");
for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
for (const kind of ["dragleave", "drop"]) document.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.remove("over"); });
document.addEventListener("drop", (event) => receive([...event.dataTransfer.files]));
get("files").addEventListener("change", (event) => receive([...event.target.files]));
form.addEventListener("submit", (event) => { event.preventDefault(); if (!get("start").disabled) audit(); });
form.addEventListener("change", (event) => {
  if (event.target.closest("#lines")) return;
  if (event.target.name === "layout") {
    layout = event.target.value;
    roles = {};
    if (layout === "wide") return lookAgain();
    const [first, second] = [...document.querySelectorAll("#lines th")].map((head) => head.title);
    roles = { row: first, column: second ?? first };
  }
  if (event.target.name === "file") return look(null).catch((problem) => complain(problem.message));
  if (!["loss", "false_alarms"].includes(event.target.name)) lookAgain();
});
get("cancel").addEventListener("click", async () => {
  turn += 1;
  await post(`desks/${desk}/cancel`).catch((problem) => complain(problem.message));
  show("confirm");
});
get("back").addEventListener("click", () => show("confirm"));
for (const button of document.querySelectorAll("[data-again]")) button.addEventListener("click", () => { turn += 1; complain(null); get("page").src = "about:blank"; show("drop"); });
show("drop");
