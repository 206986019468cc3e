// Calls the daemon: sends the token, turns problems into errors, reads event streams.
let secret = "";

/** Sets the token of later requests. */
export const carry = (token) => { secret = token; };

/** A failed request: a problem (RFC 9457), or no response. */
export class Refused extends Error {
  constructor(problem) {
    const what = (problem.detail ?? "").slice(0, -(problem.fix ?? "").length || undefined).replace(/\. $/, ""); // the detail ends with the fix
    super([problem.title, what].filter(Boolean).join(": "));
    this.status = problem.status ?? 0;
    this.kind = (problem.type ?? "").split(":").pop();
    this.fix = problem.fix ?? "";
    this.body = problem; // unchanged; /readyz puts the progress of loading in it
  }
}

/** Returns the path of an item in a space, with each part encoded. */
export const within = (space, ...parts) => ["v1/spaces", ...[space, ...parts].map(encodeURIComponent)].join("/");

/** Sends a request and returns the response, or throws Refused. */
export async function send(method, path, { body, form, accept = "application/json", after, signal, keepalive } = {}) {
  const headers = { Accept: accept };
  if (after) headers["Last-Event-ID"] = after;
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, signal, keepalive, cache: "no-store", body: form ?? (body === undefined ? undefined : JSON.stringify(body)) });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Refused({ title: "Cannot reach percached", fix: "Check that it is running." });
  }
  if (response.ok) return response;
  throw new Refused(await problemOf(response));
}

async function problemOf(response) {
  try {
    return { status: response.status, ...await response.json() };
  } catch {
    return { status: response.status, title: `The server returned status ${response.status}` };
  }
}

/** Sends a request and returns the JSON of the response, or null if it is empty. */
export async function call(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

export const get = (path, options) => call("GET", path, options);

/** Returns the result of a request, or null if the token does not allow it. */
export async function ifAllowed(path) {
  try {
    return await get(path);
  } catch (e) {
    if (e.status === 403) return null;
    throw e;
  }
}

/** Yields the server-sent events of a response as {id, event, data}, and a comment as {}. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) yield eventOf(block);
    }
  } finally {
    reader.cancel().catch(() => {}); // a broken stream needs no cancel
  }
}

function eventOf(block) {
  const out = {};
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) out.id = line.slice(4);
    if (line.startsWith("event: ")) out.event = line.slice(7);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length > 0) out.data = JSON.parse(data.join("\n"));
  return out;
}
