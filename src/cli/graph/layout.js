'use strict';
// The visible graph: which instructions are shown while some calls are unfolded, and where they are drawn.

const nodes = DATA.nodes.map((n, id) => ({
  id, name: n[0], opcode: DATA.opcodes[n[1]], shape: DATA.shapes[n[2]], computation: n[3], operands: n[4], called: n[5],
  text: n[6], opName: n[7] < 0 ? '' : DATA.op_names[n[7]], source: n[8] < 0 ? '' : DATA.sources[n[8]],
  value: DATA.values[id] || null, seconds: DATA.seconds[id] || 0, error: DATA.errors[id],
}));
const computations = DATA.computations.map((c, id) => ({id, name: c[0], first: c[1], last: c[2], root: c[3]}));
const callers = computations.map(() => []);
for (const node of nodes) for (const c of node.called) callers[c].push(node.id);

// Calls whose unfolded form replaces them; other opcodes keep their node below their computations.
const isTransparent = node => node.opcode === 'fusion' || node.opcode === 'call';

// Returns {items, edges, groups}: an item is an instruction at one call path.
function visibleGraph(top, unfolded) {
  const items = [], edges = [], groups = [];
  // Shows a computation; `inputs` are the items of its parameters. Returns the item of its root.
  function show(computation, path, inputs, depth) {
    const mine = new Map();
    const c = computations[computation];
    for (let id = c.first; id < c.last; ++id) {
      const node = nodes[id];
      if (node.opcode === 'parameter' && inputs) {
        const number = +node.text.match(/parameter\((\d+)\)/)[1];
        if (inputs[number] !== undefined) { mine.set(id, inputs[number]); continue; }
      }
      const key = path + '/' + id;
      const from = node.operands.map(o => mine.get(o)).filter(o => o !== undefined);
      const open = node.called.length > 0 && unfolded.has(key);
      if (open && isTransparent(node)) {
        const begin = items.length;
        mine.set(id, show(node.called[0], key, from, depth + 1));
        groups.push({key, node, begin, end: items.length, depth});
        continue;
      }
      let inner = [];
      if (open) {
        const begin = items.length;
        inner = node.called.map((callee, i) => show(callee, key + ':' + i, null, depth + 1));
        groups.push({key, node, begin, end: items.length, depth});
      }
      const item = {index: items.length, node, key, depth};
      items.push(item);
      mine.set(id, item.index);
      for (const operand of from) edges.push([operand, item.index, false]);
      for (const root of inner) edges.push([root, item.index, true]);
    }
    return mine.get(c.root);
  }
  show(top, '', null, 0);
  return {items, edges, groups};
}

const WIDTH = 150, HEIGHT = 34, GAP_X = 14, GAP_Y = 46;

// Assigns layers by longest paths, orders each by the mean position of its neighbours, and sets x and y.
function layOut(graph) {
  const count = graph.items.length;
  const above = Array.from({length: count}, () => []), below = Array.from({length: count}, () => []);
  for (const [from, to] of graph.edges) { above[to].push(from); below[from].push(to); }
  const layer = new Int32Array(count);
  for (let i = 0; i < count; ++i) for (const o of above[i]) layer[i] = Math.max(layer[i], layer[o] + 1);
  // Values without operands stand right above their first user.
  for (let i = count - 1; i >= 0; --i) {
    if (above[i].length === 0 && below[i].length > 0) layer[i] = Math.max(0, Math.min(...below[i].map(u => layer[u])) - 1);
  }
  const layers = [];
  for (let i = 0; i < count; ++i) (layers[layer[i]] ||= []).push(i);
  const x = new Float64Array(count);
  const mean = neighbours => neighbours.reduce((sum, n) => sum + x[n], 0) / neighbours.length;
  const place = (row, neighbours) => {
    const wanted = row.map(i => (neighbours[i].length ? mean(neighbours[i]) : x[i]));
    const order = row.map((_, k) => k).sort((a, b) => wanted[a] - wanted[b] || row[a] - row[b]);
    let end = -Infinity;
    const placed = order.map(k => (end = Math.max(end + WIDTH + GAP_X, wanted[k])));
    const shift = order.reduce((sum, k, at) => sum + wanted[k] - placed[at], 0) / order.length;
    order.forEach((k, at) => { x[row[k]] = placed[at] + shift; });
  };
  for (const row of layers) row && row.forEach((i, k) => { x[i] = (k - row.length / 2) * (WIDTH + GAP_X); });
  for (let sweep = 0; sweep < 2; ++sweep) {
    for (const row of layers) row && place(row, above);
    for (const row of [...layers].reverse()) row && place(row, below);
  }
  graph.items.forEach((item, i) => { item.x = x[i]; item.y = layer[i] * (HEIGHT + GAP_Y); });
  for (const group of graph.groups) {
    const inside = graph.items.slice(group.begin, group.end);
    if (inside.length === 0) continue;
    group.left = Math.min(...inside.map(i => i.x)) - 8;
    group.right = Math.max(...inside.map(i => i.x)) + WIDTH + 8;
    group.top = Math.min(...inside.map(i => i.y)) - 20;
    group.bottom = Math.max(...inside.map(i => i.y)) + HEIGHT + 8;
  }
  return graph;
}
