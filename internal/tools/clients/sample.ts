// A small app that uses percached: it creates a space, adds a note, asks, and streams the answer. Its
// only dependency is the types that openapi-typescript generates. `make clients` compiles it.

import type { components, paths } from "./percached.js";

type Schemas = components["schemas"];
type Answer = Schemas["Answer"];
type Problem = Schemas["Problem"];

/** A failed request. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(`${problem.status} ${problem.title}: ${problem.detail ?? problem.fix}`);
  }

  /** Whether a retry may succeed. */
  get passing(): boolean {
    switch (this.problem.type) {
      case "urn:percached:problem:overloaded":
      case "urn:percached:problem:too_many_requests":
      case "urn:percached:problem:starting":
      case "urn:percached:problem:unavailable":
        return true;
      default:
        return false;
    }
  }
}

/** The events of a streamed answer. */
export type AskEvent =
  | { event: "stage"; data: Schemas["Stage"] }
  | { event: "citation"; data: Schemas["Citation"] }
  | { event: "token"; data: Schemas["Token"] }
  | { event: "done"; data: Answer }
  | { event: "error"; data: Problem };

type NewSpace = paths["/v1/spaces"]["post"]["requestBody"]["content"]["application/json"];
type Upload = paths["/v1/spaces/{space}/documents"]["post"];

export class Percached {
  constructor(
    private readonly base: string,
    private readonly token: string,
  ) {}

  async createSpace(space: NewSpace): Promise<Schemas["Space"]> {
    return this.json("POST", "/v1/spaces", space);
  }

  /** Adds texts and waits until they are processed. */
  async upload(
    space: string,
    texts: Schemas["NewDocument"][],
  ): Promise<Upload["responses"]["200"]["content"]["application/json"]> {
    const query: NonNullable<Upload["parameters"]["query"]> = { wait: true };
    return this.json("POST", `/v1/spaces/${space}/documents?wait=${query.wait}`, {
      documents: texts,
    } satisfies Schemas["Texts"]);
  }

  async ask(space: string, question: Schemas["Question"]): Promise<Answer> {
    return this.json("POST", `/v1/spaces/${space}/ask`, question);
  }

  /** Asks and yields the answer piece by piece. Leave the loop to stop the work. */
  async *stream(space: string, question: Schemas["Question"]): AsyncGenerator<AskEvent> {
    const response = await this.send("POST", `/v1/spaces/${space}/ask`, question, "text/event-stream");
    let rest = "";
    const text = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const { done, value } = await text.read();
        if (done) return;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = /^event: (.*)$/m.exec(block)?.[1];
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (event && data) yield { event, data: JSON.parse(data) } as AskEvent;
        }
      }
    } finally {
      await text.cancel();
    }
  }

  private async json<T>(method: string, path: string, body: unknown): Promise<T> {
    const response = await this.send(method, path, body, "application/json");
    return (await response.json()) as T;
  }

  private async send(method: string, path: string, body: unknown, accept: string): Promise<Response> {
    const response = await fetch(this.base + path, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json", Accept: accept },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Refused((await response.json()) as Problem);
    return response;
  }
}

/** Describes the outcome of an answer. */
export function origin(answer: Answer): string {
  const how: Record<Schemas["Outcome"], string> = {
    answer_hit: "remembered",
    verified_hit: "confirmed",
    tensor_hit: "partly remembered",
    miss: "read anew",
  };
  const from = answer.citations[0]?.about ?? "no document";
  return `${how[answer.outcome]}, from ${from} (${answer.times["total_ms"] ?? 0} ms)`;
}

export async function demo(base: string, token: string, show: (line: string) => void): Promise<void> {
  const app = new Percached(base, token);
  try {
    await app.createSpace({ name: "sample", kind: "notes", settings: { k: 2 } });
  } catch (e) {
    if (!(e instanceof Refused) || e.problem.type !== "urn:percached:problem:conflict") throw e;
    show("the space is there already");
  }
  const done = await app.upload("sample", [
    { key: "boiler", title: "Boiler", text: "The boiler service is on Thursday 12 June at 9:30.", date: "2025-06-02" },
  ]);
  show(`${done.added + done.unchanged} documents`);
  const question = { question: "When is the boiler service?" };
  let said = "";
  for await (const e of app.stream("sample", question)) {
    switch (e.event) {
      case "token":
        said += e.data.text;
        break;
      case "done":
        show(`${said}: ${origin(e.data)}`);
        break;
      case "error":
        throw new Refused(e.data);
      default:
        break;
    }
  }
  const again = await app.ask("sample", { ...question, max_age_seconds: 3600 });
  show(`${again.answer}: ${origin(again)}`);
}
