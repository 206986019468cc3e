// The daemon's events: one stream while the page is visible. It reconnects with growing delays, and
// receives what it missed.
import { events, send } from "./api.js";

const listeners = new Map();

/** Calls fn with each event of these types; "open" reports a new stream, "lost" that missed events are gone. */
export function hear(types, fn) {
  for (const type of types) {
    if (!listeners.has(type)) listeners.set(type, []);
    listeners.get(type).push(fn);
  }
}

const publish = (type, event) => (listeners.get(type) ?? []).forEach((fn) => fn(event));

/** Delays fn until shortly after the last of several calls. */
export function calm(fn, wait = 300) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(fn, wait);
  };
}

let stop = null;

/** Ends the stream. */
export function hush() {
  stop?.abort();
  stop = null;
}

/** Listens until hush. state receives "live", "waiting" or "asleep"; lost is called if the token is no longer valid. */
export function listen(state, lost) {
  hush();
  const all = new AbortController();
  stop = all;
  follow(all.signal, state, lost);
}

async function follow(signal, state, lost) {
  let pause = 1000;
  let last = ""; // id of the last event
  while (!signal.aborted) {
    if (document.hidden) {
      state("asleep");
      await next(document, "visibilitychange", signal);
      continue;
    }
    const one = new AbortController();
    const end = () => { if (signal.aborted || document.hidden) one.abort(); };
    document.addEventListener("visibilitychange", end);
    signal.addEventListener("abort", end);
    try {
      const response = await send("GET", "v1/events", { accept: "text/event-stream", after: last, signal: one.signal });
      state("live");
      publish("open", null);
      pause = 1000;
      for await (const { id, event, data } of events(response)) {
        if (id) last = id;
        if (event) publish(event, data);
      }
    } catch (e) {
      if (e.status === 401) return lost(e);
    } finally {
      document.removeEventListener("visibilitychange", end);
      signal.removeEventListener("abort", end);
    }
    if (signal.aborted || document.hidden) continue;
    state("waiting");
    await rest(pause * (0.75 + Math.random() / 2), signal);
    pause = Math.min(2 * pause, 30000);
  }
}

const next = (target, type, signal) => new Promise((done) => {
  target.addEventListener(type, done, { once: true });
  signal.addEventListener("abort", done, { once: true });
});

const rest = (time, signal) => new Promise((done) => {
  setTimeout(done, time);
  signal.addEventListener("abort", done, { once: true });
});
