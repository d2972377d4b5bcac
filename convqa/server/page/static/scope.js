/** Which documents are asked: chosen in a dialog, shown above the question, kept for the conversation. */

import * as api from "./api.js";
import { $, announce, h, icon } from "./dom.js";

let chosen = []; // names of files; none = all
let kept = null; // the id of the conversation for which the choice is kept

const key = (id) => `convqa.documents.${id}`;

/** The part of a request that chooses documents. */
export const filter = () => (chosen.length ? { filter: { file: chosen } } : {});

/** Take the choice over to a conversation that has begun. */
export function keep(id) {
  kept = id;
  try {
    if (chosen.length) localStorage.setItem(key(id), JSON.stringify(chosen));
    else localStorage.removeItem(key(id));
  } catch {
    // Without storage, the choice ends with the page.
  }
}

/** Restore the choice of a conversation; null = a new one, which asks all. */
export function restore(id) {
  kept = id;
  chosen = [];
  try {
    chosen = (id && JSON.parse(localStorage.getItem(key(id)))) || [];
  } catch {
    // A choice that cannot be read is none.
  }
  show();
}

/** The chosen documents in words, "" for all. */
export function words() {
  return chosen.length <= 3 ? chosen.join(", ") : `${chosen.slice(0, 2).join(", ")} and ${chosen.length - 2} more`;
}

function show() {
  const all = () => {
    set([]);
    $("question").focus();
  };
  $("scope").hidden = chosen.length === 0;
  $("scope").replaceChildren(
    h("span", { title: chosen.join("\n") }, `Only ${words()}`),
    h("button", { type: "button", class: "icon small", "aria-label": "Ask all documents", title: "Ask all documents", onclick: all }, icon("close")),
  );
}

function set(files) {
  chosen = files;
  show();
  if (kept) keep(kept);
  announce(chosen.length ? `Only ${chosen.join(", ")}` : "All documents");
}

/** Show the dialog; `pipeline` names the collection. `answerOf` shows a dialog and resolves to its choice. */
export async function choose(pipeline, answerOf) {
  const documents = await api.documents(pipeline);
  const folders = Map.groupBy(documents, ({ file }) => file.slice(0, file.lastIndexOf("/") + 1));
  const boxes = [];
  const box = ({ file, title }) => {
    const input = h("input", { type: "checkbox", value: file });
    input.checked = chosen.includes(file);
    const name = file.slice(file.lastIndexOf("/") + 1);
    const made = h("label", { class: "file" }, input, h("span", {}, name, title && title !== name && h("span", { class: "place" }, title)));
    boxes.push({ input, made, words: `${file} ${title}`.toLowerCase() });
    return made;
  };
  $("choose-files").replaceChildren(
    ...[...folders].map(([folder, own]) => {
      const list = own.map(box);
      if (!folder) return h("div", {}, list);
      const inputs = list.map((each) => each.querySelector("input"));
      const all = h("input", { type: "checkbox" });
      const set = () => (all.checked = inputs.every((each) => each.checked));
      all.addEventListener("change", () => inputs.forEach((each) => (each.checked = all.checked)));
      inputs.forEach((each) => each.addEventListener("change", set));
      set();
      return h("div", {}, h("label", { class: "folder" }, all, folder), list);
    }),
  );
  $("choose-find").value = "";
  $("choose-find").oninput = () => {
    const words = $("choose-find").value.trim().toLowerCase();
    for (const each of boxes) each.made.hidden = !each.words.includes(words);
  };
  const answer = await answerOf($("choose"));
  if (answer === "all") set([]);
  else if (answer === "some") set(boxes.filter(({ input }) => input.checked).map(({ input }) => input.value));
  $("question").focus();
}
