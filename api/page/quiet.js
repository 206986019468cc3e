// The time in which percached may work by itself: one a day, in the words of the setting "windows".

const pattern = /^(\d+) (\d+) \* \* \* (?:(\d+)h)?(?:(\d+)m)?(?:0s)?$/;

const clock = (minutes) => [Math.floor(minutes / 60) % 24, minutes % 60].map((n) => String(n).padStart(2, "0")).join(":");

const minutes = (text) => text.split(":").reduce((sum, n) => 60 * sum + Number(n), 0);

/** Returns {from, to} of a setting, or null if it is another kind of time. */
export function parseTime(setting) {
  const found = pattern.exec(setting);
  if (!found) return null;
  const [, minute, hour, hours = 0, more = 0] = found.map((n) => Number(n ?? 0));
  const from = 60 * hour + minute;
  return { from: clock(from), to: clock(from + 60 * hours + more) };
}

/** Returns the setting of a daily time. */
export function formatTime({ from, to }) {
  const begin = minutes(from);
  const length = (minutes(to) - begin + 24 * 60) % (24 * 60) || 24 * 60;
  return `${begin % 60} ${Math.floor(begin / 60)} * * * ${Math.floor(length / 60)}h${length % 60}m`;
}
