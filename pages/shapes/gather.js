// Several sequences in one step: their rows gather into one matrix over one reading of the weights, their squares stay
// apart, each over its own store (or a state, which has no length). A store can be dragged to another length, a
// sequence added or taken away.

const CURVES = 760;      // px of page from which rows and stores stand side by side, joined by curves
const ROW = 15;

function drawGathered(data, sequences, width) {
  const sheet = new Sheet(width, []), wide = width >= CURVES;
  const left = wide ? width * 0.5 : width, cell = clamp((left - (wide ? 150 : 96)) / data.longest, 5, 17);
  let y = 8;
  if (wide) {
    sheet.text(0, 16, data.apart, { look: "ink", size: 14, weight: 600 });
    sheet.text(width * 0.56, 16, "The rows gather", { look: "ink", size: 14, weight: 600 });
  } else sheet.text(0, 16, data.apart, { look: "ink", size: 14, weight: 600 });
  y = 32;
  const ends = [], handles = [];
  sequences.forEach((one, n) => {
    const drawn = drawSequence(sheet, one, { x: 0, y, cell, n, removable: data.drag && sequences.length > 1, wide });
    ends.push(...drawn.ends);
    if (data.drag && one.drag) handles.push({ n, ...drawn.handle });
    y = drawn.bottom + 13;
  });
  sheet.text(30, y + 4, data.storesNote, { look: "muted" });
  const rowsHigh = gatheredHeight(sequences), below = wide ? y : y + 34;
  if (!wide) sheet.text(0, below - 2, "The rows gather", { look: "ink", size: 14, weight: 600 });
  const top = wide ? clamp((32 + y - rowsHigh) / 2 - 12, 40, 1e4) : below + 22;
  const bottom = drawRows(sheet, data, sequences, { x: wide ? width * 0.56 : 0, y: top, width: wide ? width * 0.44 : width, wide, ends });
  const low = wide ? Math.max(y, bottom + 24) : bottom + 24;
  sheet.text(wide ? width * 0.56 : 0, wide ? y + 4 : low, data.rowsNote, { look: "muted" });
  return { sheet, height: Math.max(y, low) + 14, alt: data.alt, handles, cell };
}

// ---- one sequence: queries, keys, scores, values, outputs ---------------------------------------------------------------

function drawSequence(sheet, one, { x, y, cell, n, removable, wide }) {
  const rows = items(one.rows), columns = items(one.columns), states = expand(one.storeStates), high = Math.max(cell, 9);
  const start = x + 30 + high + 8, xs = along(start, columns, cell), wideAll = one.state ? 84 : extent(columns, cell), line = n * 100;
  const stores = one.edges.length;
  sheet.text(start, y + 11, wide ? one.note : one.short, { look: "muted" });
  if (removable) removeButton(sheet, start + sheet.wide(wide ? one.note : one.short) + 16, y + 7, one.name, n);
  y += 17;
  const first = y + (stores ? high + 3 : 0);
  const strip = (edge, top, at) => columns.forEach((item, i) => sheet.cell(xs[i][0], top, xs[i][1], high, {
    of: one.name, part: edge, state: states[i], phase: one.phase, gap: item.gap, along: "x", inked: true, column: `s${n}c${i}`, at: [at, i],
    says: () => `${one.name}: ${storeSays(sheet, { ...one, writes: true }, { name: edge }, item, states[i])}`,
  }));
  if (stores) strip(one.edges[0], y, line - 1);
  const ys = along(first, rows, high), after = start + wideAll + (one.drag ? 20 : 10), ends = [];
  rows.forEach((row, r) => {
    const scores = expand(one.scoreStates[r]), [top, h] = ys[r], common = { of: one.name, phase: one.phase, gap: row.gap, along: "y", row: `s${n}r${r}` };
    sheet.cell(x + 30, top, high, h, { ...common, part: "queries", state: "new", at: [line + r, -1], says: () => `${one.name}: ${columns.length ? "query" : "input"} of ${sheet.named(row)}, computed now` });
    columns.forEach((item, i) => sheet.cell(xs[i][0], top, xs[i][1], h, {
      ...common, part: "scores", state: scores[i], gap: row.gap || item.gap, along: row.gap && item.gap ? "xy" : item.gap ? "x" : "y",
      column: `s${n}c${i}`, at: [line + r, i], says: () => `${one.name}: ${scoreSays(sheet, row, item, scores[i])}`,
    }));
    sheet.cell(after, top, high, h, { ...common, part: "outputs", state: "new", at: [line + r, columns.length], says: () => `${one.name}: output of ${sheet.named(row)}, on its way to the one matrix` });
    sheet.band(`s${n}r${r}`, x + 30, top, after + high - x - 30, h);
    ends.push([after + high + 4, top + h / 2]);
  });
  const last = first + extent(rows, high);
  if (one.state) sheet.cell(start, first, wideAll, last - first, {
    of: one.name, part: "state", state: "state", phase: one.phase, inked: true, at: [line, 0],
    says: () => `${one.name}: state of fixed size, ${one.state}: read and written once a step, however long the sequence`,
  });
  if (stores > 1) strip(one.edges[1], last + 3, line + rows.length);
  const bottom = stores > 1 ? last + 3 + high : last;
  columns.forEach((_, i) => sheet.band(`s${n}c${i}`, xs[i][0], y, xs[i][1], bottom - y));
  sheet.text(x + 8, first + extent(rows, high) / 2 + 5, one.name, { look: "ink", size: 14 });
  if (one.drag) grip(sheet, start + wideAll + 4, y, bottom - y, one, n);
  return { bottom, ends, handle: { start, cell } };
}

function grip(sheet, x, y, h, one, n) {
  sheet.add(`<g class="grip" data-n="${n}" tabindex="0" role="slider" aria-label="Tokens in the cache of ${one.name}" aria-valuemin="1" aria-valuemax="${one.most}" aria-valuenow="${one.cached}">`
    + `<rect x="${px(x - 5)}" y="${px(y - 2)}" width="18" height="${px(h + 4)}" class="hit"/><rect x="${px(x)}" y="${px(y)}" width="5" height="${px(h)}" rx="2.5" class="knob"/></g>`);
}

function removeButton(sheet, x, y, name, n) {
  sheet.add(`<g class="remove" data-n="${n}" tabindex="0" role="button" aria-label="Take ${name} out of the step"><circle cx="${px(x)}" cy="${px(y)}" r="9" class="hit"/>`
    + `<path d="M${px(x - 3.5)} ${px(y - 3.5)}l7 7m0 -7l-7 7" class="cross"/></g>`);
}

// ---- the one matrix, the weights, the matrix that comes out -----------------------------------------------------------------

const rowItems = (sequences) => sequences.flatMap((one, n) => items(one.rows).map((row, r) => ({ row, r, n, one })));
const gatheredHeight = (sequences) => extent(rowItems(sequences).map(({ row }) => row), ROW);

function drawRows(sheet, data, sequences, { x, y, width, wide, ends }) {
  const all = rowItems(sequences), ys = along(y, all.map(({ row }) => row), ROW), high = gatheredHeight(sequences);
  const rowWide = clamp(width * 0.16, 44, 72), block = clamp(width * 0.28, 84, 130), letters = 20;
  const between = clamp((width - 2 * rowWide - block - letters) / 2, 14, 64), weightsX = x + rowWide + letters + between, outX = weightsX + block + between;
  all.forEach(({ row, r, n, one }, i) => {
    const [top, h] = ys[i];
    for (const [part, at] of [["gathered", x], ["after", outX]]) {
      sheet.cell(at, top, rowWide, h, {
        of: one.name, part, state: "new", phase: one.phase, gap: row.gap, along: "y", row: `g${i}`, at: [i + 0.5, part === "after" ? 2000 : 1000],
        says: () => `${one.name}: ${part === "after" ? "out of the MLP: " : "a row of the one matrix, "}${whole(data.hidden)} values${row.gap ? `, ${sheet.named(row)}` : ""}`,
      });
    }
    sheet.band(`g${i}`, x, top, outX + rowWide - x, h);
    if (!row.gap && (r === 0 || one.new === 1)) sheet.text(x + rowWide + 7, top + h - 3.5, one.name, { look: "muted" });
    if (wide && ends[i]) curve(sheet, ends[i], [x - 5, top + h / 2]);
  });
  weightsBlock(sheet, data, { x: weightsX, y: y + high / 2, width: block, height: clamp(high + 40, 92, 150) });
  sheet.line(x + rowWide + letters + 2, y + high / 2, weightsX - 5, y + high / 2);
  sheet.line(weightsX + block + 5, y + high / 2, outX - 5, y + high / 2);
  for (const at of [x, outX]) sheet.text(at, y + high + 17, data.matrixSize, { look: "muted" });
  return Math.max(y + high + 17, y + high / 2 + clamp(high + 40, 92, 150) / 2);
}

function weightsBlock(sheet, data, { x, y, width, height }) {
  sheet.cell(x, y - height / 2, width, height, { of: "all", part: "weights", state: "memory", phase: "", at: [0.5, 1500], says: () => data.weightsSay });
  sheet.text(x + width / 2, y - 3, "weights", { anchor: "middle", look: "on-fill", size: 15 });
  sheet.text(x + width / 2, y + 16, "read once", { anchor: "middle", look: "on-fill", size: 12.5 });
}

function curve(sheet, [x1, y1], [x2, y2]) {
  const bend = Math.max(x1, x2 - 150), reach = (x2 - bend) * 0.5;
  sheet.add(`<path d="M${px(x1)} ${px(y1)}H${px(bend)}C${px(bend + reach)} ${px(y1)} ${px(x2 - reach)} ${px(y2)} ${px(x2)} ${px(y2)}" class="link"/>`);
}

// ---- dragging ---------------------------------------------------------------------------------------------------------------

class Gathering {
  constructor(root) {
    this.held = null;
    const place = root.appendChild(document.createElement("div"));
    this.picture = new Picture(place, "gathered");
    this.add = Object.assign(document.createElement("button"), { type: "button", textContent: "Add a sequence", className: "add" });
    root.append(this.add);
    this.add.onclick = () => this.change([...this.lengths, this.data.fresh]);
    const canvas = this.picture.canvas;
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => this.release());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  take(data, send) {
    Object.assign(this, { data, send });
    if (!this.held) this.lengths = data.lengths;
    this.add.hidden = !data.drag || data.lengths.length >= data.mostSequences;
    this.picture.set((width) => { const drawn = drawGathered(this.data, this.sequences(), width); this.handles = drawn.handles; return drawn; });
    this.picture.paint();
  }

  // Each length has its shape in the data: a drag only chooses among them.
  sequences() {
    const { fixed, decodes, drag } = this.data;
    const grips = drag && decodes[0].edges.length > 0;   // what has no store has no end to drag
    const dragged = this.lengths.map((length, i) => ({ ...decodes[length - 1], name: this.data.names[i], drag: grips, most: decodes.length }));
    return [...fixed, ...dragged];
  }

  change(lengths) {
    this.lengths = lengths;
    this.paint();
    this.send(lengths);
  }

  paint() {
    const focused = this.picture.root.getRootNode().activeElement?.closest?.("[data-n]"), which = focused && `.${focused.getAttribute("class")}[data-n="${focused.dataset.n}"]`;
    this.picture.paint();
    if (which) this.picture.canvas.querySelector(which)?.focus();
  }

  own(n) { return n - this.data.fixed.length; }

  grab(event) {
    const remove = event.target.closest(".remove"), grip = event.target.closest(".grip");
    if (remove) { this.change(this.lengths.toSpliced(this.own(Number(remove.dataset.n)), 1)); return; }
    if (!grip) return;
    event.preventDefault();
    this.held = this.handles.find(({ n }) => n === Number(grip.dataset.n));
    this.picture.canvas.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (!this.held) return;
    event.stopPropagation();
    const x = event.clientX - this.picture.canvas.getBoundingClientRect().left;
    this.resize(this.own(this.held.n), Math.round((x - this.held.start) / this.held.cell) - 1);
  }

  resize(i, length) {
    const held = clamp(length, 1, this.data.decodes.length);
    if (held === this.lengths[i]) return;
    this.lengths = this.lengths.with(i, held);
    this.paint();
  }

  release() {
    if (!this.held) return;
    this.held = null;
    this.send(this.lengths);
  }

  key(event) {
    const target = event.target.closest("[data-n]");
    if (!target) return;
    const n = this.own(Number(target.dataset.n)), by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (target.matches(".grip") && by) { event.preventDefault(); this.resize(n, this.lengths[n] + by); this.send(this.lengths); }
    if (target.matches(".remove") && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); this.change(this.lengths.toSpliced(n, 1)); }
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const gathering = mount(parentElement, (root) => new Gathering(root));
  const take = (said) => gathering.take(said, (lengths) => setStateValue("lengths", lengths));
  // Lengths that were dragged are the hand's until the server says others: what it says is taken each time.
  if (data.drag) take(data); else drawn(parentElement, gathering.picture, data, take);
  return () => gone(parentElement, gathering.picture);
}
