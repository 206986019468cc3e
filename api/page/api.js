// Speaks to the daemon: requests with the token, problems as errors, events as
// they come.
let secret = "";

/** Sets the token that requests carry from now on. */
export const carry = (token) => { secret = token; };

/** What was refused, and why: a problem (RFC 9457), or no answer at all. */
export class Refused extends Error {
  constructor(problem) {
    super([problem.title, problem.detail, (problem.errors ?? []).map((e) => `${e.field} ${e.detail}`).join("; ")]
      .filter(Boolean).join(": "));
    this.status = problem.status ?? 0;
    this.kind = (problem.type ?? "").split(":").pop();
    this.fix = problem.fix ?? "";
    this.body = problem; // as it came: /readyz tells with it how far loading is
  }
}

/** The path of something in a space; each part is encoded. */
export const within = (space, ...parts) => ["v1/spaces", ...[space, ...parts].map(encodeURIComponent)].join("/");

/** Sends a request and gives the response, or throws Refused. */
export async function send(method, path, { body, form, accept = "application/json", signal } = {}) {
  const headers = { Accept: accept };
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, signal, cache: "no-store", body: form ?? (body === undefined ? undefined : JSON.stringify(body)) });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Refused({ title: "percached cannot be reached", fix: "See whether it still runs." });
  }
  if (response.ok) return response;
  throw new Refused(await problemOf(response));
}

async function problemOf(response) {
  try {
    return { status: response.status, ...await response.json() };
  } catch {
    return { status: response.status, title: `It answered with the status ${response.status}` };
  }
}

/** Sends a request and gives the JSON of its answer; null where there is none. */
export async function call(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

export const get = (path, options) => call("GET", path, options);

/** Gives the result of a request, or null where the token does not allow it. */
export async function ifAllowed(path) {
  try {
    return await get(path);
  } catch (e) {
    if (e.status === 403) return null;
    throw e;
  }
}

/** Gives the server-sent events of a response: {event, data}. A comment comes as {}. */
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
    reader.cancel().catch(() => {}); // a stream that broke needs no end
  }
}

function eventOf(block) {
  const out = {};
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) out.event = line.slice(7);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length > 0) out.data = JSON.parse(data.join("\n"));
  return out;
}
