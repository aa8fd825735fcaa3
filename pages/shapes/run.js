// A run, step by step: the picture of one step, the triangle of work that a cache saves, and the bill. It plays in the
// browser alone; the step goes back to the page when the hand lets go or the run is stopped.

const PLAYING_MS = 50;          // a step, while playing
const CALM_STOPS = 12;          // jumps from end to end, where the reader's system asks for reduced motion
const CALM_MS = 500;

const PLAY = "M4 2v12l9-6z", PAUSE = "M3 2h4v12H3zM9 2h4v12H9z";
const icon = (path) => `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;

const RUN_MARKUP = `
<div class="transport">
  <button type="button" class="first" aria-label="To the prefill" title="To the prefill">${icon("M3 2h2v12H3zM14 2v12L6 8z")}</button>
  <button type="button" class="play" aria-label="Play" title="Play">${icon(PLAY)}</button>
  <button type="button" class="next" aria-label="One step on" title="One step on">${icon("M2 2v12l8-6zM11 2h2v12h-2z")}</button>
  <input type="range" min="0" step="1" aria-label="Step of the run">
  <output class="caption" aria-live="off"></output>
</div>
<div class="picture"></div>
<div class="below"><div class="triangle"></div><div class="bill"></div></div>`;

// ---- the picture of one step --------------------------------------------------------------------------------------------

function drawRun(data, step, width) {
  const sheet = new Sheet(width, []), wide = width >= 560, frames = wide ? data.wide : data.narrow;
  const one = { ...data.panel, ...frames[step], ...data.steps[step] };
  const share = wide ? 0.13 : 0.24, labels = 44, lanes = width * share;
  const most = items(frames.at(-1).columns), closed = most.filter((item) => item.gap).length;
  const free = width - labels - lanes - 66 - closed * GAP_WIDTH;
  const first = items(frames[0].rows), rowHeight = clamp(160 / first.length, 6, 16);
  const columnWidth = Math.min(free / (most.length - closed), 16);
  const g = drawPanel(sheet, one, { x: 0, y: 0, width }, { id: "r", share, labels, columnWidth, rowHeight, equal: data.equal });
  const height = g.top + extent(first, rowHeight) + g.edgeHeight + 46;
  ruler(g, closed ? 0 : most.length * columnWidth, most.at(-1)?.stop);
  if (step > 0 && extent(first, rowHeight) > 60) ghost(g, first, rowHeight);
  return { sheet, height: Math.max(height, g.end), alt: caption(data, step) };
}

// How far the context will reach when the run ends, where the columns are to one scale.
function ruler(g, wide, tokens) {
  if (!wide || !g.columns.length || g.columns.length === tokens) return;
  const y = Math.max(g.edgeBottom + 7, g.bottom + 40), end = g.squareX + wide;
  g.sheet.line(g.squareX + g.squareWide + 14, y, end, y, "ghost");
  g.sheet.line(end, y - 4, end, y + 4, "ghost");
  g.sheet.text(end, y + 15, `${whole(tokens)} when the run ends`, { anchor: "end", look: "muted", size: 11 });
}

// Where the prefill's rows were, so that the eye keeps what has collapsed.
function ghost(g, first, rowHeight) {
  const y = g.end + 6, height = g.top + extent(first, rowHeight) - y;
  if (height < 24) return;
  g.sheet.add(`<rect x="${px(g.squareX)}" y="${px(y)}" width="${px(extent(first, g.cell))}" height="${px(height)}" class="ghost"/>`);
  g.sheet.text(g.squareX + extent(first, g.cell) + 8, y + height / 2 + 4, `the prefill had ${plural(first.at(-1).stop, "row")}`, { look: "muted" });
}

function caption(data, step) {
  const { phase, new: rows, cached } = data.steps[step], { one, many } = data.kept;
  const kept = many ? `, ${whole(rows)} new ${rows === 1 ? one : many}, ${whole(cached)} cached` : "";
  return `Step ${whole(step)} of ${whole(data.steps.length - 1)}, ${phase}: ${plural(rows, "row")}${kept}.`;
}

// ---- the triangle ---------------------------------------------------------------------------------------------------------

const MARGIN = { left: 52, right: 12, top: 30, bottom: 40 };

function drawTriangle(data, step, width) {
  const sheet = new Sheet(width, []), { without, kept, yTicks, xTicks, title } = data.triangle, steps = without.length;
  const height = width < 560 ? 220 : 260, inner = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const top = Math.max(...without, ...kept), x = (i) => MARGIN.left + (i / steps) * inner[0], y = (v) => MARGIN.top + inner[1] * (1 - v / top);
  const area = (from, to) => `M${px(x(from))} ${px(y(0))}` + without.slice(from, to).map((v, i) => `V${px(y(v))}H${px(x(from + i + 1))}`).join("") + `V${px(y(0))}z`;
  sheet.add(`<path d="${area(0, steps)}" class="later"/><path d="${area(0, step + 1)}" class="saved"/>`);
  const at = (one) => px((x(one) + x(one + 1)) / 2);
  const stairs = steps <= 60 ? (v, i) => `V${px(y(v))}H${px(x(i + 1))}` : (v, i) => `L${px(x(i + 0.5))} ${px(y(v))}`;
  sheet.add(`<path d="M${px(x(0))} ${px(y(without[0]))}${without.map(stairs).join("")}" class="edge"/>`);
  const least = (v) => px(Math.min(y(v), y(0) - 3));       // a decode is thin, and must be seen
  sheet.add(`<path d="M${px(x(1))} ${px(y(0))}${kept.slice(1).map((v, i) => `V${least(v)}H${px(x(i + 2))}`).join("")}V${px(y(0))}z" class="decode"/>`);
  sheet.add(`<path d="M${px(x(0))} ${px(y(0))}V${least(kept[0])}H${px(Math.max(x(1), x(0) + 5))}V${px(y(0))}z" class="prefill inky"/>`);
  axes(sheet, { x, y, height, xTicks, yTicks, title });
  sheet.line(at(step), MARGIN.top - 6, at(step), y(0) + 5, "cursor");
  triangleLabels(sheet, data.triangle, { x, y, steps });
  const toStep = (left) => clamp(Math.floor(((left - MARGIN.left) / inner[0]) * steps), 0, steps - 1);
  return { sheet, height, alt: data.triangle.alt, toStep, at, area };
}

function axes(sheet, { x, y, height, xTicks, yTicks, title }) {
  sheet.line(MARGIN.left, y(0), x(0) + (sheet.width - MARGIN.left - MARGIN.right), y(0), "axis");
  for (const [value, label] of yTicks) {
    sheet.line(MARGIN.left - 5, y(value), MARGIN.left, y(value), "axis");
    sheet.text(MARGIN.left - 9, y(value) + 4, label, { anchor: "end", look: "muted" });
  }
  for (const value of xTicks) sheet.text(x(value + 0.5), y(0) + 17, whole(value), { anchor: "middle", look: "muted" });
  sheet.text(0, 14, title, { look: "muted", size: sheet.type + 1 });
  sheet.text((x(0) + sheet.width) / 2, height - 6, "step", { anchor: "middle", look: "muted" });
}

function triangleLabels(sheet, triangle, { x, y, steps }) {
  const size = sheet.small ? 12 : 14, { without, kept } = triangle, low = Math.max(...without);
  const [end, rest] = [y(low), y(kept.at(-1))], between = rest - end > 34;
  const [savedWide, prefillWide] = [triangle.saved, triangle.prefill].map((text) => sheet.wide(text, size));
  const reach = Math.min(Math.ceil(((prefillWide + 16) / (x(steps) - x(0))) * steps), steps - 1);
  const prefillY = Math.max(y(Math.max(without[reach], kept[0])) - 8, MARGIN.top - 4), savedY = between ? end + (rest - end) * 0.55 : end + 22;
  const beside = x(steps) - 8 - savedWide > x(0) + 9 + prefillWide + size;   // else one below the other
  sheet.text(x(steps) - 8, beside ? savedY : Math.max(savedY, prefillY + size + 8), triangle.saved, { anchor: "end", look: "ink halo", size });
  sheet.text(x(0) + 9, prefillY, triangle.prefill, { look: "prefill-text halo", size, weight: 600 });
  if (!triangle.decode) return;
  const inside = y(0) - y(Math.max(...kept.slice(1))) > 60;
  sheet.text(x(steps * 0.36), inside ? y(0) - 20 : Math.min(y(Math.max(...kept.slice(1))), y(0) - 3) - 8, triangle.decode, { look: inside ? "on-fill" : "decode-text halo", size, weight: 600 });
}

// ---- the bill -------------------------------------------------------------------------------------------------------------

function bill(data, step) {
  const { heads, rows, split, splitNames } = data.bill;
  const row = ({ name, meaning, here, soFar, without }) =>
    `<tr><th scope="row">${escaped(name)}</th><td class="${meaning}">${escaped(here[step])}</td><td class="${meaning}"><b>${escaped(soFar[step])}</b></td><td>${escaped(without[step])}</td></tr>`;
  const share = split.prefillShare[step], part = (name, value) => `<span class="${name}"><i></i>${splitNames[name]} ${escaped(value)}</span>`;
  return `<table><thead><tr><th></th>${heads.map((head) => `<th scope="col">${escaped(head)}</th>`).join("")}</tr></thead><tbody>${rows.map(row).join("")}</tbody></table>
    <div class="split" role="img" aria-label="${escaped(splitNames.alt)}"><i class="prefill" style="flex:${share} 0 3px"></i><i class="decode" style="flex:${1 - share} 0 0"></i></div>
    <div class="parts">${part("prefill", split.prefill[step])}${part("decode", split.decode[step])}</div>`;
}

// ---- the player -----------------------------------------------------------------------------------------------------------

class Player {
  constructor(root) {
    root.innerHTML = RUN_MARKUP;
    const find = (name) => root.querySelector(name);
    Object.assign(this, { root, step: 0, timer: null, written: null, patience: 0, calm: matchMedia("(prefers-reduced-motion: reduce)") });
    Object.assign(this, { first: find(".first"), play: find(".play"), next: find(".next"), range: find("input"), caption: find(".caption"), bill: find(".bill") });
    this.picture = new Picture(find(".picture"), "run");
    this.triangle = new Picture(find(".triangle"), "cache-triangle", "Left and right go from step to step.");
    this.first.onclick = () => this.rest(0);
    this.next.onclick = () => this.rest(this.step + 1);
    this.play.onclick = () => (this.timer ? this.rest(this.step) : this.start());
    this.range.oninput = () => { this.stop(); this.show(Number(this.range.value)); };
    this.range.onchange = () => this.rest(Number(this.range.value));
    this.scrub(this.triangle.frame);
  }

  take(data, send) {
    Object.assign(this, { data, send, last: data.steps.length - 1 });
    this.range.max = this.last;
    this.adopt(data.step);
    this.picture.set((width) => drawRun(this.data, this.step, width));
    this.step = clamp(this.step, 0, this.last);
    this.triangle.set((width) => { const drawn = drawTriangle(this.data, this.step, width); this.chart = drawn; return drawn; });
    this.triangle.paint();
    this.show(this.step);
  }

  // The page's step, unless it is an answer to what was sent before the last that was sent, or the run is playing.
  adopt(step) {
    if (step === this.written) { this.patience = 0; return; }
    if (this.patience > 0) { this.patience -= 1; return; }
    if (!this.timer) this.step = step;
    this.written = step;
  }

  show(step) {
    performance.mark("step-from");
    this.step = clamp(step, 0, this.last);
    this.range.value = this.step;
    this.caption.textContent = caption(this.data, this.step);
    this.range.setAttribute("aria-valuetext", this.caption.textContent);
    this.picture.paint();
    this.mark();
    this.bill.innerHTML = bill(this.data, this.step);
    performance.measure("step", "step-from");
  }

  // Of the triangle only the cursor moves.
  mark() {
    const [cursor, saved] = [".cursor", ".saved"].map((name) => this.triangle.canvas.querySelector(name));
    if (!cursor) return;
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, this.chart.at(this.step));
    saved.setAttribute("d", this.chart.area(0, this.step + 1));
  }

  start() {
    if (this.step >= this.last) this.show(0);
    const [every, by] = this.calm.matches ? [CALM_MS, Math.ceil(this.last / CALM_STOPS)] : [PLAYING_MS, 1];
    this.timer = setInterval(() => {
      this.show(this.step + by);
      if (this.step >= this.last) this.rest(this.last);
    }, every);
    this.label("Pause", PAUSE);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.label("Play", PLAY);
  }

  // The hand lets go: the step goes back to the page, which keeps it in its address.
  rest(step) {
    this.stop();
    this.show(step);
    if (this.step !== this.written) { Object.assign(this, { written: this.step, patience: 2 }); this.send(this.step); }
  }

  label(words, sign) {
    this.play.innerHTML = icon(sign);
    this.play.title = words;
    this.play.setAttribute("aria-label", words);
  }

  scrub(frame) {
    const follow = (event) => {
      if (!event.buttons) return;
      const left = frame.getBoundingClientRect().left;
      this.stop();
      this.show(this.chart.toStep(event.clientX - left));
    };
    frame.addEventListener("pointerdown", (event) => { frame.setPointerCapture(event.pointerId); follow(event); });
    frame.addEventListener("pointermove", follow);
    frame.addEventListener("pointerup", () => this.rest(this.step));
    frame.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) { event.preventDefault(); this.rest(this.step + by); }
    });
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const player = mount(parentElement, (root) => new Player(root));
  player.take(data, (step) => setStateValue("step", step));
  return () => { player.stop(); player.picture.observer.disconnect(); player.triangle.observer.disconnect(); mounted.delete(parentElement); };
}
