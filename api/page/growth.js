// Computes the layout of the tensor tree. The instructions are in the middle, and each depth has its
// own rings; a node is in the sector of its parent. If very many nodes have no parent but the
// instructions, they fill the disc like the seeds of a sunflower.
const crowded = 200;


/** Makes nodes from slices; parents precede their children. */
export function grow(slices) {
  const trunk = { depth: -1, kids: [], chunk: undefined };
  let way = [trunk];
  let group = "";
  const nodes = slices.map((s) => {
    const own = `${s.model} ${s.placement}`;
    if (own !== group) way = [trunk];
    group = own;
    const parent = way[Math.min(s.depth, way.length - 1)];
    const node = { ...s, parent, kids: [] };
    parent.kids.push(node);
    way = [...way.slice(0, s.depth + 1), node];
    return node;
  });
  place(trunk, nodes);
  return { trunk, nodes };
}

function place(trunk, nodes) {
  const n = leaves(trunk);
  const lone = trunk.kids.length === 1;
  if (lone && n > crowded && n === trunk.kids[0].kids.length) return sow(trunk.kids[0]);
  const rings = ringsFor(n);
  sector(trunk, 0, (2 * Math.PI * n) / (n + ((rings - (n % rings)) % rings)), lone); // close the circle
  const depths = [];
  for (const n of nodes) (depths[n.depth] ??= []).push(n);
  let from = 0;
  for (const [depth, row] of depths.entries()) {
    if (!row) continue;
    if (depth === 0 && lone) {
      Object.assign(row[0], { x: 0, y: 0 });
      from = 1.6;
      continue;
    }
    row.sort((a, b) => a.angle - b.angle);
    const room = crowd(row);
    const rings = ringsFor(room);
    const inner = Math.max(from, (1.1 * room) / (2 * Math.PI * rings));
    row.forEach((n, i) => {
      const r = inner + ((i * stride(rings)) % rings);
      Object.assign(n, { x: r * Math.sin(n.angle), y: -r * Math.cos(n.angle) });
    });
    from = inner + rings + 0.4;
  }
}

// sow places the first nodes, the most used ones, nearest to the middle.
function sow(root) {
  const turn = Math.PI * (3 - Math.sqrt(5));
  Object.assign(root, { x: 0, y: 0 });
  root.kids.forEach((n, i) => {
    const r = 0.62 * Math.sqrt(i + 3);
    Object.assign(n, { x: r * Math.sin(i * turn), y: -r * Math.cos(i * turn) });
  });
}

// ringsFor returns how many rings hold n nodes in the least space.
const ringsFor = (n) => Math.max(1, Math.round(Math.sqrt(n / (2 * Math.PI))));

// crowd returns how many nodes a row could hold at its smallest distance.
function crowd(row) {
  let near = 2 * Math.PI;
  for (let i = 1; i < row.length; i++) near = Math.min(near, row[i].angle - row[i - 1].angle);
  return (2 * Math.PI) / Math.max(near, 1e-4);
}

// stride spreads neighbours over distant rings and uses all rings equally.
const stride = (rings) => (rings % 2 === 1 ? Math.max(1, (rings - 1) / 2) : rings > 4 ? rings / 2 - 1 : 1);

function leaves(n) {
  n.leaves = n.kids.length === 0 ? 1 : n.kids.reduce((sum, k) => sum + leaves(k), 0);
  return n.leaves;
}

function sector(n, from, to, whole) {
  n.angle = whole && n.depth <= 0 ? 0 : (from + to) / 2;
  let at = from;
  for (const k of n.kids) {
    const end = at + ((to - from) * k.leaves) / n.leaves;
    sector(k, at, end, whole);
    at = end;
  }
}

/** Returns the nodes on a prompt's path, including the instructions. */
export function path({ trunk }, chunks) {
  const wanted = new Set(chunks);
  const found = new Set();
  for (const root of trunk.kids) {
    const hit = root.placement === "sequential" ? behind(root, chunks) : root.kids.filter((k) => wanted.has(k.chunk));
    if (hit.length > 0 && root.chunk === null) found.add(root);
    hit.forEach((n) => found.add(n));
  }
  return found;
}

function behind(root, chunks) {
  const way = [];
  let now = root;
  for (const c of chunks) {
    now = now.kids.find((k) => k.chunk === c);
    if (!now) break;
    way.push(now);
  }
  return way;
}
