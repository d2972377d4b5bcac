/** Texts and offsets. The server counts code points, JavaScript UTF-16 units; only this file converts between them. */

/** The characters [start, end) of a text, in code points. */
export const slice = (text, start, end) => Array.from(text).slice(start, end).join("");

/** Cut a text at ranges [start, end) of code points into [{text, marked}], joining overlaps. */
export function parts(text, ranges) {
  const points = Array.from(text);
  const made = [];
  let at = 0;
  const add = (end, marked) => {
    if (end > at) made.push({ text: points.slice(at, end).join(""), marked });
    at = Math.max(at, end);
  };
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    add(Math.min(start, points.length), false);
    add(Math.min(end, points.length), true);
  }
  add(points.length, false);
  return made;
}

/** The URL if it is http or https, else null. */
export function web(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url : null;
  } catch {
    return null;
  }
}

const encoded = (words) => encodeURIComponent(words.toWellFormed()).replaceAll("-", "%2D");

/** The URL with a text fragment, by which the browser scrolls to the quote and marks it. */
export function fragment(address, quote) {
  const url = web(address);
  if (!url) return "";
  const words = quote.trim().split(/\s+/).filter(Boolean);
  if (!words.length) return url.href;
  const [first, last] = [words.slice(0, 6), words.slice(-6)];
  const text = words.length <= 14 ? encoded(words.join(" ")) : `${encoded(first.join(" "))},${encoded(last.join(" "))}`;
  return `${url.href}${url.hash ? "" : "#"}:~:text=${text}`;
}

const ARCHIVED = /^https?:\/\/web\.archive\.org\/web\/[^/]+\/(?=https?:)/;

/** The web address of a passage, perhaps in its id, which may end in the number of the passage. */
export const addressOf = ({ url, id }) => url || (web(id ?? "") ? id.replace(/\/?_p\d+$/, "") : "");

/** A passage's display name: its title, or else words from its URL, or its first words, or its id. */
export function named({ title, id, url, quote }) {
  if (title) return { title, place: url ? host(url) : "" };
  const address = web((url || id || "").replace(ARCHIVED, ""));
  if (!address) {
    const words = (quote ?? "").trim().split(/\s+/).slice(0, 8).join(" ");
    return { title: words ? (words.length < quote.trim().length ? `${words} …` : words) : id || "", place: "" };
  }
  const words = spoken(address.pathname.replace(/_p\d+$/, "").split("/").filter(Boolean).at(-1) ?? "");
  return words ? { title: words, place: host(address.href) } : { title: host(address.href), place: "" };
}

const host = (address) => web(address.replace(ARCHIVED, ""))?.hostname.replace(/^www\./, "") ?? "";

/** The last part of a URL as words, "" if it has none. */
function spoken(part) {
  let text = part.replace(/\.[a-z]{2,5}$/i, "");
  try {
    text = decodeURIComponent(text);
  } catch {
    // A malformed URL is shown unchanged.
  }
  text = text.replace(/[_+-]+/g, " ").trim();
  return /\p{L}{3}/u.test(text) ? text[0].toUpperCase() + text.slice(1) : "";
}

/** Split off the last word, which a citation number must not leave. */
export function tail(text) {
  const [word] = /\S{0,24}$/u.exec(text);
  return [text.slice(0, text.length - word.length), word];
}

const MARK = /^(?:(\d{1,3})\.|-)\s+/;

/**
 * The sentences of an answer as paragraphs and lists: [{kind: "p" | "ol" | "ul", items: [[sentence, ...], ...]}].
 * The server marks the sentences that begin an item; the item's mark, if it has one, is removed. `number` is the item's own number,
 * so that gaps in a list stay visible; `gap` is the space before a sentence. Quoted rows of one table are one block
 * {kind: "rows", items: [[sentence], ...]}; a table in Markdown is one of the kind "table".
 */
export function blocks(answer) {
  const made = [];
  answer.sentences.forEach((sentence, index) => {
    if (sentence.text.includes("\n")) return made.push({ kind: "table", items: [[sentence]] });
    if (sentence.row) {
      const table = JSON.stringify([sentence.row.caption, sentence.row.header]);
      if (made.at(-1)?.table === table) made.at(-1).items.push([sentence]);
      else made.push({ kind: "rows", table, items: [[sentence]] });
      return undefined;
    }
    const mark = sentence.item ? MARK.exec(sentence.text) ?? [""] : null;
    // A quoted sentence does not belong to the quoted item before it.
    const isQuoted = sentence.supported === null && sentence.citations?.length;
    const apart = isQuoted && !mark ? ["table", "rows", "ul", "ol"] : ["table", "rows"];
    const introduces = !mark && /[:：]$/.test(sentence.text);
    const last = introduces || apart.includes(made.at(-1)?.kind) ? null : made.at(-1);
    const gap = sentence.start > (answer.sentences[index - 1]?.end ?? 0) ? " " : "";
    if (mark) {
      const kind = mark[1] ? "ol" : "ul";
      const own = { ...sentence, text: sentence.text.slice(mark[0].length), number: mark[1], gap: "" };
      if (last?.kind === kind) last.items.push([own]);
      else made.push({ kind, items: [[own]] });
    } else if (last) {
      last.items.at(-1).push({ ...sentence, gap });
    } else {
      made.push({ kind: "p", items: [[{ ...sentence, gap: "" }]] });
    }
  });
  return made;
}

/** A quote on one line; a table's row as its cells. */
export function oneLine(quote) {
  const text = quote.replace(/\s+/g, " ").trim();
  return text.startsWith("|") ? text.replace(/^\| *| *\|$/g, "").replaceAll(/ *\| */g, ", ") : text;
}

export function seconds(value) {
  if (value >= 1) return `${value.toFixed(1)} s`;
  return value >= 0.001 ? `${Math.round(value * 1000)} ms` : "under 1 ms";
}

export const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

/** "Today", "Yesterday", "November 12, 2026": the heading of a day in the list of conversations. */
export function day(time) {
  const date = new Date(time);
  const midnight = new Date().setHours(0, 0, 0, 0);
  if (date >= midnight) return "Today";
  if (date >= midnight - 86_400_000) return "Yesterday";
  return date.toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" });
}

/** Break a wall of text into paragraphs of about 400 characters, between sentences. */
export const paragraphs = (text) =>
  text.length < 700 || /\n\s*\n/.test(text) ? text : text.replace(/([^\n]{350,}?[.!?]["”')\]]*) +(?=["“(\[]?[\p{Lu}\d])/gsu, "$1\n\n");

/**
 * A passage with the ranges marked, as [{text, marked}], tables {rows: [{cells, marked}]} and headings {heading}; a
 * table's lines begin with "|". Offsets are code points; `headings` has those where headings begin.
 */
export function laidOut(text, ranges, headings = []) {
  const made = [];
  let at = 0;
  let plain = "";
  let from = 0;
  const flush = () => {
    if (!plain) return;
    const own = ranges.map(([start, end]) => [start - from, end - from]).filter(([, end]) => end > 0);
    made.push(...parts(plain, own.map(([start, end]) => [Math.max(0, start), end])));
    plain = "";
  };
  for (const line of text.split(/(?<=\n)/)) {
    const length = Array.from(line).length;
    if (/^\|.*\|\s*$/.test(line)) {
      flush();
      if (!made.at(-1)?.rows) made.push({ rows: [] });
      const marked = ranges.some(([start, end]) => start < at + length && end > at);
      const cells = line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
      if (!cells.every((cell) => /^:?-+:?$/.test(cell))) made.at(-1).rows.push({ cells, marked });
    } else if (headings.includes(at)) {
      flush();
      made.push({ heading: line.trim() });
    } else if (plain || line.trim() || !made.at(-1)?.heading) {
      if (!plain) from = at;
      plain += line;
    }
    at += length;
  }
  flush();
  return made;
}

const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** "3 minutes ago", "yesterday". */
export function ago(time) {
  const since = (Date.now() - Date.parse(time)) / 1000;
  for (const [unit, length] of STEPS) if (since >= length) return AGO.format(-Math.floor(since / length), unit);
  return "just now";
}
