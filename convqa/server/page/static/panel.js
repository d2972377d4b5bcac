/** The side panel, which shows a passage with the cited characters marked. */

import { $, announce, h, icon } from "./dom.js";
import * as api from "./api.js";
import { addressOf, count, fragment, laidOut, named, paragraphs, slice } from "./text.js";

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
  $("panel-body").scrollTop = 0;
  $("panel-text").replaceChildren(h("p", { class: "hint" }, "Loading the passage"));
  $("panel-meta").replaceChildren();
  $("panel-title").focus({ preventScroll: true });
  // On a small screen the panel is at the bottom, and the cited sentence stays above it.
  if (narrow.matches) (shown.opener?.closest(".sentence, tr") ?? shown.opener)?.scrollIntoView({ block: "start" });
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
  head(place, { ...passage, title: place.title || passage.title, quote: passage.text });
  const located = Number.isInteger(place.start) && Number.isInteger(place.end);
  const [start, end] = located ? found(place, passage.text) : [0, 0];
  const isChanged = located && end === 0;
  const headings = passage.units?.filter(({ kind }) => kind === "heading").map((unit) => unit.start) ?? [];
  const text = laidOut(passage.text, end ? [[start, end]] : [], headings);
  $("panel-text").replaceChildren(
    isChanged ? h("p", { class: "note", role: "note" }, "This passage has changed since. It said: ", h("q", {}, place.quote)) : "",
    passage.meta?.recognized ? h("p", { class: "note" }, "Recognized in a picture of the page, perhaps with mistakes.") : "",
    ...text.map(shownPart),
  );
  const quote = end ? slice(passage.text, start, end) : "";
  const { place: site } = named(passage);
  const link = original(passage, place, quote);
  $("panel-address").replaceChildren(...[site, site && link && " · ", link].filter(Boolean));
  // Hides the fields that convqa index adds for itself.
  const meta = Object.entries(passage.meta ?? {}).filter(
    ([name, value]) => !OWN_NOTES.has(name) && value !== "" && value !== null,
  );
  $("panel-meta").replaceChildren(
    ...meta.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
    h("dt", { class: "detail" }, "id"),
    h("dd", { class: "detail" }, passage.id),
  );
  const mark = $("panel-text").querySelector("mark, tr.marked");
  if (mark) mark.scrollIntoView({ block: "center" });
  else $("panel-body").scrollTop = 0;
  announce(quote ? `Cited: ${quote}` : `Passage of ${count(Array.from(passage.text).length, "character")}`);
}

/** Where a quote stands in a text that may have changed since: [0, 0] if nowhere. */
function found({ start, end, quote }, text) {
  if (!quote || slice(text, start, end) === quote) return [start, end];
  const at = text.indexOf(quote);
  if (at < 0) return [0, 0];
  const before = Array.from(text.slice(0, at)).length;
  return [before, before + Array.from(quote).length];
}

function shownPart(part) {
  if (part.marked) return h("mark", {}, part.text);
  if (part.heading) return h("h3", {}, part.heading);
  if (!part.rows) return paragraphs(part.text);
  const row = ({ cells, marked }) =>
    h("tr", marked ? { class: "marked" } : {}, cells.map((cell) => h("td", {}, marked ? h("mark", {}, cell) : cell)));
  return h("table", {}, h("tbody", {}, part.rows.map(row)));
}

/** A link to the document: on the web, or the indexed file on this server, at its page. */
function original(passage, place, quote) {
  const says = ["Open original", icon("out"), h("span", { class: "unseen" }, " in a new tab")];
  const link = (href) => h("a", { href, target: "_blank", rel: "noopener noreferrer" }, says);
  const address = fragment(addressOf({ url: passage.url || place.url, id: passage.id }), quote);
  if (address) return link(address);
  const { file, page } = passage.meta ?? {};
  if (!file || !document.body.dataset.originals) return "";
  const words = encodeURIComponent(quote.split(/\s+/).slice(0, 8).join(" ").toWellFormed());
  const where = page ? `#page=${page}&search=${words}` : quote ? `#:~:text=${words.replaceAll("-", "%2D")}` : "";
  const path = api.original(passage.id, shown.pipeline);
  if (!api.hasKey()) return link(path + where);
  // A link has no key, so the file is fetched with it and opened from memory.
  const open = async () => {
    try {
      const blob = await (await api.fetched(path)).blob();
      window.open(URL.createObjectURL(blob) + where, "_blank", "noopener");
    } catch (trouble) {
      $("panel-address").append(h("span", { role: "alert" }, ` ${trouble.message}`));
    }
  };
  return h("button", { type: "button", class: "as-link", onclick: open }, says);
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
