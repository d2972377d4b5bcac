/** Requests to the server, and its errors in words for people. */

const KEY = "convqa.key";

/** An error with a message for people. `kind`: away, busy, gone, stale, refused, failed; `wait` in seconds. */
export class Trouble extends Error {
  constructor(kind, message, detail = "", wait = 0) {
    super(message);
    Object.assign(this, { kind, detail, wait });
  }
}

export const AWAY = "The server cannot be reached. Perhaps it was stopped, or the network is down.";

/** Resolves to a key; the page installs its dialog here. */
export const door = { askKey: async (_isWrong) => "" };

let asking = null;

/** Fetch a path. If the server requires a key, ask for it once for all waiting requests. */
export async function fetched(path, options = {}) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
    let response;
    try {
      response = await fetch(path, { ...options, headers, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Trouble("away", AWAY);
    }
    if (response.status === 401) {
      if (sessionStorage.getItem(KEY) === key) {
        asking ??= door.askKey(key !== null).finally(() => (asking = null));
        sessionStorage.setItem(KEY, await asking);
      }
      continue;
    }
    if (!response.ok) throw await trouble(response);
    return response;
  }
}

async function trouble(response) {
  let said = "";
  try {
    said = (await response.json()).error.message;
  } catch {
    // A proxy's HTML page is not shown.
  }
  return meant(response.status, said, Number(response.headers.get("Retry-After")) || 0);
}

/** Turn a status into an error for people. */
function meant(status, said, wait = 0) {
  if (status === 429 || status === 503) {
    return new Trouble("busy", "The server cannot take this question at the moment.", said, wait || 3);
  }
  if (status === 504) return new Trouble("failed", "The server took too long.", said);
  if (status === 502) return new Trouble("away", AWAY, said);
  if (status === 404) return new Trouble("gone", said || "That no longer exists.");
  if (status === 409) return new Trouble("stale", "This conversation was continued elsewhere, perhaps in another tab.");
  if (status === 413) return new Trouble("refused", "That is too long for this server.", said);
  if (status < 500) return new Trouble("refused", "The server refused this.", said || `Status ${status}.`);
  return new Trouble("failed", "Something went wrong on the server.", said);
}

const json = async (path, options) => (await fetched(path, options)).json();

const sent = (method, path, body) =>
  fetched(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** Whether requests have a key that this page holds; a link in the page has none. */
export const hasKey = () => sessionStorage.getItem(KEY) !== null;

export const settings = () => json("api/pipelines");
export const conversations = async (limit) => (await json(`api/conversations?limit=${limit}`)).conversations;
export const conversation = (id) => json(`api/conversations/${encodeURIComponent(id)}`);
export const remove = (id) => fetched(`api/conversations/${encodeURIComponent(id)}`, { method: "DELETE" });
export const rename = (id, title) => sent("PATCH", `api/conversations/${encodeURIComponent(id)}`, { title });
export const rate = (id, number, verdict, comment) =>
  sent("PUT", `api/conversations/${encodeURIComponent(id)}/turns/${number}/feedback`, { verdict, comment });
export const documents = async (pipeline) =>
  Object.entries((await json(`api/documents?pipeline=${encodeURIComponent(pipeline)}`)).documents).map(([file, title]) => ({ file, title }));
export const removeDocument = (file, pipeline) =>
  fetched(`api/documents/${encodeURIComponent(file)}?pipeline=${encodeURIComponent(pipeline)}`, { method: "DELETE" });

/** Send a document; calls `heard` with the part that is sent. Resolves to {status, reply, wait}; status 0 = no connection. */
export const addDocument = (file, name, pipeline, heard) =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest(); // fetch does not say how much is sent
    request.open("POST", `api/documents?name=${encodeURIComponent(name)}&pipeline=${encodeURIComponent(pipeline)}`);
    request.responseType = "json";
    request.setRequestHeader("Content-Type", "application/octet-stream");
    if (hasKey()) request.setRequestHeader("Authorization", `Bearer ${sessionStorage.getItem(KEY)}`);
    request.upload.onprogress = ({ loaded, total }) => heard(loaded / (total || 1));
    request.onloadend = () =>
      resolve({ status: request.status, reply: request.response, wait: Number(request.getResponseHeader("Retry-After")) || 5 });
    request.send(file);
  });

export const original = (id, pipeline) =>
  `api/originals/${encodeURIComponent(id)}?pipeline=${encodeURIComponent(pipeline)}`;
export const passage = (id, pipeline) =>
  json(`api/passages?id=${encodeURIComponent(id)}&pipeline=${encodeURIComponent(pipeline)}`);

/** Ask a question; calls `heard(event, data)` for each stage and resolves to the turn. */
export async function turn(body, heard, signal) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const response = await fetched("api/turn", { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
  try {
    for await (const { event, data } of events(response.body)) {
      if (event === "answer") return data;
      if (event === "error") throw meant(data.error?.code ?? 500, data.error?.message ?? "");
      heard(event, data);
    }
  } catch (error) {
    if (error instanceof Trouble || error.name === "AbortError") throw error;
    throw new Trouble("away", AWAY);
  }
  throw new Trouble("away", "The server stopped in the middle of the answer.");
}

/** Yield server-sent events, ignoring comments, which only keep the connection open. */
export async function* events(body) {
  let kept = "";
  let event = "message";
  let data = [];
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      // A line end may be split between chunks; its first half waits for the second.
      const lines = (kept + value).split(/\r\n|\n|\r(?!$)/);
      kept = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
          [event, data] = ["message", []];
        } else if (line.startsWith("event:")) {
          event = line.slice(6).trim();
        } else if (line.startsWith("data:")) {
          data.push(line.slice(5).replace(/^ /, ""));
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
