/** The side panel, which shows a passage with the cited characters marked. */

import { $, announce, h, icon } from "./dom.js";
import * as api from "./api.js";
import { count, fragment, named, parts, slice } from "./text.js";

const OWN_NOTES = new Set(["digest", "passages", "start", "end"]);

const narrow = matchMedia("(max-width: 1099px)");
let shown = null; // {passages, index, pipeline, opener}
let asked = 0;

/** Open one of several citations: `places` are {passage, start, end, number?, title, url, quote?}. */
export async function open(places, index, pipeline, opener) {
  shown = { places, index, pipeline, opener: opener ?? shown?.opener };
  const place = places[index];
  const mine = (asked += 1);
  mark();
  $("panel").hidden = false;
  document.body.classList.add("with-panel");
  inert(narrow.matches);
  head(place, { ...place, id: place.passage });
  $("panel-text").replaceChildren(h("p", { class: "hint" }, "Loading the passage"));
  $("panel-meta").replaceChildren();
  $("panel-title").focus({ preventScroll: true });
  try {
    const passage = await api.passage(place.passage, pipeline);
    if (mine === asked) fill(place, passage);
  } catch (trouble) {
    if (mine !== asked) return;
    const again = h("button", { type: "button", class: "main", onclick: () => open(places, index, pipeline) }, "Try again");
    const message = trouble.kind === "gone" ? "This passage is no longer in the collection." : trouble.message;
    $("panel-text").replaceChildren(h("p", { role: "alert" }, message), trouble.kind === "gone" ? "" : h("p", { class: "buttons" }, again));
  }
}

function head(place, passage) {
  const { title, place: site } = named(passage);
  const { places, index } = shown;
  $("panel-which").textContent = place.number ? `Source ${place.number}` : "Passage";
  for (const [id, to] of [["previous", index - 1], ["next", index + 1]]) {
    $(id).hidden = places.length < 2;
    $(id).disabled = !places[to];
  }
  $("panel-title").textContent = title;
  $("panel-address").replaceChildren(site);
}

function fill(place, passage) {
  head(place, { ...passage, title: passage.title || place.title });
  const located = Number.isInteger(place.start) && Number.isInteger(place.end);
  const text = parts(passage.text, located ? [[place.start, place.end]] : []);
  $("panel-text").replaceChildren(...text.map((part) => (part.marked ? h("mark", {}, part.text) : part.text)));
  const quote = located ? slice(passage.text, place.start, place.end) : "";
  const address = fragment(passage.url || place.url || "", quote);
  if (address) {
    const link = h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, "Open original", icon("out"), h("span", { class: "unseen" }, " in a new tab"));
    const { place: site } = named(passage);
    $("panel-address").replaceChildren(...(site ? [site, " · "] : []), link);
  }
  // Hides the fields that convqa index adds for itself.
  const meta = Object.entries(passage.meta ?? {}).filter(
    ([name, value]) => !OWN_NOTES.has(name) && value !== "" && value !== null,
  );
  $("panel-meta").replaceChildren(
    ...[...meta, ["id", passage.id]].flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
  );
  const mark = $("panel-text").querySelector("mark");
  if (mark) mark.scrollIntoView({ block: "center" });
  else $("panel-body").scrollTop = 0;
  announce(quote ? `Cited: ${quote}` : `Passage of ${count(Array.from(passage.text).length, "character")}`);
}

/** Mark the open number as expanded, also for screen readers. */
function mark() {
  for (const chip of document.querySelectorAll("[aria-expanded=true].chip")) chip.removeAttribute("aria-expanded");
  if (shown?.opener?.classList.contains("chip")) {
    const number = String(shown.places[shown.index].number);
    const turn = shown.opener.closest(".reply");
    if (shown.opener.dataset.number !== number) shown.opener = turn?.querySelector(`.chip[data-number="${number}"]`) ?? shown.opener;
    shown.opener.setAttribute("aria-expanded", "true");
  }
}

export function close() {
  if (!shown) return;
  const { opener } = shown;
  shown = null;
  asked += 1;
  $("panel").hidden = true;
  document.body.classList.remove("with-panel");
  inert(false);
  mark();
  (opener?.isConnected ? opener : $("question")).focus();
}

export const isOpen = () => shown !== null;

/** On a small screen the panel covers the page like a dialog, so the page below becomes inert. */
function inert(value) {
  const covers = value && shown !== null;
  for (const each of [$("main"), $("conversations"), document.querySelector(".top")]) each.inert = covers;
  if (covers) $("panel").setAttribute("role", "dialog");
  else $("panel").removeAttribute("role");
  $("panel").ariaModal = covers ? "true" : null;
}

const step = (by) => () => shown?.places[shown.index + by] && open(shown.places, shown.index + by, shown.pipeline);

export function ready() {
  $("close").addEventListener("click", close);
  $("previous").addEventListener("click", step(-1));
  $("next").addEventListener("click", step(1));
  narrow.addEventListener("change", () => inert(narrow.matches));
}
