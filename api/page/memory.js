// What percached remembers in a space: facts about the user, and answers.
import * as answers from "./answers.js";
import * as facts from "./facts.js";

export function begin(page) {
  facts.begin();
  answers.begin(page);
}

export function reset() {
  facts.reset();
  answers.reset();
}

export const refresh = () => Promise.all([facts.refresh(), answers.refresh()]);
