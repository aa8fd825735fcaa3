// What all pictures of cells share: reading the shape data, drawing cells, pointing at them, taking the picture along.
// Nothing is computed here but positions on the page: which cells exist, and what they are, comes with the data.

const STATE = { n: "new", c: "cached", m: "masked", o: "outside", a: "absent", s: "some" };
const SERIF = "var(--st-heading-font, serif)";

const expand = (text) => [...text.matchAll(/([a-z])(\d+)/g)].flatMap(([, letter, n]) => Array(Number(n)).fill(STATE[letter]));
const items = (runs) => runs.flatMap(([start, stop, gap]) => (gap
  ? [{ start, stop, gap: true }]
  : Array.from({ length: stop - start }, (_, i) => ({ start: start + i, stop: start + i + 1, gap: false }))));
const whole = (n) => n.toLocaleString("en-US");
const plural = (n, one) => `${whole(n)} ${one}${n === 1 ? "" : "s"}`;
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const px = (value) => Math.round(value * 100) / 100;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// ---- a sheet: the SVG under construction, and a register of its cells ------------------------------------------------

class Sheet {
  constructor(width, words) {
    this.width = width;
    this.words = words;
    this.small = width < 560;
    this.type = this.small ? 11 : 12;
    this.svg = [];
    this.cells = [];
    this.bands = new Map();
  }

  add(markup) { this.svg.push(markup); }

  text(x, y, text, { look = "", anchor = "start", size = this.type, font = "", weight = 400 } = {}) {
    const style = font ? ` style="font-family:${font}"` : "";
    this.add(`<text x="${px(x)}" y="${px(y)}" class="${look}" text-anchor="${anchor}" font-size="${size}" font-weight="${weight}"${style}>${escaped(text)}</text>`);
  }

  heading(x, y, title, note) {
    this.add(`<text x="${px(x)}" y="${px(y)}" class="ink"><tspan font-size="19" style="font-family:${SERIF}">${escaped(title)}</tspan>`
      + `<tspan dx="10" font-size="${this.type + 0.5}" class="muted">${escaped(note)}</tspan></text>`);
  }

  // Texts in a row, each centred on its own place as far as the one before it leaves room: [[text, centre, name], ...].
  // Returns those that found none, to be told elsewhere.
  spread(y, texts, least, most) {
    let taken = least;
    return texts.filter(([text, centre]) => {
      const wide = this.wide(text), start = Math.max(Math.min(centre - wide / 2, most - wide), taken);
      if (start + wide > most + 1) return true;
      this.text(start, y, text, { look: "muted" });
      taken = start + wide + 9;
      return false;
    });
  }

  // About how wide a text will be.
  wide(text, size = this.type) { return text.length * size * 0.45; }

  line(x1, y1, x2, y2, look = "link") {
    this.add(`<line x1="${px(x1)}" y1="${px(y1)}" x2="${px(x2)}" y2="${px(y2)}" class="${look}"/>`);
  }

  // A token by its word where the sentence has one, else by its number in the sequence.
  token(position) { return this.words[position] ?? whole(position + 1); }

  named(item) {
    if (item.gap) return `tokens ${whole(item.start + 1)} to ${whole(item.stop)}`;
    return this.words[item.start] === undefined ? `token ${whole(item.start + 1)}` : `“${this.words[item.start]}” (token ${item.start + 1})`;
  }

  // cell: {of, part, state, phase, gap, says, row, column, at: [line, place]}; "of" is the panel or sequence that it
  // belongs to, row and column are keys of bands to light.
  cell(x, y, w, h, cell, body) {
    const index = this.cells.push({ ...cell, box: [x, y, w, h] }) - 1;
    const marks = `data-i="${index}" data-of="${cell.of}" data-part="${cell.part}" data-state="${cell.state}"${cell.gap ? ' data-gap="1"' : ""}`;
    const look = `cell ${cell.part} ${cell.state} ${cell.phase}`;
    if (cell.gap) { this.dots(x, y, w, h, `${look} gap`, marks, cell.along); return; }
    const gap = Math.min(w, h) >= 9 ? 1 : Math.min(w, h) >= 3 ? 0.5 : 0;
    const inner = [px(x + gap / 2), px(y + gap / 2), px(w - gap), px(h - gap)];
    this.add(body ? body(marks, look, inner)
      : `<rect x="${inner[0]}" y="${inner[1]}" width="${inner[2]}" height="${inner[3]}" class="${look}" ${marks}/>`);
    if (cell.inked && (cell.state === "cached" || cell.state === "state")) this.line(x, y, x + w, y, "inked");
  }

  dots(x, y, w, h, look, marks, along) {
    const [cx, cy] = [x + w / 2, y + h / 2], step = Math.min(4.5, (along === "y" ? h : w) / 3.5);
    const [dx, dy] = { x: [step, 0], y: [0, step], xy: [step, step] }[along];
    const circles = [-1, 0, 1].map((k) => `<circle cx="${px(cx + k * dx)}" cy="${px(cy + k * dy)}" r="1.2"/>`).join("");
    this.add(`<g class="${look}" ${marks}><rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" class="hit"/>${circles}</g>`);
  }

  band(key, x, y, w, h) { this.bands.set(key, [x, y, w, h]); }

  finish(height, alt) {
    const role = this.svg.some((part) => part.includes("tabindex=")) ? "group" : "img";   // a picture holds no controls
    return `<svg xmlns="http://www.w3.org/2000/svg" class="sheet" viewBox="0 0 ${px(this.width)} ${px(height)}" width="${px(this.width)}" height="${px(height)}" role="${role}" aria-label="${escaped(alt)}">`
      + '<defs><pattern id="outside" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="5" class="hatch"/></pattern></defs>'
      + `${this.svg.join("")}<g class="lit"></g></svg>`;
  }
}

// ---- pointing: a mouse, a finger or the arrow keys light a cell's row and column and say what it is --------------------

const ASIDE = 1e5;   // the next panel lies thousands of places to the right, and is still on the same line

class Pointer {
  constructor(frame, tip) {
    Object.assign(this, { frame, tip, sheet: null, active: null });
    frame.addEventListener("pointermove", (event) => this.at(event.target.closest?.("[data-i]")));
    frame.addEventListener("pointerdown", (event) => this.at(event.target.closest?.("[data-i]")));
    frame.addEventListener("pointerleave", () => { if (frame.getRootNode().activeElement !== frame) this.show(null); });
    frame.addEventListener("blur", () => this.show(null));
    frame.addEventListener("focus", () => { if (this.active === null && this.sheet?.cells.length && frame.matches(":focus-visible")) this.show(0); });
    frame.addEventListener("keydown", (event) => this.key(event));
  }

  // A picture was drawn anew: what was pointed at may have moved or gone.
  take(sheet) {
    this.sheet = sheet;
    this.show(this.active !== null && this.active < sheet.cells.length && this.frame.matches(":focus-visible") ? this.active : null);
  }

  at(mark) { this.show(mark ? Number(mark.dataset.i) : null); }

  key(event) {
    if (event.target !== this.frame) return;
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.key === "Escape") this.show(null);
    if (!move || !this.sheet?.cells.length) return;
    event.preventDefault();
    this.show(this.active === null ? 0 : this.neighbour(...move));
  }

  // The nearest cell in a direction: on the same line if there is one, else the least aside.
  neighbour(down, right) {
    const [line, place] = this.sheet.cells[this.active].at;
    let best = this.active, least = Infinity;
    this.sheet.cells.forEach(({ at: [l, p] }, i) => {
      const ahead = down ? (l - line) * down : (p - place) * right, aside = Math.abs(down ? p - place : l - line);
      const far = ahead + ASIDE * aside;
      if (ahead > 0 && far < least) [best, least] = [i, far];
    });
    return best;
  }

  show(index) {
    this.active = index;
    const lit = this.frame.querySelector(".lit");
    if (index === null || !this.sheet) {
      this.tip.hidden = true;
      if (lit) lit.innerHTML = "";
      return;
    }
    const cell = this.sheet.cells[index], [x, y, w, h] = cell.box;
    const bands = [this.sheet.bands.get(cell.row), this.sheet.bands.get(cell.column)].filter(Boolean);
    lit.innerHTML = bands.map((b) => `<rect x="${px(b[0] - 1)}" y="${px(b[1] - 1)}" width="${px(b[2] + 2)}" height="${px(b[3] + 2)}" class="band"/>`).join("")
      + `<rect x="${px(x)}" y="${px(y)}" width="${px(w)}" height="${px(h)}" class="active"/>`;
    this.tip.textContent = cell.says();
    this.tip.hidden = false;
    const scale = this.frame.clientWidth / this.sheet.width, half = this.tip.offsetWidth / 2;
    this.tip.style.left = `${clamp((x + w / 2) * scale, half + 2, this.frame.clientWidth - half - 2)}px`;
    const above = y * scale - this.tip.offsetHeight - 8;
    this.tip.style.top = `${above > -30 ? above : (y + h) * scale + 8}px`;
  }
}

// ---- taking a picture along --------------------------------------------------------------------------------------------

// A picture that stands alone: the style sheet comes along with the colours of the theme that is on, in plain values.
function standalone(svg, host) {
  const probe = host.appendChild(document.createElement("i"));
  const colour = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
  const serif = (text) => text.replaceAll(SERIF, "'Source Serif', Georgia, serif");
  const sheet = serif(host.getRootNode().querySelector("style[data-cells]").textContent);
  const style = sheet.replace(/var\((--[\w-]+)\)/g, (_, name) => colour(name));
  probe.remove();
  const font = getComputedStyle(host).fontFamily.replaceAll('"', "'");
  return serif(svg).replace(">", ` style="font-family:${font}"><style>${style}.grip,.remove{display:none}</style>`);
}

// ---- the frame of a picture ------------------------------------------------------------------------------------------

const MARKUP = `
<div class="head"><div class="legend"></div></div>
<div class="frame" tabindex="0" role="group"><div class="canvas"></div><div class="tip" role="status" hidden></div></div>`;

const LEGEND = [
  ["new prefill", "computed in the prefill"], ["new decode", "computed in this decode step"],
  ["cached", "read from the cache"], ["state", "a state of fixed size"], ["outside", "outside the window"],
  ["masked", "masked: a later token"], ["absent", "not in this step"],
];

function legend(place, looks) {
  const swatch = (look) => `<svg width="14" height="14" aria-hidden="true"><rect x="1" y="1" width="12" height="12" class="cell ${look}"/></svg>`;
  place.innerHTML = LEGEND.filter(([look]) => looks.has(look)).map(([look, words]) => `<span>${swatch(look)}${words}</span>`).join("");
}

// The looks that occur in a sheet, for its legend.
const looksOf = (sheet) => new Set(sheet.cells.map(({ state, phase }) => (state === "new" ? `new ${phase}` : state)));

// One picture in a frame of its own, which the Share menu finds by its name. draw(width) gives {sheet, height, alt}; it is called again when the width changes.
class Picture {
  constructor(root, name, keys = "Arrow keys go from cell to cell.") {
    Object.assign(this, { root, name, keys });
    root.innerHTML = MARKUP;
    root.dataset.part = name;
    [this.legend, this.frame] = [".legend", ".frame"].map((name) => root.querySelector(name));
    this.canvas = this.frame.querySelector(".canvas");
    this.pointer = new Pointer(this.frame, this.frame.querySelector(".tip"));
    this.observer = new ResizeObserver(() => { if (Math.abs(this.frame.clientWidth - (this.width ?? 0)) > 1) this.paint(); });
    this.observer.observe(this.frame);
  }

  set(draw) {
    this.draw = draw;
    this.root.drawAlone = (width) => {
      const { sheet, height, alt } = draw(width);
      this.paint();            // what was noted while drawing is of the page's width again
      return standalone(sheet.finish(height, alt), this.root);
    };
  }

  paint() {
    this.width = this.frame.clientWidth;
    if (!this.width || !this.draw) return;
    const { sheet, height, alt } = this.draw(this.width);
    this.canvas.innerHTML = sheet.finish(height, alt);
    this.frame.setAttribute("aria-label", `${alt} ${this.keys}`);
    legend(this.legend, looksOf(sheet));
    this.pointer.take(sheet);
  }
}

// Draws what the server says, and ahead of it what was sent for the stop that a slider has come to (see ahead.js): "key"
// names the picture, data of null are the server's last. What is drawn already stays as it is.
function drawn(parentElement, picture, data, draw) {
  const show = (said) => {
    const text = JSON.stringify(said);
    if (picture.said === text) return;
    picture.said = text;
    draw(said);
  };
  const host = parentElement.getRootNode().host ?? parentElement;
  picture.ahead?.abort();
  picture.ahead = new AbortController();
  document.addEventListener("picture-ahead", ({ detail }) => {
    if (host.closest(`.st-key-${detail.key}`)) show(detail.data ?? data);
  }, { signal: picture.ahead.signal });
  show(data);
}

function gone(parentElement, picture) {
  picture.ahead?.abort();
  picture.observer.disconnect();
  mounted.delete(parentElement);
}

const mounted = new WeakMap();   // what stands where: the default export runs again whenever its data change

function mount(parentElement, make) {
  if (!mounted.has(parentElement)) {
    const root = parentElement.querySelector(".shapes");
    mounted.set(parentElement, make(root));
  }
  return mounted.get(parentElement);
}
