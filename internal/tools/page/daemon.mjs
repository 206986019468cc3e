// Starts the tested binary on a temporary data folder.
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts the binary: {base, token, call, narrow, end}. */
export async function start(binary) {
  const data = await mkdtemp(join(tmpdir(), "percached-page-"));
  // Do not use the settings or the data folder of the user who runs the test.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PERCACHED_")));
  env.PERCACHED_IDLE_AFTER = "1h"; // however long a test takes: what works by itself redraws the page
  const daemon = spawn(binary, ["serve", "--data", data, "--listen", "127.0.0.1:0"], { env, stdio: ["ignore", "pipe", "pipe"] });
  const over = new Promise((done) => daemon.once("exit", done));
  const base = await listening(daemon);
  await ready(base);
  const token = (await readFile(join(data, "token"), "utf8")).trim();

  /** Calls the daemon directly. */
  const call = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
    const response = await fetch(`${base}/${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? null : response.json();
  };

  /** Makes a token with fewer rights. */
  const narrow = (role, space) => {
    const made = spawnSync(binary, ["token", "create", "--data", data, "--role", role, "--space", space], { env, encoding: "utf8" });
    if (made.status !== 0) throw new Error(made.stderr);
    return made.stdout.trim();
  };

  const end = async () => {
    daemon.kill("SIGTERM");
    await over;
    await rm(data, { recursive: true, force: true });
  };
  return { base, token, call, narrow, end };
}

// listening waits until the daemon prints its address.
function listening(daemon) {
  return new Promise((done, wrong) => {
    let said = "";
    const hear = (text) => {
      said += text;
      const found = /listening on (http:\/\/[\d.:]+)/.exec(said);
      if (found) done(found[1]);
    };
    for (const stream of [daemon.stdout, daemon.stderr]) stream.setEncoding("utf8").on("data", hear);
    daemon.once("error", wrong);
    daemon.once("exit", (code) => wrong(new Error(`percached ended with ${code} before it listened:\n${said}`)));
  });
}

// ready waits until the daemon is ready.
async function ready(base) {
  while (!(await fetch(`${base}/readyz`)).ok) await new Promise((done) => setTimeout(done, 50));
}
