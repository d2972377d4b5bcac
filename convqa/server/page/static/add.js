/** Documents that people add: a dialog that takes files one by one, says what of each was read, and removes again. */

import * as api from "./api.js";
import { $, announce, h, icon } from "./dom.js";
import { count } from "./text.js";

let allowed = false; // {types, bytes}, false where nothing can be added
let hooks = null; // {pipeline, sure, changed}: the chosen pipeline, a question before deleting, and what follows a change
let waiting = []; // files to send
let isSending = false;

/** Offer what the server allows this caller. */
export function allow(adding) {
  allowed = adding;
  $("add").hidden = !allowed;
  if (!allowed) return;
  $("drop-files").accept = allowed.types.join(",");
  $("drop-limits").textContent = `${allowed.types.map((type) => type.slice(1)).join(", ")}; up to ${size(allowed.bytes)} each`;
}

const size = (bytes) => `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;

/** Names as the server takes them: without control characters and unusual blanks. */
const cleaned = (name) => name.normalize("NFC").replace(/[\p{C}\p{Z}]+/gu, " ").trim();

/** Why a file cannot be added, "" if it may be. */
function refusal({ name, size: bytes }) {
  const type = /\.[^.]+$/.exec(name)?.[0].toLowerCase();
  if (!type) return "It has no type, or is a folder. Choose documents.";
  if (!allowed.types.includes(type)) return `Documents of the type ${type} cannot be read.`;
  if (!bytes) return "It is empty.";
  return bytes > allowed.bytes ? `It has ${size(bytes)}, more than the ${size(allowed.bytes)} that are allowed.` : "";
}

/** A line of the list, whose state changes. */
function line(name) {
  const state = h("span", { class: "state" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": `Sending ${name}`, hidden: true });
  const made = h("li", {}, h("span", { class: "name" }, name), bar, state);
  const show = (words, kind = "") => {
    bar.hidden = kind !== "sending";
    made.className = kind;
    state.replaceChildren(...[words].flat());
  };
  return { made, bar, show };
}

function take(files) {
  for (const file of files) {
    const item = { file, name: cleaned(file.name), ...line(cleaned(file.name)) };
    $("added-now").append(item.made);
    const why = refusal({ name: item.name, size: file.size });
    if (why) item.show(`Not added. ${why}`, "bad");
    else {
      item.show("Waiting");
      waiting.push(item);
    }
  }
  send();
}

async function send() {
  if (isSending) return;
  isSending = true;
  let added = 0;
  while (waiting.length) if (await sent(waiting.shift())) added += 1;
  isSending = false;
  if (!added) return;
  announce(`${count(added, "document")} added.`);
  await Promise.all([list(), hooks.changed()]);
}

/** Send one file; while another one is added by somebody else, try again. */
async function sent({ file, name, bar, show }) {
  for (;;) {
    show("Sending", "sending");
    const { status, reply, wait } = await api.addDocument(file, name, hooks.pipeline(), (part) => {
      bar.value = part;
      if (part === 1) show([h("span", { class: "pulse", "aria-hidden": "true" }), "Reading"], "reading");
    });
    if (status === 201) {
      const read = Object.entries(reply.counts).filter(([, number]) => number);
      const words = read.map(([things, number]) => (number === 1 ? `1 ${things.replace(/s$/, "")}` : `${number} ${things}`)).join(", ");
      const unread = reply.unread.map((part) => h("span", { class: "unread" }, `Not read: ${part}.`));
      show([words ? `Added: ${words}.` : "Added.", ...unread], "done");
      return true;
    }
    if (status !== 503) {
      const why = status === 504 ? "The server is still reading it. Look here again in some minutes." : `Not added. ${(reply?.error?.message || api.AWAY).replace(`${name} cannot be read: it`, "It").replace(`${name} cannot`, "It cannot")}`;
      show(why, "bad");
      announce(`${name}: ${why}`);
      return false;
    }
    show("Waiting for another document");
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }
}

/** List the documents that were added, each with a button that removes it. */
async function list() {
  const documents = (await api.documents(hooks.pipeline())).filter(({ file }) => file.startsWith("added/"));
  $("added").replaceChildren(
    ...documents.map(({ file, title }) => {
      const name = file.slice("added/".length);
      const label = `Remove “${name}”`;
      const button = h("button", { type: "button", class: "icon small", "aria-label": label, title: label, onclick: () => remove(file, name) }, icon("bin"));
      return h("li", {}, h("span", { class: "name" }, name, title && title !== name.replace(/\.[^.]+$/, "") && h("span", { class: "place" }, title)), button);
    }),
  );
  $("added-before").hidden = documents.length === 0;
}

async function remove(file, name) {
  if (!(await hooks.sure("Remove this document?", `“${name}” is deleted from the server, and can no longer be asked.`))) return;
  try {
    await api.removeDocument(file, hooks.pipeline());
    announce(`${name} was removed.`);
  } catch (error) {
    const failed = line(name);
    failed.show(`Not removed. ${error.detail || error.message}`, "bad");
    $("added-now").append(failed.made);
  }
  await Promise.all([list(), hooks.changed()]);
  ($("added").querySelector("button") ?? $("drop-files")).focus();
}

function open() {
  if (!isSending) $("added-now").replaceChildren();
  if (!$("adding").open) $("adding").showModal();
  return list();
}

const hasFiles = ({ dataTransfer }) => allowed && dataTransfer?.types.includes("Files");

/** Install the button, the dialog, and the whole page as a place to drop files. */
export function ready(given) {
  hooks = given;
  $("add").addEventListener("click", () => open().catch(hooks.complain));
  $("drop-files").addEventListener("change", () => {
    take($("drop-files").files);
    $("drop-files").value = "";
  });
  addEventListener("dragenter", (event) => {
    if (hasFiles(event) && !$("adding").open && !document.querySelector("dialog[open]")) open().catch(hooks.complain);
  });
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    $("drop").classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || $("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    $("drop").classList.remove("over");
    if (!hasFiles(event)) return;
    event.preventDefault();
    if ($("adding").open) take(event.dataTransfer.files);
  });
}
