// What the page is about now: the space, and what the token may do.
import { get, ifAllowed, within } from "./api.js";

const start = () => ({ space: "", spaces: [], model: "", may: { write: false, whole: false, admin: false } });

export const here = start();

/** Forgets all of it: somebody signed out. */
export const forget = () => Object.assign(here, start());

/** The path of something in the space that is looked at. */
export const at = (...parts) => within(here.space, ...parts);

/** Reads which spaces there are. */
export async function readSpaces() {
  here.spaces = (await get("v1/spaces")).spaces;
  const there = (name) => here.spaces.some((s) => s.name === name);
  if (!there(here.space)) here.space = there("default") ? "default" : here.spaces[0]?.name ?? "";
}

/** Finds out what the token may do, by what it is let in to. */
export async function readRights() {
  here.model = (await get("v1/about")).model?.name ?? "";
  here.may.whole = (await ifAllowed("v1/idle")) !== null;
  here.may.admin = here.may.whole && (await ifAllowed("v1/config")) !== null;
  here.may.write = here.space ? (await ifAllowed(`${at("uploads")}?limit=1`)) !== null : here.may.admin;
}
