// Signs in and out. The token comes from the address's fragment or the input field. It is kept for
// this tab only and is removed from the address at once.
import { carry, get, send } from "./api.js";
import { $, show } from "./dom.js";
import { wording } from "./wrong.js";

const key = "percached-token";

/** Signs in: calls enter when percached is ready and the token is valid. */
export async function open(enter) {
  $("door-form").addEventListener("submit", (e) => {
    e.preventDefault();
    attempt($("token").value.trim(), enter);
  });
  addEventListener("hashchange", () => {
    const token = taken();
    if (!token) return;
    sessionStorage.setItem(key, token);
    location.reload(); // drop the state of the previous user
  });
  const token = taken() || sessionStorage.getItem(key) || "";
  if (token) await attempt(token, enter);
  else await wanted("");
}

/** Forgets the token, and asks for one with a reason. */
export async function close(why) {
  sessionStorage.removeItem(key);
  carry("");
  await wanted(why);
}

// taken removes the token from the address and returns it.
function taken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", `${location.pathname}${location.search}#/ask`);
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return found[1];
  }
}

async function attempt(token, enter) {
  carry(token);
  say("Loading ...");
  show($("door-form"), false);
  try {
    await ready();
    await get("v1/about");
    sessionStorage.setItem(key, token);
    $("token").value = "";
    await enter();
    show($("door"), false);
  } catch (e) {
    if (e.status === 401) return close("This token is not known. Check that it is complete and was not revoked.");
    await wanted(wording(e));
  }
}

async function wanted(why) {
  show($("door"));
  show($("door-form"));
  show($("door-progress"), false);
  say("percached wants a token, so that no other page or program reads along.");
  $("door-wrong").textContent = why;
  $("token").focus();
}

const loading = { opening: "percached opens its data folder", loading: "percached loads the model", restoring: "percached restores a backup", closing: "percached is about to end" };

// ready waits until percached is ready and shows the progress of loading.
async function ready() {
  for (;;) {
    let now;
    try {
      now = await (await send("GET", "readyz")).json();
    } catch (e) {
      if (e.status !== 503) throw e;
      now = e.body;
    }
    if (now.ready) return;
    say(`${loading[now.stage] ?? "percached is not ready"}: ${Math.round(100 * now.progress)} %`);
    show($("door-progress"));
    $("door-progress").value = now.progress;
    await new Promise((done) => setTimeout(done, 500));
  }
}

function say(text) {
  $("door-text").textContent = text;
}
