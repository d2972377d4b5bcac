/** What can be done with an answer: copy it, link to it, rate it. */

import * as api from "./api.js";
import { announce, fresh, h, icon } from "./dom.js";
import { blocks, named, oneLine } from "./text.js";

/** The answer with its sources in Markdown. `link` is the address of the answer on this page. */
export function markdown(turn, link = "") {
  const lines = [`**${turn.question.replace(/\s+/g, " ")}**`, ""];
  for (const { kind, items } of blocks(turn.answer)) {
    items.forEach((item, index) => {
      const text = item.map((sentence) => (sentence.gap ?? "") + cited(sentence)).join("");
      if (kind === "ol") lines.push(`${item[0].number ?? index + 1}. ${text}`);
      else if (kind === "ul" || kind === "rows") lines.push(`- ${text}`);
      else lines.push(text);
    });
    lines.push("");
  }
  if (turn.citations.length) lines.push("Sources:", "");
  for (const citation of turn.citations) {
    const { title } = named({ ...citation, id: citation.passage });
    const address = /^https?:\/\/[^\s()<>]+$/.test(citation.url) ? citation.url : "";
    const name = address ? `[${title.replace(/[[\]]/g, "")}](${address})` : title;
    lines.push(`- [${citation.number}] ${name}: “${oneLine(citation.quote)}”`);
  }
  if (link) lines.push("", link);
  return `${lines.join("\n").trim()}\n`;
}

const cited = ({ text, citations, mark }) =>
  [text, citations?.map((number) => `[${number}]`).join(""), mark && `(${mark})`].filter(Boolean).join(" ");

/** Put a text on the clipboard. Without a secure address, browsers allow only the older way. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { class: "unseen" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/** The row of buttons below an answer. `link` returns the answer's address, "" if it is not kept. */
export function tools(turn, link) {
  const said = h("span", { class: "hint", role: "status" });
  const done = (text) => {
    said.textContent = text;
    setTimeout(() => said.textContent === text && (said.textContent = ""), 4000);
  };
  const button = (name, label, act) => h("button", { type: "button", class: "icon small", "aria-label": label, title: label, onclick: act }, icon(name));
  const address = link();
  return h(
    "div",
    { class: "tools", role: "group", "aria-label": "Use this answer" },
    turn.answer.sentences.length > 0 &&
      button("copy", "Copy the answer with its sources", async (event) => {
        const { currentTarget } = event;
        await copy(markdown(turn, address));
        done("Copied.");
        currentTarget.focus();
      }),
    address &&
      button("link", "Copy a link to this answer", async (event) => {
        const { currentTarget } = event;
        await copy(address);
        done("Link copied.");
        currentTarget.focus();
      }),
    ...(turn.conversation ? rating(turn, button, done) : []),
    said,
  );
}

const VERDICTS = { good: "Good answer", bad: "Bad answer" };

/** Two thumbs, and a place for a comment after a choice. */
function rating(turn, button, done) {
  const place = h("div", { class: "comment" });
  const thumbs = Object.entries(VERDICTS).map(([verdict, label]) => {
    const thumb = button(verdict, label, () => rate(turn.feedback?.verdict === verdict ? null : verdict));
    thumb.dataset.verdict = verdict;
    return thumb;
  });
  const show = () => {
    for (const thumb of thumbs) thumb.setAttribute("aria-pressed", String(turn.feedback?.verdict === thumb.dataset.verdict));
  };
  const send = async (verdict, comment) => {
    try {
      await api.rate(turn.conversation, turn.number, verdict, comment);
      turn.feedback = verdict && { verdict, comment };
      show();
      return true;
    } catch (error) {
      done(error.message);
      return false;
    }
  };
  const write = () => place.replaceChildren(turn.feedback?.comment ? h("p", { class: "hint" }, `“${turn.feedback.comment}”`) : "");
  async function rate(verdict) {
    write();
    if (!(await send(verdict, turn.feedback?.comment ?? "")) || !verdict) return;
    announce(`${VERDICTS[verdict]}. You may add a comment.`);
    const id = fresh("comment");
    const field = h("input", { id, type: "text", maxlength: 1000, autocomplete: "off" });
    field.value = turn.feedback.comment;
    const form = h(
      "form",
      {
        onsubmit: async (event) => {
          event.preventDefault();
          if (!(await send(verdict, field.value.trim()))) return;
          write();
          done("Thank you.");
        },
      },
      h("label", { for: id }, verdict === "bad" ? "What is wrong?" : "What is good?"),
      field,
      h("button", { type: "submit", class: "main" }, "Send"),
    );
    place.replaceChildren(form);
    field.focus();
  }
  show();
  write();
  return [...thumbs, place];
}
