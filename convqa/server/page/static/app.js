/** The page: sends questions, shows replies, lists conversations. */

import * as api from "./api.js";
import * as panel from "./panel.js";
import { $, announce, fresh, h, icon } from "./dom.js";
import { ago, count } from "./text.js";
import { mishap, reply, spoken, waiting } from "./view.js";

/** The current conversation. A turn has one reply per pipeline: {question, replies: [turn | null]}. */
const talk = { id: null, turns: [], title: "" };
let running = null; // the AbortController of the turn in progress
const LISTED = 100; // conversations in the list, unless older ones are shown
let most = LISTED;
let chosen = 0; // counts conversations begun or opened, so that a late answer is not shown in another one

/** The address of a kept conversation, and the id in the page's address. */
const address = (id) => `#c=${encodeURIComponent(id)}`;
const wanted = () => new URLSearchParams(location.hash.slice(1)).get("c") ?? "";

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

function fillPipelines(pipelines) {
  const options = (all) => all.map(({ id, language }) => h("option", { value: id, data: { language } }, id));
  $("pipeline").replaceChildren(...options(pipelines));
  $("second").replaceChildren(...options(pipelines));
  $("second").selectedIndex = pipelines.length > 1 ? 1 : 0;
  $("compare").hidden = pipelines.length < 2;
  const [first] = pipelines;
  if (!first) return;
  const name = first.collection?.replace(/(\.jsonl)?(\.gz)?$/, "");
  if (name) {
    $("collection").textContent = name;
    $("hello").replaceChildren("Ask ", h("em", {}, name === "passages" ? "your passages" : name));
    $("about").prepend(`${count(first.passages, "passage")}. `);
  }
  $("examples").hidden = first.examples.length === 0;
  $("examples").lastElementChild.replaceChildren(
    ...first.examples.map((text) => h("li", {}, h("button", { type: "button", class: "example", lang: first.language }, text))),
  );
}

// --- the conversation on the page

const opener = (pipeline) => ({
  citation: (citations, index) => (event) => panel.open(citations, index, pipeline, event.currentTarget),
  passage: (id) => (event) => panel.open([{ passage: id }], 0, pipeline, event.currentTarget),
});

/** Show a turn's question with a slot for each reply; returns the slots. */
function place(question, pipelines) {
  const id = fresh("turn");
  const two = pipelines.length > 1;
  const places = pipelines.map((pipeline) => {
    const heading = two && h("h3", { class: "pipeline" }, pipeline);
    const says = two ? { role: "group", "aria-label": `Answer by ${pipeline}` } : {};
    return h("div", { class: "slot", data: { pipeline }, ...says }, heading);
  });
  const asked = h("h2", { id, lang: language(pipelines[0]) }, question);
  const made = h("article", { class: two ? "turn two" : "turn", "aria-labelledby": id }, asked, h("div", { class: "replies" }, places));
  $("welcome").hidden = true;
  $("turns").append(made);
  return places;
}

const put = (place, element) => {
  place.querySelector(".reply")?.remove();
  place.append(element);
};

const show = (place, turn) => put(place, reply(turn, language(turn.pipeline), opener(turn.pipeline)));

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

async function ask(question) {
  for (const button of document.querySelectorAll(".mishap .buttons")) button.remove();
  const pipelines = [$("pipeline").value, ...(isBeside() ? [$("second").value] : [])];
  const known = [...$("list").children].map((item) => item.dataset.id);
  const turn = { question, replies: pipelines.map(() => null), known };
  const earlier = [...talk.turns];
  talk.turns.push(turn);
  talk.title ||= question;
  const places = place(question, pipelines);
  places[0].closest("article").scrollIntoView({ behavior: smooth(), block: "start" });
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
        const body = { question: turn.question, pipeline, ...memory(index, earlier) };
        const got = await api.turn(body, (event, data) => heard(event, data, turn.question), own.signal);
        if (mine !== chosen) return;
        if (got.error) throw new api.Trouble("failed", "This question could not be answered.", got.error.message);
        turn.replies[index] = got;
        show(places[index], got);
        if (index === 0 && got.conversation) begun(got.conversation);
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
  $("turns").replaceChildren();
  $("welcome").hidden = false;
  compare(isBeside());
  if (location.hash) window.history.replaceState(null, "", location.pathname + location.search);
  current();
  field();
  drawer(false);
  if (focus) $("question").focus();
}

/** Open a kept conversation. */
async function reopen(id) {
  begin(false);
  const mine = chosen;
  talk.id = id;
  window.history.replaceState(null, "", address(id));
  current();
  $("welcome").hidden = true;
  $("turns").append(h("p", { class: "stage" }, h("span", { class: "pulse" }), "Opening the conversation"));
  try {
    const kept = await api.conversation(id);
    if (mine === chosen) fill(kept);
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

function fill(kept) {
  $("turns").replaceChildren();
  talk.title = kept.title;
  talk.turns = kept.turns.map((turn) => ({ question: turn.question, replies: [turn.error ? null : turn] }));
  for (const turn of kept.turns) {
    const [where] = place(turn.question, [turn.pipeline]);
    if (turn.error) put(where, mishap(new api.Trouble("failed", "This question could not be answered.", turn.error.message), null));
    else show(where, turn);
  }
  if (option(kept.pipeline)) $("pipeline").value = kept.pipeline;
  compare(isBeside());
  field();
  $("turns").lastElementChild?.scrollIntoView({ block: "start" });
  $("question").focus({ preventScroll: true });
}

const note = (text) => {
  announce(text);
  $("turns").replaceChildren(h("p", { class: "note" }, text));
};

function listed({ id, title, turns, updated }) {
  const line = [count(turns, "turn"), ", ", h("time", { datetime: updated }, ago(updated))];
  return h(
    "li",
    { data: { id } },
    h("a", { href: address(id) }, h("span", { class: "title" }, title), h("span", { class: "when" }, line)),
  );
}

/** Add a conversation's actions to its list item. */
function equip(item) {
  const { id } = item.dataset;
  const title = item.querySelector(".title").textContent;
  const action = (name, label, act) => h("button", { type: "button", class: "icon small", "aria-label": `${label} “${title}”`, title: label, onclick: act }, icon(name));
  item.append(h("span", { class: "actions" }, action("bin", "Delete", () => remove(id, title))));
}

async function refresh() {
  try {
    const kept = await api.conversations(most);
    // Restores the focus if it was in the list.
    const focused = document.activeElement?.closest("#list li")?.dataset.id;
    $("list").replaceChildren(...kept.map(listed));
    [...$("list").children].forEach(equip);
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

async function remove(id, title) {
  $("sure-what").textContent = `“${title}”. This cannot be undone.`;
  if ((await answerOf($("sure"))) !== "delete") return;
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
  if (!question) return $("question").focus();
  $("question").value = "";
  grow();
  ask(question);
});
$("question").addEventListener("input", grow);
$("question").addEventListener("keydown", (event) => {
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
$("pipeline").addEventListener("change", () => isBeside() && compare(true));
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
addEventListener("hashchange", () => {
  if (wanted() && wanted() !== talk.id) reopen(wanted());
});
document.addEventListener("click", (event) => {
  // Choosing the open conversation again does not change the address.
  const link = event.target.closest("#list a");
  if (link && link.closest("li").dataset.id === talk.id) drawer(false);
});

panel.ready();
[...$("list").children].forEach(equip);
for (const time of document.querySelectorAll("#list time")) time.textContent = ago(time.dateTime);
if (wanted()) reopen(wanted());
// A server with keys renders an empty page.
if (!$("pipeline").options.length) api.pipelines().then(fillPipelines).then(refresh).catch(complain);
document.documentElement.dataset.ready = "";
