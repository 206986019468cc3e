// The client of percached. src/generated/openapi.ts is generated from openapi.yaml when the package is
// built; this file adds errors, uploads and streams.
import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./generated/openapi.js";

export type { components, paths };

type Schemas = components["schemas"];
export type Answer = Schemas["Answer"];
export type Citation = Schemas["Citation"];
export type Problem = Schemas["Problem"];
export type Question = Schemas["Question"];
export type Space = Schemas["Space"];
export type UploadStatus = Schemas["UploadStatus"];

/** An event of a streamed answer. `done` has the whole answer and is the last. */
export type AskEvent =
  | { event: "stage"; data: Schemas["Stage"] }
  | { event: "citation"; data: Citation }
  | { event: "token"; data: Schemas["Token"] }
  | { event: "done"; data: Answer };

/** percached refused a request, or could not carry it out. */
export class PercachedError extends Error {
  override readonly name = "PercachedError";

  constructor(
    readonly status: number,
    /** Why. It is absent if the response is not from percached, but from a proxy for example. */
    readonly problem?: Problem,
  ) {
    super(problem ? `${status} ${problem.title}: ${problem.detail}` : `${status} no problem body`);
  }
}

export interface Options {
  token: string;
  /** The daemon's address; http://127.0.0.1:7337 if absent. */
  baseUrl?: string;
}

export class Percached {
  /** All operations of openapi.yaml, typed. They throw PercachedError. */
  readonly api: Client<paths>;

  constructor({ token, baseUrl = "http://127.0.0.1:7337" }: Options) {
    this.api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
    this.api.use({
      async onResponse({ response }) {
        if (!response.ok) throw new PercachedError(response.status, await problemOf(response));
      },
    });
  }

  async createSpace(space: Schemas["NewSpace"]): Promise<Space> {
    return (await this.api.POST("/v1/spaces", { body: space })).data!;
  }

  /** Deletes a space with all its documents and answers. */
  async deleteSpace(space: string): Promise<void> {
    await this.api.DELETE("/v1/spaces/{space}", { params: { path: { space } } });
  }

  /**
   * Adds a file and waits until its documents are added. `name` identifies the document and may have
   * folders (notes/plan.md): the same name again replaces it.
   */
  async upload(space: string, file: Blob, name: string, signal?: AbortSignal): Promise<UploadStatus> {
    const form = new FormData();
    form.append("file", file, name);
    const sent = await this.api.POST("/v1/spaces/{space}/uploads", {
      params: { path: { space }, query: { wait: true } },
      body: {},
      bodySerializer: () => form,
      signal: signal ?? null,
    });
    return sent.data!;
  }

  async ask(space: string, question: Question, signal?: AbortSignal): Promise<Answer> {
    const answered = await this.api.POST("/v1/spaces/{space}/ask", {
      params: { path: { space } },
      body: question,
      signal: signal ?? null,
    });
    return answered.data as Answer;
  }

  /** Asks, and yields the answer piece by piece. Leaving the loop stops the work. */
  async *stream(space: string, question: Question, signal?: AbortSignal): AsyncGenerator<AskEvent, void, undefined> {
    const answered = await this.api.POST("/v1/spaces/{space}/ask/stream", {
      params: { path: { space } },
      body: question,
      parseAs: "stream",
      signal: signal ?? null,
    });
    const events = answered.data!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
    try {
      for (;;) {
        const { done, value } = await events.read();
        if (done) throw new Error("The stream ended before the answer was complete.");
        const data: unknown = JSON.parse(value.data);
        if (value.event === "error") {
          const problem = data as Problem;
          throw new PercachedError(problem.status, problem);
        }
        yield { event: value.event, data } as AskEvent;
        if (value.event === "done") return;
      }
    } finally {
      await events.cancel();
    }
  }
}

async function problemOf(response: Response): Promise<Problem | undefined> {
  if (!response.headers.get("Content-Type")?.startsWith("application/problem+json")) return undefined;
  return (await response.json()) as Problem;
}
