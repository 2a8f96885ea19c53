'use strict';
// Drawing, colours, search, and the panel of an instruction.

const $ = id => document.getElementById(id);
const canvas = $('canvas'), context = canvas.getContext('2d');
const unfolded = new Set();
let top_ = DATA.entry, graph = null, selected = null, scale = 1, left = 0, upper = 0;

// Colours ---------------------------------------------------------------------------------------------------------------

const FAMILIES = [
  ['parameter constant iota', '#ddf4ff'], ['dot convolution ragged-dot scaled-dot', '#ffd8b5'], ['fusion call while conditional', '#e6dcff'],
  ['reduce reduce-window sort scan topk', '#fff3b8'], ['broadcast reshape transpose bitcast copy slice concatenate pad reverse', '#eaeef2'],
  ['gather scatter dynamic-slice dynamic-update-slice', '#d3f5d9'], ['custom-call', '#ffd7e2'], ['tuple get-tuple-element', '#f6f8fa'],
];
const familyOf = new Map(FAMILIES.flatMap(([words, colour]) => words.split(' ').map(word => [word, colour])));
const mostSeconds = Math.max(1e-12, ...Object.values(DATA.seconds));
const ramp = t => `hsl(${Math.round(50 - 50 * t)} 95% ${Math.round(92 - 42 * t)}%)`;
const COLOURS = {
  opcode: node => familyOf.get(node.opcode) || '#ffffff',
  nan: node => !node.value ? '#ffffff' : node.value.nan ? '#ff8182' : node.value.inf ? '#ffc680' : '#d3f5d9',
  time: node => node.seconds ? ramp(Math.max(0, 1 + Math.log10(node.seconds / mostSeconds) / 4)) : '#ffffff',
  error: node => node.error === undefined ? '#ffffff' : node.error === 0 ? '#d3f5d9' : ramp(Math.min(1, Math.max(0, (Math.log10(node.error) + 8) / 8))),
};
const LEGENDS = {
  opcode: 'colours by kind of opcode', nan: 'red: NaN, orange: infinite, green: finite, white: not recorded',
  time: 'red: most time, white: none of its own', error: 'red: relative error of 1, green: equal, white: not compared',
};

// Drawing ---------------------------------------------------------------------------------------------------------------

let pending = false;
function draw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; paint(); });
}

function paint() {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.setTransform(ratio * scale, 0, 0, ratio * scale, -left * scale * ratio, -upper * scale * ratio);
  const right = left + width / scale, lower = upper + height / scale;
  context.lineWidth = 1 / Math.max(scale, .5);
  for (const group of graph.groups) {
    context.fillStyle = `rgba(130, 80, 223, ${.06 + .03 * group.depth})`;
    context.fillRect(group.left, group.top, group.right - group.left, group.bottom - group.top);
  }
  paintEdges(right, lower);
  const colour = COLOURS[$('colour').value];
  context.font = '12px system-ui, sans-serif';
  for (const item of graph.items) {
    if (item.x > right || item.x + WIDTH < left || item.y > lower || item.y + HEIGHT < upper) continue;
    paintItem(item, colour);
  }
}

function paintEdges(right, lower) {
  context.strokeStyle = '#8c959f';
  context.beginPath();
  for (const [from, to] of graph.edges) {
    const a = graph.items[from], b = graph.items[to];
    const x1 = a.x + WIDTH / 2, y1 = a.y + HEIGHT, x2 = b.x + WIDTH / 2, y2 = b.y;
    if (Math.max(x1, x2) < left || Math.min(x1, x2) > right || y2 < upper || y1 > lower) continue;
    context.moveTo(x1, y1);
    if (scale < .3) context.lineTo(x2, y2);
    else context.bezierCurveTo(x1, y1 + GAP_Y / 2, x2, y2 - GAP_Y / 2, x2, y2);
  }
  context.stroke();
}

function paintItem(item, colour) {
  const {node} = item;
  context.fillStyle = colour(node);
  context.fillRect(item.x, item.y, WIDTH, HEIGHT);
  context.strokeStyle = item === selected ? '#0969da' : '#afb8c1';
  context.lineWidth = (item === selected ? 3 : 1) / Math.max(scale, .5);
  context.strokeRect(item.x, item.y, WIDTH, HEIGHT);
  if (scale < .25) return;
  context.fillStyle = '#1f2328';
  const fold = node.called.length ? (unfolded.has(item.key) ? '\u25be ' : '\u25b8 ') : '';
  context.fillText(fold + node.name, item.x + 6, item.y + 14, WIDTH - 12);
  context.fillStyle = '#59636e';
  context.fillText(node.opcode + ' ' + node.shape, item.x + 6, item.y + 28, WIDTH - 12);
}

function rebuild() {
  const key = selected && selected.key;
  graph = layOut(visibleGraph(top_, unfolded));
  selected = key ? graph.items.find(item => item.key === key) || null : null;
  draw();
}

function fit() {
  const xs = graph.items.map(i => i.x), last = graph.items.reduce((most, i) => Math.max(most, i.y), 0);
  const least = xs.reduce((a, b) => Math.min(a, b), Infinity), most = xs.reduce((a, b) => Math.max(a, b), -Infinity) + WIDTH;
  scale = Math.min(1, Math.max(.02, Math.min(canvas.clientWidth / (most - least + 60), canvas.clientHeight / (last + 120))));
  left = (least + most) / 2 - canvas.clientWidth / scale / 2;
  upper = -30 / scale;
  draw();
}

function centre(item) {
  scale = Math.max(scale, .8);
  left = item.x + WIDTH / 2 - canvas.clientWidth / scale / 2;
  upper = item.y - canvas.clientHeight / scale / 2;
}

// The panel -------------------------------------------------------------------------------------------------------------

const element = (name, text, parent) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};

function describe(node) {
  const side = $('side');
  side.replaceChildren();
  element('h2', node.name, side);
  const list = element('dl', undefined, side);
  const row = (term, text) => { if (text !== '' && text !== undefined) { element('dt', term, list); element('dd', text, list); } };
  row('opcode', node.opcode);
  row('shape', node.shape);
  row('computation', computations[node.computation].name);
  row('op_name', node.opName);
  row('source', node.source);
  if (node.seconds) row('time', (node.seconds * 1e3).toPrecision(4) + ' ms');
  if (node.error !== undefined) row('relative error', node.error.toPrecision(3));
  element('pre', node.text, side);
  links('operands', node.operands, side);
  links('users', nodes.filter(other => other.operands.includes(node.id)).map(other => other.id), side);
  for (const callee of node.called) element('div', 'calls ' + computations[callee].name, side);
  if (node.value) describeValue(node.value, side);
}

function links(title, ids, side) {
  if (ids.length === 0) return;
  element('dt', title, side);
  for (const id of ids.slice(0, 50)) {
    const link = element('a', nodes[id].name + ' ', side);
    element('span', nodes[id].shape, link);
    link.addEventListener('click', () => reveal(id));
  }
}

function describeValue(value, side) {
  element('h2', 'Recorded value', side);
  const list = element('dl', undefined, side);
  for (const key of ['min', 'max', 'mean', 'rms', 'count', 'nan', 'inf', 'zero']) {
    element('dt', key, list);
    element('dd', String(value[key]), list);
  }
  if (value.first) element('pre', value.first, side);
  if (value.histogram) histogram(value.histogram, side);
  (value.slices || []).forEach((slice, i) => {
    element('div', `slice ${value.names[i]}`, side);
    picture(slice, value.rows, value.columns, side);
  });
}

function histogram(counts, side) {
  const plot = element('canvas', undefined, side), most = Math.max(...counts);
  plot.className = 'plot';
  plot.id = 'histogram';
  plot.width = 384;
  plot.height = 90;
  const pen = plot.getContext('2d');
  pen.fillStyle = '#0969da';
  counts.forEach((count, i) => {
    const height = count ? Math.max(1, count / most * 88) : 0;
    pen.fillRect(i * 384 / counts.length, 90 - height, 384 / counts.length - 1, height);
  });
}

// Bytes 0 to 254 go from blue over white to red; 255 is not finite.
function picture(text, rows, columns, side) {
  const plot = element('canvas', undefined, side), bytes = atob(text);
  plot.className = 'plot slice';
  plot.width = columns;
  plot.height = rows;
  plot.style.width = Math.min(384, columns * 12) + 'px';
  const pen = plot.getContext('2d'), image = pen.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; ++i) {
    const byte = bytes.charCodeAt(i), t = byte / 127 - 1;
    const rgb = byte === 255 ? [0, 0, 0] : t < 0 ? [255 + 200 * t, 255 + 130 * t, 255] : [255, 255 - 160 * t, 255 - 210 * t];
    image.data.set([...rgb, 255], 4 * i);
  }
  pen.putImageData(image, 0, 0);
}

// Search and selection --------------------------------------------------------------------------------------------------

function select(item) {
  selected = item;
  if (item) describe(item.node);
  draw();
}

// Returns the unfolded keys on a path from the shown computation to a computation.
function pathTo(computation) {
  if (computation === top_) return [];
  for (const caller of callers[computation]) {
    const before = pathTo(nodes[caller].computation);
    if (before) return [...before, [caller, nodes[caller].called.indexOf(computation)]];
  }
  return null;
}

function reveal(id) {
  const steps = pathTo(nodes[id].computation);
  let path = '';
  if (steps === null) {
    top_ = nodes[id].computation;
    $('top').value = top_;
  } else {
    for (const [caller, which] of steps) {
      path += '/' + caller;
      unfolded.add(path);
      if (!isTransparent(nodes[caller])) path += ':' + which;
    }
  }
  rebuild();
  const item = graph.items.find(i => i.key === path + '/' + id) || graph.items.find(i => i.node.id === id);
  if (item) { centre(item); select(item); } else describe(nodes[id]);
}

function search(text) {
  const side = $('side'), words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return;
  const found = nodes.filter(n => {
    const all = `${n.name} ${n.opcode} ${n.shape} ${n.opName} ${n.source}`.toLowerCase();
    return words.every(word => all.includes(word));
  });
  side.replaceChildren();
  element('h2', `${found.length} found`, side);
  for (const node of found.slice(0, 200)) {
    const link = element('a', node.name + ' ', side);
    element('span', `${node.opcode} ${node.shape}`, link);
    link.addEventListener('click', () => reveal(node.id));
  }
  return found;
}

function toggle(item) {
  if (item.node.called.length === 0) return;
  if (!unfolded.delete(item.key)) unfolded.add(item.key);
  rebuild();
}

function itemAt(event) {
  const x = left + event.offsetX / scale, y = upper + event.offsetY / scale;
  return graph.items.find(i => x >= i.x && x <= i.x + WIDTH && y >= i.y && y <= i.y + HEIGHT);
}
const groupAt = event => {
  const x = left + event.offsetX / scale, y = upper + event.offsetY / scale;
  return graph.groups.filter(g => x >= g.left && x <= g.right && y >= g.top && y <= g.bottom).sort((a, b) => b.depth - a.depth)[0];
};

// Events ----------------------------------------------------------------------------------------------------------------

let drag = null;
canvas.addEventListener('pointerdown', event => { drag = {x: event.offsetX, y: event.offsetY, left, upper, moved: false}; });
canvas.addEventListener('pointermove', event => {
  if (!drag) return;
  drag.moved ||= Math.abs(event.offsetX - drag.x) + Math.abs(event.offsetY - drag.y) > 4;
  left = drag.left - (event.offsetX - drag.x) / scale;
  upper = drag.upper - (event.offsetY - drag.y) / scale;
  draw();
});
canvas.addEventListener('pointerup', event => {
  if (drag && !drag.moved) { const item = itemAt(event); if (item) select(item); }
  drag = null;
});
canvas.addEventListener('dblclick', event => {
  const item = itemAt(event), group = item && item.node.called.length ? null : groupAt(event);
  if (item && item.node.called.length) toggle(item);
  else if (group) { unfolded.delete(group.key); rebuild(); }
});
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  const factor = Math.exp(-event.deltaY / 400), before = scale;
  scale = Math.min(4, Math.max(.01, scale * factor));
  left += event.offsetX / before - event.offsetX / scale;
  upper += event.offsetY / before - event.offsetY / scale;
  draw();
}, {passive: false});
$('search').addEventListener('input', event => search(event.target.value));
$('search').addEventListener('keydown', event => {
  const found = event.key === 'Enter' && search(event.target.value);
  if (found && found.length) reveal(found[0].id);
});
$('colour').addEventListener('change', () => { $('legend').textContent = LEGENDS[$('colour').value]; draw(); });
$('top').addEventListener('change', event => { top_ = +event.target.value; selected = null; unfolded.clear(); rebuild(); fit(); });
$('fold').addEventListener('click', () => { unfolded.clear(); rebuild(); fit(); });
$('unfold').addEventListener('click', () => {
  for (const item of graph.items) if (item.node.called.length && isTransparent(item.node)) unfolded.add(item.key);
  rebuild();
  fit();
});
$('fit').addEventListener('click', fit);
addEventListener('resize', draw);

// Applies a link such as page.html#select=dot.3&colour=time&unfold.
function applyHash() {
  const wishes = new URLSearchParams(location.hash.slice(1));
  if (wishes.has('colour')) { $('colour').value = wishes.get('colour'); $('colour').dispatchEvent(new Event('change')); }
  if (wishes.has('unfold')) $('unfold').click();
  const node = nodes.find(n => n.name === wishes.get('select'));
  if (node) reveal(node.id);
  if (wishes.has('search')) { $('search').value = wishes.get('search'); search(wishes.get('search')); }
}

for (const c of computations) $('top').add(new Option(c.name, c.id, c.id === top_, c.id === top_));
$('legend').textContent = LEGENDS.opcode;
rebuild();
fit();
applyHash();
paint();
document.body.dataset.ready = Math.round(performance.now());
document.body.dataset.items = graph.items.length;
