// The current space, and the rights of the token.
import { get, ifAllowed, within } from "./api.js";

const start = () => ({ space: "", spaces: [], model: "", may: { write: false, whole: false, admin: false } });

export const here = start();

/** Clears the state after signing out. */
export const forget = () => Object.assign(here, start());

/** Returns the path of an item in the current space. */
export const at = (...parts) => within(here.space, ...parts);

/** Loads the list of spaces. */
export async function readSpaces() {
  here.spaces = (await get("v1/spaces")).spaces;
  const there = (name) => here.spaces.some((s) => s.name === name);
  if (!there(here.space)) here.space = there("default") ? "default" : here.spaces[0]?.name ?? "";
}

/** Finds out the rights of the token by trying requests. */
export async function readRights() {
  here.model = (await get("v1/about")).model?.name ?? "";
  here.may.whole = (await ifAllowed("v1/idle")) !== null;
  here.may.admin = here.may.whole && (await ifAllowed("v1/config")) !== null;
  here.may.write = here.space ? (await ifAllowed(`${at("uploads")}?limit=1`)) !== null : here.may.admin;
}
