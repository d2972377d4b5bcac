/** A turn as elements: the rewrite, the answer with citation numbers, the sources, and the details. */

import { fresh, h } from "./dom.js";
import { blocks, count, named, oneLine, parts, seconds, tail } from "./text.js";
import { tools } from "./use.js";

const NOTES = {
  "not sure": ["Not sure", "The passages answer this only in part, or not clearly."],
  "said before": ["Said before", "Nothing new was found."],
};
const MISREAD = " If the question was misunderstood, correct it above.";

/** The rewritten question, with the words from the conversation marked, and what corrects it. */
export function understood(rewrite, question, language, mend = null) {
  if (!rewrite || (!rewrite.added?.length && rewrite.text === question)) return null;
  const button = (label, act) => h("button", { type: "button", class: "mend", onclick: act }, label);
  return h(
    "p",
    { class: "understood" },
    "Understood as ",
    h("q", { lang: language }, marked(rewrite)),
    mend && [
      " ",
      h(
        "span",
        { class: "mends" },
        button("Correct", () => mend.edit(rewrite.text)),
        button("Ask as typed", mend.asTyped),
        button("New topic", mend.newTopic),
      ),
    ],
  );
}

const marked = (rewrite) =>
  parts(rewrite.text, rewrite.added ?? []).map((part) => (part.marked ? h("ins", {}, part.text) : part.text));

/**
 * The reply to a question. `open` makes handlers that open a citation, a passage or what is near; `mend` has what
 * corrects the question, null for a second pipeline's reply; `name` says what was asked, `link` is the answer's address.
 */
export function reply(turn, language, open, mend, name, link) {
  const { answer, citations, ranking } = turn;
  const made = h("div", { class: "reply" });
  // A rewrite to which the passages have no answer is often wrong.
  if (answer?.kind !== "none") made.append(understood(turn.rewrite, turn.question, language, mend) ?? "");
  if (turn.caveat) made.append(h("p", { class: "note" }, turn.caveat));
  if (!answer) made.append(...unbuilt(ranking, open));
  else if (answer.kind === "none" && !answer.sentences.length) made.append(...unanswered(answer, open, name));
  else made.append(...said(turn, citations, language, open));
  if (answer && answer.kind !== "talk") made.append(tools(turn, link));
  else if (answer && INVITING.has(turn.rewrite?.act ?? "") && !turn.rewrite?.added?.length) made.append(invitation(name));
  if (answer?.others?.length) made.append(others(answer.others, open));
  made.append(happened(turn, open));
  return made;
}

/** After these acts, it is said what can be asked. */
const INVITING = new Set(["", "greeting", "thanks", "capability"]);

function said({ answer, rewrite }, citations, language, open) {
  const known = answer.notes.filter((note) => NOTES[note]);
  const doubt = (note) => (note === "not sure" && rewrite?.added?.length ? MISREAD : "");
  const isBack = answer.kind === "question";
  return [
    isBack && h("p", { class: "flag back" }, "A question for you"),
    answer.kind === "none" && h("p", { class: "flag" }, h("strong", {}, "No answer")),
    ...known.map((note) =>
      h("p", { class: "flag" }, h("strong", {}, NOTES[note][0]), h("span", {}, ` ${NOTES[note][1]}${doubt(note)}`)),
    ),
    h(
      "div",
      { class: isBack ? "answer asks" : "answer", lang: language },
      blocks(answer).map((block) => shown(block, citations, open)),
    ),
    citations.length > 0 && sources(citations, open),
  ].filter(Boolean);
}

function shown({ kind, items }, citations, open) {
  const sentences = (item) =>
    item.flatMap((sentence) => {
      const [before, word] = tail(sentence.text);
      const last = h("span", { class: "last" }, word, chips(sentence.citations, citations, open));
      return [sentence.gap, h("span", { class: sentence.mark ? "sentence unfound" : "sentence" }, before, last, mark(sentence))];
    });
  if (kind === "table") return table(items[0][0], citations, open);
  if (kind === "rows") return rows(items.flat(), citations, open);
  if (kind === "p") return h("p", {}, sentences(items[0]));
  return h(kind, {}, items.map((item) => h("li", { value: item[0].number }, sentences(item))));
}

const mark = ({ mark }) => mark && h("span", { class: "mark" }, ` (${mark})`);

/** A table in Markdown; its citations and its mark stand below it. */
function table(sentence, citations, open) {
  const cells = (line) => line.replace(/^\s*\||\|\s*$/g, "").split("|").map((cell) => cell.trim());
  const [head, ...rest] = sentence.text.split("\n").filter((line) => !/^[\s|:-]*-[\s|:-]*$/.test(line));
  const row = (line, name) => h("tr", {}, cells(line).map((cell) => h(name, {}, cell)));
  return h(
    "div",
    {},
    h("table", {}, h("thead", {}, row(head, "th")), h("tbody", {}, rest.map((line) => row(line, "td")))),
    h("p", {}, chips(sentence.citations, citations, open), mark(sentence)),
  );
}

/** Quoted rows of one table; the citations of each stand behind it. */
function rows(sentences, citations, open) {
  const { caption, header } = sentences[0].row;
  const head = header.length > 0 && h("thead", {}, h("tr", {}, header.map((cell) => h("th", { scope: "col" }, cell)), h("td")));
  const body = sentences.map(({ row, citations: numbers }) =>
    h("tr", {}, row.cells.map((cell) => h("td", {}, cell)), h("td", {}, chips(numbers, citations, open))),
  );
  return h("table", {}, caption && h("caption", {}, caption), head, h("tbody", {}, body));
}

function chips(numbers, citations, open) {
  return numbers.flatMap((number) => {
    const index = citations.findIndex((citation) => citation.number === number);
    if (index < 0) return [];
    const { title } = named({ ...citations[index], id: citations[index].passage });
    const { quote } = citations[index];
    const says = { "aria-label": `Source ${number}: ${title}`, title: quote ? `${title}\n“${cut(oneLine(quote), 300)}”` : title };
    return h("button", { type: "button", class: "chip", ...says, data: { number }, onclick: open.citation(citations, index) }, String(number));
  });
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length).trimEnd()} …` : text);

/** The cited passages, each with all its numbers. */
function sources(citations, open) {
  const grouped = Map.groupBy(citations, (citation) => citation.passage);
  return h(
    "ul",
    { class: "sources", "aria-label": "Sources" },
    [...grouped].map(([id, own]) => {
      const { title, place } = named({ ...own[0], id });
      return h(
        "li",
        {},
        h(
          "button",
          { type: "button", class: "source", title: own.map(({ quote }) => quote && `“${cut(oneLine(quote), 300)}”`).join("\n"), onclick: open.citation(citations, citations.indexOf(own[0])) },
          h("span", { class: "numbers" }, own.map((citation) => citation.number).join(" ")),
          h("span", { class: "title" }, title),
          place && h("span", { class: "place" }, place),
        ),
      );
    }),
  );
}

/** What was closest may be an answer: then it is not said that there is nothing. */
const nothing = (closest) => (closest ? "I found no sure answer to this" : "I found nothing about this");

/** A refusal: what was closest is one click away, then the nearest passages, and a hint how to ask. */
function unanswered({ nearest: all, withheld }, open, name) {
  const rest = all.filter((each) => each.id !== withheld?.id || each.start !== withheld?.start);
  const { title, place } = withheld ? named({ ...withheld, quote: withheld.text }) : {};
  return [
    h(
      "div",
      { class: "answer none" },
      h("p", {}, h("strong", {}, `${nothing(withheld)} in ${name}.`)),
      withheld &&
        h(
          "button",
          { type: "button", class: "closest", onclick: open.near(withheld) },
          h("span", { class: "lead-in" }, "Closest: "),
          h("q", {}, withheld.text),
          title && h("span", { class: "place" }, title, place && ` · ${place}`),
        ),
      h("p", { class: "hint" }, "Try the words that the documents use, and ask one thing at a time."),
    ),
    rest.length > 0 && nearest("Nearest passages", rest, open),
  ].filter(Boolean);
}

/** What can be asked, after a greeting or thanks. */
function invitation(name) {
  const example = document.querySelector(".example")?.textContent;
  return h("p", { class: "hint" }, `You can ask about ${name}`, example ? `, for example “${example}”` : ".");
}

/** What was read but not quoted. */
const others = (all, open) =>
  h("details", { class: "others" }, h("summary", {}, "Other sentences"), nearest("", all, open));

const quiet = (text) => h("div", { class: "answer none" }, h("p", {}, text));

/** A turn without an answer: nothing was asked, or the pipeline only retrieves passages. */
function unbuilt(ranking, open) {
  if (!ranking?.length) return [quiet("Nothing to look up. Ask whenever you like.")];
  return [quiet("This pipeline finds passages but writes no answers."), nearest("Passages", ranking.slice(0, 5), open)];
}

function nearest(heading, passages, open) {
  const id = fresh("nearest");
  return h(
    "div",
    { class: "nearest" },
    heading && h("h3", { id }, heading),
    h(
      "ul",
      heading ? { "aria-labelledby": id } : { "aria-label": "Other sentences" },
      passages.map((passage) => {
        const { title, place } = named({ ...passage, quote: passage.text });
        const act = passage.text === undefined ? open.passage(passage.id) : open.near(passage);
        return h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "near", onclick: act },
            passage.text && h("span", { class: "words" }, passage.text),
            title !== passage.text && h("span", { class: "title" }, title),
            place && h("span", { class: "place" }, place),
          ),
        );
      }),
    ),
  );
}

/** The details of a turn: the rewrite, the ranking with scores, notes, and the time by station. */
function happened(turn, open) {
  const total = Object.values(turn.timings ?? {}).reduce((sum, each) => sum + each, 0);
  const others = (turn.answer?.notes ?? []).filter((note) => !NOTES[note] && !note.startsWith("caveat: "));
  const notes = Map.groupBy(others, (note) => note);
  return h(
    "details",
    { class: "happened" },
    h("summary", {}, "How this answer was found", h("span", { class: "total" }, seconds(total))),
    section(
      "Question",
      turn.rewrite ? h("p", { class: "searched" }, marked(turn.rewrite)) : h("p", { class: "hint" }, "Not rewritten."),
      turn.rewrite &&
        h("p", { class: "hint" }, turn.rewrite.added?.length ? "Marked words come from the conversation." : "Used unchanged."),
    ),
    turn.ranking?.length > 0 && section(`The best ${turn.ranking.length} passages`, ranking(turn, open)),
    turn.answer?.reason && section("Why there is no answer", h("p", {}, `${turn.answer.reason}.`)),
    notes.size > 0 && section("Notes", h("ul", {}, [...notes].map(([note, { length }]) => h("li", {}, length > 1 ? `${note} (${length} times)` : note)))),
    total > 0 && section("Time", times(turn.timings, total)),
  );
}

const section = (heading, ...children) => h("section", {}, h("h3", {}, heading), ...children);

function ranking({ ranking: hits, citations }, open) {
  const best = Math.max(...hits.map((hit) => hit.score), 1e-9);
  const numbers = Map.groupBy(citations, (citation) => citation.passage);
  const rows = hits.map((hit, place) => {
    const { title, place: site } = named(hit);
    const cited = (numbers.get(hit.id) ?? []).map((citation) => citation.number).join(" ");
    const name = h("button", { type: "button", class: "hit", onclick: open.passage(hit.id) }, title, site && h("span", { class: "place" }, site));
    return h(
      "tr",
      {},
      h("td", { class: "rank" }, String(place + 1)),
      h("td", {}, name),
      h("td", { class: "numbers" }, cited && h("span", { class: "unseen" }, "cited as "), cited),
      h("td", { class: "bars" }, bar(hit.score / best)),
      h("td", { class: "score" }, hit.score.toFixed(best < 1 ? 4 : 2)),
    );
  });
  const head = (name, attributes) => h("th", { scope: "col", ...attributes }, name);
  const heads = [head("#", { class: "rank" }), head("Passage"), head("Cited", { class: "numbers" }), head("Score", { class: "score", colspan: 2 })];
  return h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows));
}

function bar(part) {
  const made = h("span", { class: "bar" });
  made.style.setProperty("--part", Math.max(0, part));
  return made;
}

function times(timings, total) {
  const rows = Object.entries(timings).map(([station, spent]) =>
    h("tr", {}, h("th", { scope: "row" }, station), h("td", { class: "bars" }, bar(spent / total)), h("td", { class: "score" }, seconds(spent))),
  );
  return h("table", { class: "times" }, h("tbody", {}, rows));
}

/** A turn in words for screen readers. */
export function spoken({ answer }) {
  if (!answer) return "Nothing to look up.";
  if (answer.kind === "none") {
    return answer.text || `${nothing(answer.withheld)}.${answer.withheld ? ` Closest: ${answer.withheld.text}` : ""}`;
  }
  if (answer.kind === "question") return `A question for you: ${answer.text}`;
  const doubt = answer.notes.includes("not sure") ? "Not sure. " : answer.notes.includes("said before") ? "Said before. " : "";
  return doubt + answer.sentences.map(({ text, mark }) => (mark ? `${text} (${mark})` : text)).join(" ");
}

/** The progress of a turn. */
export function waiting(language) {
  const said = h("div");
  const line = h("p", { class: "stage" }, h("span", { class: "pulse", "aria-hidden": "true" }), h("span", {}, "Reading the question"));
  const made = h("div", { class: "reply waiting", "aria-busy": "true" }, line);
  const heard = (event, data, question) => {
    if (event === "rewrite" && data) {
      made.insertBefore(understood(data, question, language) ?? h("span"), line);
      line.lastChild.textContent = "Searching";
    } else if (event === "partial") {
      said.replaceChildren(h("div", { class: "answer", lang: language }, blocks(data).map((block) => shown(block, [], {}))));
      if (!said.parentNode) made.insertBefore(said, line);
      line.lastChild.textContent = "Writing";
    } else if (event === "passages") {
      const found = data.ranking?.length ?? 0;
      line.lastChild.textContent = found ? `Reading the best ${count(found, "passage")}` : "Nothing was found";
    }
  };
  return { made, heard };
}

/** An error with a button: `again` retries, after a wait if the server asks for one. */
export function mishap(trouble, again) {
  const button = h("button", { type: "button", class: "main", onclick: again }, trouble.kind === "stale" ? "Reload" : "Try again");
  const made = h(
    "div",
    { class: "reply mishap", role: "group", "aria-label": "The question was not answered" },
    h("p", {}, h("strong", {}, trouble.message)),
    trouble.detail && h("p", { class: "hint" }, trouble.detail),
    again && h("p", { class: "buttons" }, button),
  );
  if (again && trouble.wait) {
    let left = Math.min(trouble.wait, 60);
    button.disabled = true;
    const tick = () => {
      button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
      button.disabled = left > 0;
      if (left-- > 0) setTimeout(tick, 1000);
    };
    tick();
  }
  return made;
}
