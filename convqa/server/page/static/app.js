/** The page: sends questions, shows replies, lists conversations. */

import * as add from "./add.js";
import * as api from "./api.js";
import * as panel from "./panel.js";
import * as scope from "./scope.js";
import { $, announce, fresh, h, icon } from "./dom.js";
import { ago, count, day } from "./text.js";
import { mishap, reply, spoken, waiting } from "./view.js";

/**
 * The current conversation. A turn has one reply per pipeline: {question, replies: [turn | null], element, extra, kept};
 * `extra` are fields of its request, such as the number of the turn that it replaces; `kept` by the server.
 */
const talk = { id: null, turns: [], title: "" };
let running = null; // the AbortController of the turn in progress
const LISTED = 100; // conversations in the list, unless older ones are shown
let most = LISTED;
let chosen = 0; // counts conversations begun or opened, so that a late answer is not shown in another one

/** The address of a kept conversation, and what the page's address names: a conversation `c` with a turn, a passage `p`. */
const address = (id) => `#c=${encodeURIComponent(id)}`;
const named = (name) => new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B")).get(name) ?? "";
const wanted = () => named("c");
const linkTo = (id, number) => (id ? `${location.origin}${location.pathname}${address(id)}&t=${number}` : "");

// --- pipelines

const option = (id) => [...$("pipeline").options].find((each) => each.value === id);
const language = (pipeline) => option(pipeline)?.dataset.language ?? null;
const isBeside = () => !$("beside").hidden;

function compare(on) {
  $("beside").hidden = !on;
  $("compare").setAttribute("aria-pressed", String(on));
  if (on && $("second").value === $("pipeline").value) {
    $("second").value = [...$("second").options].find((each) => each.value !== $("pipeline").value).value;
  }
}

function fillPipelines({ pipelines, user, originals, limit, adding }) {
  add.allow(adding);
  $("user").textContent = user;
  document.body.dataset.originals = originals ? "yes" : "";
  document.body.dataset.limit = limit;
  const options = (all) =>
    all.map(({ id, language, documents }) => h("option", { value: id, data: { language, documents: documents ? "yes" : "" } }, id));
  $("pipeline").replaceChildren(...options(pipelines));
  $("second").replaceChildren(...options(pipelines));
  $("second").selectedIndex = pipelines.length > 1 ? 1 : 0;
  $("compare").hidden = pipelines.length < 2;
  const [first] = pipelines;
  if (!first) return;
  const name = first.title || first.collection?.replace(/(\.jsonl)?(\.gz)?$/, "");
  if (name) {
    $("collection").textContent = name;
    $("hello").replaceChildren("Ask ", first.title ? h("em", {}, first.title) : `your ${first.documents ? "documents" : "passages"}`);
    $("about").prepend(...(first.about ? [`${first.about} `] : [h("span", { class: "number" }, count(first.passages, "passage")), ". "]));
  }
  choosable();
  $("examples").hidden = first.examples.length === 0;
  $("examples").lastElementChild.replaceChildren(
    ...first.examples.map((text) => h("li", {}, h("button", { type: "button", class: "example", lang: first.language }, text))),
  );
}

// --- the conversation on the page

/** The name of what is asked, for sentences. */
const collection = () => scope.words() || `the ${option($("pipeline").value)?.dataset.documents ? "documents" : "passages"}`;

const opener = (pipeline) => ({
  near: ({ id, start, end, title, url }) => (event) => panel.open([{ passage: id, start, end, title, url }], 0, pipeline, event.currentTarget),
  citation: (citations, index) => (event) => panel.open(citations, index, pipeline, event.currentTarget),
  passage: (id) => (event) => panel.open([{ passage: id }], 0, pipeline, event.currentTarget),
});

/** Show a turn's question with a slot for each reply; returns the slots. */
function place(turn, pipelines) {
  const { question } = turn;
  const id = fresh("turn");
  const two = pipelines.length > 1;
  const places = pipelines.map((pipeline) => {
    const heading = two && h("h3", { class: "pipeline" }, pipeline);
    const says = two ? { role: "group", "aria-label": `Answer by ${pipeline}` } : {};
    return h("div", { class: "slot", data: { pipeline }, ...says }, heading);
  });
  const pencil = h("button", { type: "button", class: "icon small", "aria-label": "Edit the question", title: "Edit the question", onclick: () => edit(turn, question) }, icon("pencil"));
  const asked = h("div", { class: "asked" }, h("h2", { id, lang: language(pipelines[0]) }, question), pencil);
  const made = h("article", { class: two ? "turn two" : "turn", "aria-labelledby": id }, asked, h("div", { class: "replies" }, places));
  turn.element = made;
  $("welcome").hidden = true;
  $("turns").append(made);
  return places;
}

const put = (place, element) => {
  place.querySelector(".reply")?.remove();
  place.append(element);
};

/** Show a reply; only the first pipeline's is kept, so only there the question can be corrected. */
function show(place, turn, index, got) {
  const mend = index === 0 && {
    edit: (text) => edit(turn, text, true),
    asTyped: () => again(turn, turn.question, true),
    newTopic: () => {
      begin();
      ask(turn.question);
    },
  };
  const link = () => (index === 0 ? linkTo(got.conversation, got.number) : "");
  put(place, reply(got, language(got.pipeline), opener(got.pipeline), mend || null, collection(), link));
}

// --- correcting a question

/** Edit a question, or how it is understood, in its place. What followed is dropped when it is sent. */
function edit(turn, text, asTyped = false) {
  if (running) return;
  const asked = turn.element.querySelector(".asked");
  turn.element.querySelector(".edit")?.remove();
  const close = () => {
    made.remove();
    asked.hidden = false;
    asked.querySelector("button").focus();
  };
  const after = talk.turns.length - talk.turns.indexOf(turn) - 1;
  const field = h("textarea", { rows: 2, "aria-label": asTyped ? "The question as it should be understood" : "The question" });
  field.value = text;
  const made = h(
    "form",
    {
      class: "edit",
      onsubmit: (event) => {
        event.preventDefault();
        const question = field.value.trim();
        if (question) again(turn, question, asTyped);
      },
      onkeydown: (event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          close();
        } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
          event.preventDefault();
          made.requestSubmit();
        }
      },
    },
    field,
    after > 0 && h("p", { class: "hint" }, `${after === 1 ? "The question" : `The ${count(after, "question")}`} after it will be dropped.`),
    h("p", { class: "buttons" }, h("button", { type: "button", onclick: close }, "Cancel"), h("button", { type: "submit", class: "main" }, "Ask again")),
  );
  asked.hidden = true;
  turn.element.prepend(made);
  field.focus();
  field.setSelectionRange(text.length, text.length);
}

/** Ask a question in the place of a turn and of all that followed. */
function again(turn, question, asTyped) {
  if (running) return;
  const index = talk.turns.indexOf(turn);
  const replaced = talk.turns.splice(index);
  const number = talk.turns.filter(({ kept }) => kept).length + 1;
  for (const each of replaced) each.element.remove();
  panel.close();
  if (index === 0) talk.title = "";
  ask(question, { ...(replaced.some(({ kept }) => kept) ? { number } : {}), ...(asTyped ? { as_typed: true } : {}) });
  $("question").focus({ preventScroll: true });
}

/** Label the question field by the last turn: new question, follow-up or reply. */
function field() {
  const last = talk.turns.at(-1)?.replies[0];
  const isReply = last?.answer?.kind === "question";
  $("asked-back").hidden = !isReply;
  $("question").placeholder = isReply ? "Your reply" : talk.turns.length ? "Ask a follow-up" : "Ask a question";
  $("question").setAttribute("aria-label", isReply ? "Your reply" : "Your question");
  document.title = talk.title ? `${talk.title} · convqa` : "convqa";
  $("name").textContent = talk.title;
  $("name").hidden = !talk.title;
}

const STATUS = { answer: "answered", question: "asked", none: "unanswered", talk: "idle" };

/** The earlier exchanges from a pipeline's view: its own replies, or else those of the first pipeline. */
const history = (turns, index) =>
  turns
    .map(({ question, replies }) => [question, replies[index] ?? replies[0]])
    .filter(([, turn]) => turn)
    .map(([question, turn]) => ({
      question,
      answer: turn.answer?.text ?? "",
      ...(turn.rewrite ? { rewrite: turn.rewrite.text } : {}),
      status: STATUS[turn.answer?.kind] ?? "idle",
    }));

/** The context for a pipeline: the kept conversation, or else (also for a second pipeline) the exchanges on the page. */
function memory(index, earlier) {
  if (index === 0 && talk.id) return { conversation: talk.id };
  const said = history(earlier, index);
  return index || said.length ? { history: said } : {};
}

async function ask(question, extra = {}) {
  for (const button of document.querySelectorAll(".mishap .buttons")) button.remove();
  const pipelines = [$("pipeline").value, ...(isBeside() ? [$("second").value] : [])];
  const known = [...$("list").children].map((item) => item.dataset.id);
  const turn = { question, replies: pipelines.map(() => null), known, extra };
  const earlier = [...talk.turns];
  talk.turns.push(turn);
  talk.title ||= question;
  const places = place(turn, pipelines);
  turn.element.scrollIntoView({ behavior: smooth(), block: "start" });
  await answered(turn, places, pipelines.map((_, index) => index), earlier);
}

/** Request the replies with these indices concurrently. Each failed one can be retried alone. */
async function answered(turn, places, indices, earlier) {
  const mine = chosen;
  const own = (running = new AbortController());
  busy(true);
  announce("Searching");
  await Promise.all(
    indices.map(async (index) => {
      const pipeline = places[index].dataset.pipeline;
      const { made, heard } = waiting(language(pipeline));
      put(places[index], made);
      try {
        const { number, ...typed } = turn.extra;
        const body = { question: turn.question, pipeline, ...memory(index, earlier), ...typed, ...scope.filter() };
        if (number && body.conversation) body.number = number;
        const got = await api.turn(body, (event, data) => heard(event, data, turn.question), own.signal);
        if (mine !== chosen) return;
        if (index === 0 && got.conversation) {
          begun(got.conversation);
          // Also a failed turn is kept; another attempt takes its place.
          turn.kept = true;
          turn.extra.number = got.number;
        }
        if (got.error) throw new api.Trouble("failed", "This question could not be answered.", got.error.message);
        turn.replies[index] = got;
        show(places[index], turn, index, got);
        if (index === 0) announce(spoken(got));
        present();
      } catch (error) {
        if (mine === chosen) failed(error, turn, places, index, earlier);
      }
    }),
  );
  if (mine !== chosen) return;
  running = null;
  busy(false);
  field();
  refresh();
}

function begun(id) {
  if (talk.id === id) return;
  talk.id = id;
  scope.keep(id);
  window.history.replaceState(null, "", address(id));
}

function failed(error, turn, places, index, earlier) {
  const stopped = error.name === "AbortError";
  const trouble = stopped ? { message: "Stopped." } : error instanceof api.Trouble ? error : new api.Trouble("failed", "The page could not show this answer.", String(error));
  const again = async () => {
    if (running) return;
    if (trouble.kind === "stale") return reopen(talk.id);
    // If the connection broke, the server may still have kept the answer.
    if (trouble.kind === "away" && index === 0 && (await keptMeanwhile(turn, earlier))) return;
    answered(turn, places, [index], earlier);
    $("question").focus();
  };
  put(places[index], mishap(trouble, trouble.kind === "refused" ? null : again));
  announce(trouble.message);
  if (trouble.kind === "away") away();
}

async function keptMeanwhile(turn, earlier) {
  try {
    const isIts = (each) => !turn.known.includes(each.id) && turn.question.startsWith(each.title);
    const id = talk.id ?? (await api.conversations(LISTED)).find(isIts)?.id;
    const kept = id ? await api.conversation(id) : { turns: [] };
    const before = earlier.filter(({ replies }) => replies[0]).length;
    if (kept.turns.length <= before || kept.turns.at(-1).question !== turn.question) return false;
    begun(id);
    fill(kept);
    refresh();
    return true;
  } catch {
    return false;
  }
}

function busy(on) {
  $("send").replaceChildren(icon(on ? "stop" : "send"));
  $("send").setAttribute("aria-label", on ? "Stop" : "Ask");
  document.body.classList.toggle("busy", on);
}

const smooth = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");

// --- losing the server and getting it back

let watch = null;

function away() {
  $("away").textContent = "The server cannot be reached. Trying again.";
  $("away").hidden = false;
  watch ??= setTimeout(look, 1000);
}

async function look() {
  watch = null;
  try {
    if (!(await fetch("healthz", { cache: "no-store" })).ok) throw new Error();
    present();
    announce("The server is back.");
    await refresh();
  } catch {
    watch = setTimeout(look, 2000);
  }
}

function present() {
  clearTimeout(watch);
  watch = null;
  $("away").hidden = true;
}

// --- conversations

/** Begin a conversation on an empty page. */
function begin(focus = true) {
  chosen += 1;
  running?.abort();
  running = null;
  busy(false);
  panel.close();
  Object.assign(talk, { id: null, turns: [], title: "" });
  scope.restore(null);
  $("turns").replaceChildren();
  $("welcome").hidden = false;
  compare(isBeside());
  if (location.hash) window.history.replaceState(null, "", location.pathname + location.search);
  current();
  field();
  drawer(false);
  if (focus) $("question").focus();
}

/** Open a kept conversation, at a turn or at its end. */
async function reopen(id, number = 0) {
  begin(false);
  const mine = chosen;
  talk.id = id;
  scope.restore(id);
  window.history.replaceState(null, "", address(id));
  current();
  $("welcome").hidden = true;
  $("turns").append(h("p", { class: "stage" }, h("span", { class: "pulse" }), "Opening the conversation"));
  try {
    const kept = await api.conversation(id);
    if (mine === chosen) fill(kept, number);
  } catch (error) {
    if (mine !== chosen) return;
    if (error.kind === "gone") {
      begin();
      note("That conversation no longer exists.");
      refresh();
    } else {
      $("turns").replaceChildren(mishap(error, () => reopen(id)));
      if (error.kind === "away") away();
    }
  }
}

function fill(kept, number = 0) {
  $("turns").replaceChildren();
  talk.title = kept.title;
  talk.turns = [];
  for (const got of kept.turns) {
    const turn = { question: got.question, replies: [got.error ? null : got], kept: true, extra: {} };
    talk.turns.push(turn);
    const [where] = place(turn, [got.pipeline]);
    if (got.error) put(where, mishap(new api.Trouble("failed", "This question could not be answered.", got.error.message), null));
    else show(where, turn, 0, got);
  }
  if (option(kept.pipeline)) $("pipeline").value = kept.pipeline;
  compare(isBeside());
  field();
  (talk.turns[number - 1] ?? talk.turns.at(-1))?.element.scrollIntoView({ block: "start" });
  $("question").focus({ preventScroll: true });
}

const note = (text) => {
  announce(text);
  $("turns").replaceChildren(h("p", { class: "note" }, text));
};

function listed({ id, title, turns, updated, good, bad }) {
  const verdicts = [good && `${good} good`, bad && `${bad} bad`].filter(Boolean).join(", ");
  const line = [count(turns, "turn"), ", ", h("time", { datetime: updated }, ago(updated)), verdicts && ` · ${verdicts}`];
  return h(
    "li",
    { data: { id, updated } },
    h("a", { href: address(id) }, h("span", { class: "title" }, title), h("span", { class: "when" }, line)),
  );
}

/** Add a conversation's actions to its list item. */
function equip(item) {
  const { id } = item.dataset;
  const title = item.querySelector(".title").textContent;
  const action = (name, label, act) => h("button", { type: "button", class: "icon small", "aria-label": `${label} “${title}”`, title: label, onclick: act }, icon(name));
  item.append(h("span", { class: "actions" }, action("pencil", "Rename", () => rename(id, title)), action("bin", "Delete", () => remove(id, title))));
}

/** Head the first conversation of each day, and hide those without the words that are searched. */
function sift() {
  const words = $("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  let last = "";
  for (const item of $("list").children) {
    const title = item.querySelector(".title").textContent.toLowerCase();
    item.hidden = !words.every((word) => title.includes(word));
    item.querySelector(".day")?.remove();
    const heading = day(item.dataset.updated);
    if (!item.hidden && heading !== last) item.prepend(h("span", { class: "day" }, heading));
    if (!item.hidden) last = heading;
  }
  $("search").hidden = $("list").children.length < 6 && !words.length;
}

async function refresh() {
  try {
    const kept = await api.conversations(most);
    // Restores the focus if it was in the list.
    const focused = document.activeElement?.closest("#list li")?.dataset.id;
    $("list").replaceChildren(...kept.map(listed));
    [...$("list").children].forEach(equip);
    sift();
    if (focused) [...$("list").children].find((item) => item.dataset.id === focused)?.querySelector("a").focus();
    $("none-kept").hidden = kept.length > 0;
    $("older").hidden = kept.length < most || most > LISTED;
    current();
  } catch (error) {
    if (error.kind === "away") away();
    else if (error.kind === "gone") unkept();
  }
}

function unkept() {
  $("none-kept").textContent = "This server keeps no conversations.";
  $("none-kept").hidden = false;
}

function current() {
  for (const item of $("list").children) {
    const link = item.querySelector("a");
    if (item.dataset.id === talk.id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function rename(id, title) {
  $("rename-value").value = title;
  const isSaved = (await answerOf($("rename"))) === "rename";
  const name = $("rename-value").value.trim();
  if (!isSaved || !name) return;
  try {
    await api.rename(id, name);
  } catch (error) {
    return complain(error);
  }
  if (talk.id === id) {
    talk.title = name;
    field();
  }
  await refresh();
}

/** Ask before something is deleted. */
async function sure(question, what) {
  $("sure-title").textContent = question;
  $("sure-what").textContent = what;
  return (await answerOf($("sure"))) === "delete";
}

async function remove(id, title) {
  if (!(await sure("Delete this conversation?", `“${title}”. This cannot be undone.`))) return;
  try {
    await api.remove(id);
  } catch (error) {
    if (error.kind !== "gone") return complain(error);
  }
  announce("Deleted.");
  if (talk.id === id) begin();
  else $("new").focus();
  await refresh();
}

function complain(error) {
  if (error.kind === "away") return away();
  $("away").textContent = error.detail ? `${error.message} ${error.detail}` : error.message;
  $("away").hidden = false;
  setTimeout(() => watch ?? ($("away").hidden = true), 8000);
}

/** Show a dialog and resolve to the choice, "" if it was dismissed. */
const answerOf = (dialog) =>
  new Promise((resolve) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
    dialog.showModal();
  });

// Only one button of a dialog submits it, so that Enter in a field means that one.
for (const button of document.querySelectorAll("dialog button[type=button]")) {
  button.addEventListener("click", () => button.closest("dialog").close(button.value));
}

api.door.askKey = async (isWrong) => {
  $("key-why").textContent = isWrong
    ? "The key was not accepted. Try another."
    : "It is kept in this tab only, and forgotten when you close it.";
  $("key-value").value = "";
  while ((await answerOf($("key"))) !== "use");
  return $("key-value").value.trim();
};

// --- user actions

function drawer(open) {
  document.body.classList.toggle("with-list", open);
  $("main").inert = open;
  $("menu").setAttribute("aria-expanded", String(open));
}

function grow() {
  $("question").style.height = "auto";
  $("question").style.height = `${Math.min($("question").scrollHeight, 180)}px`;
}

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) return running.abort();
  const question = $("question").value.trim();
  if (!question || $("send").disabled) return $("question").focus();
  $("question").value = "";
  recalled = -1;
  grow();
  limit();
  ask(question);
});
/** Count the characters before the server's limit. */
function limit() {
  const most = Number(document.body.dataset.limit) || Infinity;
  const length = Array.from($("question").value).length;
  $("count").hidden = length < 0.8 * most;
  $("count").textContent = length > most ? `${count(length - most, "character")} too long` : `${count(most - length, "character")} left`;
  $("send").disabled = !running && length > most;
}

/** Recall an earlier question: the arrow-up key goes back, arrow-down forward. */
let recalled = -1;
function recall(event) {
  const asked = talk.turns.map(({ question }) => question).reverse();
  const isShown = recalled >= 0 && $("question").value === asked[recalled];
  if ($("question").value && !isShown) return;
  const next = (isShown ? recalled : -1) + (event.key === "ArrowUp" ? 1 : -1);
  if (next < -1 || next >= asked.length) return;
  event.preventDefault();
  recalled = next;
  $("question").value = asked[next] ?? "";
  grow();
  limit();
}

/** Take over what a change of the collection changes on the page. */
async function recount() {
  const { pipelines } = await api.settings();
  for (const { id, documents } of pipelines) option(id).dataset.documents = documents ? "yes" : "";
  const number = document.querySelector("#about .number");
  if (number) number.textContent = count(pipelines[0].passages, "passage");
  choosable();
}

/** Offer the choice of documents if the collection has some. */
const choosable = () => ($("documents").hidden = !option($("pipeline").value)?.dataset.documents);

/** Show pipelines, scores, times and ids to those who operate the server. */
function detailed(on) {
  document.body.classList.toggle("detailed", on);
  $("details").setAttribute("aria-pressed", String(on));
  if (!on) compare(false);
}

$("question").addEventListener("input", () => {
  grow();
  limit();
});
$("question").addEventListener("keydown", (event) => {
  if (event.key === "ArrowUp" || event.key === "ArrowDown") return recall(event);
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!running) $("composer").requestSubmit();
});
$("examples").addEventListener("click", (event) => {
  const example = event.target.closest(".example");
  if (example && !running) ask(example.textContent);
  if (example) $("question").focus();
});
$("compare").addEventListener("click", () => compare(!isBeside()));
$("pipeline").addEventListener("change", () => {
  if (isBeside()) compare(true);
  choosable();
});
$("documents").addEventListener("click", () => scope.choose($("pipeline").value, answerOf).catch(complain));
$("search").addEventListener("input", sift);
$("details").addEventListener("click", () => {
  const on = !document.body.classList.contains("detailed");
  detailed(on);
  announce(on ? "Details are shown." : "Details are hidden.");
  try {
    localStorage.setItem("details", on ? "on" : "off");
  } catch {
    // Without storage, the browser forgets the choice with the page.
  }
});
$("new").addEventListener("click", () => begin());
$("older").addEventListener("click", () => {
  most = 1000;
  refresh();
});
$("menu").addEventListener("click", () => {
  drawer(!document.body.classList.contains("with-list"));
  if (document.body.classList.contains("with-list")) $("new").focus();
});
// The content under the list is inert, so the frame around both receives its clicks.
$("frame").addEventListener("click", (event) => event.target === $("frame") && drawer(false));
$("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--is-dark").trim() === "1";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  announce(dark ? "Light" : "Dark");
  try {
    localStorage.setItem("theme", document.documentElement.dataset.theme);
  } catch {
    // Without storage, the browser forgets the theme with the page.
  }
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (panel.isOpen()) panel.close();
  else if (document.body.classList.contains("with-list")) {
    drawer(false);
    $("menu").focus();
  }
});
/** Open what the page's address names. */
function follow() {
  const turn = Number(named("t"));
  if (wanted() && wanted() === talk.id && turn) talk.turns[turn - 1]?.element.scrollIntoView({ block: "start" });
  else if (wanted() && wanted() !== talk.id) reopen(wanted(), turn);
  else if (named("p")) panel.open([{ passage: named("p"), title: "" }], 0, named("pipeline") || $("pipeline").value, $("question"));
}

addEventListener("hashchange", follow);
document.addEventListener("click", (event) => {
  // Choosing the open conversation again does not change the address.
  const link = event.target.closest("#list a");
  if (link && link.closest("li").dataset.id === talk.id) drawer(false);
});

panel.ready();
add.ready({ pipeline: () => $("pipeline").value, sure, changed: recount, complain });
add.allow(JSON.parse(document.body.dataset.adding || "false"));
[...$("list").children].forEach(equip);
for (const time of document.querySelectorAll("#list time")) {
  time.closest("li").dataset.updated = time.dateTime;
  time.textContent = ago(time.dateTime);
}
sift();
try {
  detailed(localStorage.getItem("details") === "on");
} catch {
  detailed(false);
}
choosable();
follow();
// A server with keys renders an empty page.
if (!$("pipeline").options.length) api.settings().then(fillPipelines).then(refresh).catch(complain);
document.documentElement.dataset.ready = "";
