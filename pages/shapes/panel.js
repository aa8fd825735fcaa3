// One step of one sequence: keys above, values below, the square between them, a lane for each matrix of rows.

const LARGEST = 33;       // px of a cell
const GAP_WIDTH = 16;     // px of a column or row that stands for many
const HEADER = 24;
const NAMES = { keys: "key", values: "value", latent: "latent" };
const LANE_SAYS = { queries: "query", projections: "projection", outputs: "output", MLP: "trip through the MLP" };

// Start and size of each item along an axis on which a gap has a width of its own.
function along(start, shown, size) {
  let at = start;
  return shown.map((item) => { const own = item.gap ? Math.max(size, GAP_WIDTH) : size; at += own; return [at - own, own]; });
}
const extent = (shown, size) => shown.reduce((sum, item) => sum + (item.gap ? Math.max(size, GAP_WIDTH) : size), 0);

// Widths of the lanes: in true proportion to their features, or a cell each.
function laneWidths(lanes, budget, equal, cell) {
  const features = lanes.reduce((sum, lane) => sum + lane.features, 0);
  return { scale: equal ? 0 : budget / features, of: (n) => (equal ? cell : Math.max((n * budget) / features, 4)) };
}

// place: {x, y, width}; look: {equal, id, line, at, columnWidth, rowHeight, lanes (share of the width), words}
function drawPanel(sheet, data, place, look) {
  const rows = items(data.rows), columns = data.lanes.length && (data.edges.length || data.squares) ? items(data.columns) : [];
  const left = data.lanes.filter((lane) => lane.name === "queries" || lane.name === "projections");
  const right = data.lanes.filter((lane) => !left.includes(lane));
  const labels = look.labels ?? (sheet.small ? 44 : 50), gaps = 10 * (left.length + 1) + 18 * right.length;
  const budget = place.width * (look.share ?? (columns.length > 10 ? 0.26 : sheet.small ? 0.3 : 0.36));
  let lanes = laneWidths(data.lanes, budget, look.equal, 24);
  const lanesWide = data.lanes.reduce((sum, lane) => sum + lanes.of(lane.features), 0);
  const free = place.width - labels - gaps - lanesWide, closed = columns.filter((item) => item.gap).length;
  const cell = look.columnWidth ?? clamp((free - closed * GAP_WIDTH) / Math.max(columns.length - closed, 1), 1, LARGEST);
  const high = look.rowHeight ?? Math.max(cell, 9);
  if (look.equal) lanes = laneWidths(data.lanes, budget, true, clamp(cell, 12, 24));
  const g = {
    sheet, data, place, look, rows, columns, cell, high, left, right, labels, lanes,
    at: look.at ?? ((line, place) => [line, place]), states: expand(data.storeStates), rowStates: expand(data.rowStates), key: (axis, i) => `${look.id}${axis}${i}`,
  };
  layOut(g);
  drawEdges(g);
  drawSquare(g);
  drawLanes(g);
  drawLabels(g);
  for (const [i, [y, h]] of g.ys.entries()) sheet.band(g.key("r", i), g.x0, y, g.x1 - g.x0, h);
  for (const [i, [x, w]] of g.xs.entries()) sheet.band(g.key("c", i), x, g.edgeTop, w, g.edgeBottom - g.edgeTop);
  return g;
}

function layOut(g) {
  const { place, look, lanes, data, left, right } = g;
  g.edgeHeight = data.edges.length ? clamp(look.equal ? clamp(g.cell, 12, 24) : lanes.of(data.edges[0].features), 4, 90) : 0;
  g.bandHeight = Math.max(g.edgeHeight + 8, HEADER + 14);
  g.top = place.y + g.bandHeight;
  g.ys = along(g.top, g.rows, g.high);
  g.bottom = g.top + extent(g.rows, g.high);
  g.edgeTop = g.top - 8 - g.edgeHeight;
  g.x0 = place.x + g.labels;
  let x = g.x0;
  g.laneX = new Map();
  for (const lane of left) { g.laneX.set(lane.name, x); x += lanes.of(lane.features) + 10; }
  g.squareX = x;
  g.xs = along(x, g.columns, g.cell);
  g.squareWide = g.columns.length ? extent(g.columns, g.cell) : data.state ? 84 : 0;
  x += g.squareWide;
  for (const lane of right) { x += lane.name === "outputs" ? 10 : 18; g.laneX.set(lane.name, x); x += lanes.of(lane.features); }
  g.x1 = x;
  g.edgeBottom = g.bottom + 8 + (data.edges.length > 1 ? g.edgeHeight : 0);
}

// ---- keys above, values below (or one latent store above) ---------------------------------------------------------

function drawEdges(g) {
  const { sheet, data, labels, place } = g;
  data.edges.forEach((edge, n) => {
    const y = n ? g.bottom + 8 : g.edgeTop, line = n ? g.rows.length : -1;
    const height = Math.max(g.edgeHeight, 1);
    g.columns.forEach((item, i) => {
      const [x, w] = g.xs[i], state = g.states[i];
      sheet.cell(x, y, w, height, {
        of: g.look.id, part: edge.name, state, phase: data.phase, gap: item.gap, along: "x", inked: true, column: g.key("c", i), at: g.at(line, i),
        says: () => storeSays(sheet, data, edge, item, state),
      });
    });
    sheet.text(place.x + labels - 8, n ? Math.max(y + height, g.bottom + 27) : y + height / 2 + 4, edge.name, { anchor: "end", look: "muted" });
    const size = `${whole(data.new + data.cached)} × ${whole(edge.features)}`, full = `${size}, ${edge.each}`, from = g.squareX + g.squareWide + 10;
    const note = from + sheet.wide(full) > place.x + place.width ? size : full;
    sheet.text(from, n ? Math.max(y + height - 1, g.bottom + 31) : Math.min(y + 9, g.top - HEADER), note, { look: "muted" });
  });
}

function storeSays(sheet, data, edge, item, state) {
  const what = `${item.gap ? `${edge.name === "latent" ? "latents" : edge.name} of` : `${NAMES[edge.name]} of`} ${sheet.named(item)}`;
  const how = {
    new: `computed now, ${data.phase === "decode" ? "in this decode step" : "in the prefill"}, and kept`,
    cached: data.writes ? "read from the cache, computed in an earlier step" : "read from the store of an earlier layer",
    outside: "outside the window of every row, not read",
    some: "some of them are read, some not",
  }[state];
  return `${what}: ${how}`;
}

// ---- the square -----------------------------------------------------------------------------------------------------

function drawSquare(g) {
  const { sheet, data, rows } = g;
  if (data.state) { drawState(g); return; }
  if (!g.columns.length) return;
  rows.forEach((row, r) => {
    const [y, h] = g.ys[r], states = expand(data.scoreStates[r]);
    g.columns.forEach((item, i) => {
      const [x, w] = g.xs[i], gap = item.gap || row.gap;
      sheet.cell(x, y, w, h, {
        of: g.look.id, part: "scores", state: states[i], phase: data.phase, gap, along: item.gap && row.gap ? "xy" : item.gap ? "x" : "y",
        row: g.key("r", r), column: g.key("c", i), at: g.at(r, i), says: () => scoreSays(sheet, row, item, states[i]),
      });
    });
  });
}

function scoreSays(sheet, row, item, state) {
  const [query, key] = [sheet.named(row), sheet.named(item)];
  return {
    new: `${query} looks at ${key}: computed now`,
    masked: `${query} may not look at ${key}: later in the sentence`,
    outside: `${query} does not look at ${key}: outside its window`,
    absent: `${query} is not in this step: its row was computed before`,
    some: `${query} and ${key}: drawn as a gap, some are computed and some not`,
  }[state];
}

function drawState(g) {
  const { sheet, data } = g, height = Math.max(g.bottom - g.top, 40), top = g.top;
  sheet.cell(g.squareX, top, g.squareWide, height, {
    of: g.look.id, part: "state", state: "state", phase: data.phase, inked: true, at: g.at(0, 0),
    says: () => `state of fixed size, ${data.state}: read and written once a step, however long the sentence`,
  });
  sheet.text(g.squareX + g.squareWide / 2, top + height / 2 + 4, "state", { anchor: "middle", look: "ink" });
  g.edgeBottom = Math.max(g.edgeBottom, top + height + 8);
}

// ---- lanes ------------------------------------------------------------------------------------------------------------

function drawLanes(g) {
  const { sheet, data, rows, lanes } = g;
  for (const lane of data.lanes) {
    const x = g.laneX.get(lane.name), w = lanes.of(lane.features), place = g.left.includes(lane) ? -1 : g.columns.length + g.right.indexOf(lane);
    rows.forEach((row, r) => {
      const [y, h] = g.ys[r], state = g.rowStates[r], trip = lane.name === "MLP";
      sheet.cell(x, y, w, h, {
        of: g.look.id, part: lane.name, state, phase: data.phase, gap: row.gap, along: "y", row: g.key("r", r), at: g.at(r, place),
        says: () => laneSays(sheet, data, lane, row, state),
      }, trip ? tripBody(g) : undefined);
      if (trip && state === "new" && !row.gap) sheet.line(x - 16, y + h / 2, x - 2, y + h / 2);
    });
  }
  const centre = (lane) => g.laneX.get(lane.name) + lanes.of(lane.features) / 2, rightOf = g.squareX + g.squareWide + 7;
  const size = (lane) => `${whole(data.new)} × ${whole(lane.features)}`;
  const named = (lane) => (lane.name === "MLP" ? `MLP, ${plural(data.new, "trip")}` : lane.label), end = g.place.x + g.place.width;
  const row = (y, lanes_, text, ...room) => sheet.spread(y, lanes_.map((lane) => [text(lane), centre(lane), lane.label]), ...room);
  row(g.top - 7, g.left, named, g.place.x, rightOf);
  row(g.top - 7, g.right, named, rightOf, end);
  const untold = [...row(g.bottom + 14, g.left, size, g.place.x, g.squareX - 5), ...row(g.bottom + 14, g.right, size, rightOf, end)];
  g.untold = untold.map(([text, , name]) => `${name}: ${text}`);
}

// A trip goes from the stream into the wide matrix and back: a thin end, the width, a thin end.
function tripBody(g) {
  const rounded = (h) => Math.min(h * 0.3, 8);
  return (marks, look, [x, y, w, h]) => {
    const inset = Math.min(w / 5, 12), thin = rounded(h), thick = h * 0.74, [a, b] = [y + (h - thin) / 2, y + (h - thick) / 2];
    const path = `M${px(x)} ${px(a)}h${px(inset)}V${px(b)}h${px(w - 2 * inset)}V${px(a)}h${px(inset)}v${px(thin)}h${px(-inset)}V${px(b + thick)}h${px(2 * inset - w)}V${px(a + thin)}h${px(-inset)}z`;
    return `<path d="${path}" class="${look}" ${marks}/>`;
  };
}

function laneSays(sheet, data, lane, row, state) {
  const who = `${LANE_SAYS[lane.name]} of ${sheet.named(row)}`;
  if (state !== "new") return `${who}: not in this step, computed before`;
  if (lane.name === "MLP") return `${who}: ${whole(lane.features)} wide${data.mlp ? ` (${data.mlp})` : ""}, no other token takes part`;
  const from = lane.from.length ? ` from ${lane.from.join(" and ")}` : "";
  return `${who}: ${whole(lane.features)} values, computed now${from}`;
}

// ---- words on the axes --------------------------------------------------------------------------------------------------

function drawLabels(g) {
  const { sheet, place, labels, rows, columns } = g;
  const step = Math.max(1, Math.ceil(13 / g.high)), last = rows.length - 1;
  rows.forEach((row, r) => {
    const [y, h] = g.ys[r];
    if (!row.gap && r !== last && (r % step || (last - r) * g.high < 13)) return;
    const look = g.rowStates[r] === "new" ? "ink" : "muted faint";
    sheet.text(place.x + labels - 8, y + h / 2 + 4, row.gap ? "⋮" : sheet.token(row.start), { anchor: "end", look });
  });
  const y = g.edgeBottom + 15;
  for (const i of ticks(g)) {
    const [x, w] = g.xs[i], item = columns[i];
    const look = g.states[i] === "new" ? "ink" : "muted";
    const text = item.gap ? "…" : g.cell >= 28 ? sheet.token(item.start) : whole(item.start + 1);
    sheet.text(x + w / 2, y, text, { anchor: "middle", look, size: 11 });
  }
  g.end = g.columns.length ? y + 4 : g.bottom + 20;
  const notes = [g.data.state ? `state: ${g.data.state}` : squareNote(g.data), g.data.mlp && `MLP: ${g.data.mlp}`, g.untold.join(", ")].filter(Boolean);
  notes.forEach((note) => { g.end += 15; sheet.text(g.squareX, g.end - 2, note, { look: "muted", size: 11 }); });
  g.end += 3;
}

function squareNote({ squares, new: rows, cached }) {
  const size = `scores ${whole(rows)} × ${whole(rows + cached)}`;
  return squares > 1 ? `${size}, for each of ${whole(squares)} heads` : squares ? `${size}, one head` : "";
}

// Columns that get a label: all where there is room, else the ends, both sides of a gap, and round numbers between.
function ticks(g) {
  const { columns, cell } = g;
  if (!columns.length) return [];
  const wide = 7 * String(columns.at(-1).stop).length + 5, all = [...columns.keys()], room = cell >= 28 ? 1 : Math.ceil(wide / cell);
  if (room <= 1) return all;
  const pinned = all.filter((i) => i === 0 || i === columns.length - 1 || columns[i].gap);
  const round = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((n) => n >= room) ?? 1000;
  const between = all.filter((i) => !columns[i].gap && (columns[i].start + 1) % round === 0);
  const chosen = [];
  for (const i of [...pinned, ...between]) {
    const x = g.xs[i][0] + g.xs[i][1] / 2;
    if (chosen.every((j) => Math.abs(g.xs[j][0] + g.xs[j][1] / 2 - x) >= wide)) chosen.push(i);
  }
  return chosen;
}
