// The pictures of the stops around a slider, drawn as it moves: see ahead.py.

const followSliders = (() => {
const PAUSE = 80;                         // ms before the next stops are asked for, and between looks
const PATIENCE = 1500;                    // ms after a key or a click in which the server may be at work for it
const QUIET = 150;                        // ms after a run in which the next one may begin
const LOST = 600;                         // ms after all of that for an answer to be late, and so lost
const NEAR = 2;                           // stops that shall be at hand on either side

// ---- a Vega chart, with what the server said last and what is shown

const same = (a, b) => {
  if (a.length !== b.length) return false;
  return a.every((row, place) => {
    const names = Object.keys(row), other = b[place];
    return names.length === Object.keys(other).length && names.every((name) => Object.is(row[name], other[name]));
  });
};

const plain = (rows) => rows.map((row) => Object.fromEntries(Object.entries(row)));

const charts = new WeakMap();

// From then on what the server sends is compared with what is shown: a picture that is drawn already stays.
const held = (view) => {
  if (charts.has(view)) return charts.get(view);
  const { data, insert, remove } = view, served = new Map(), shown = new Map();
  const know = (name) => {
    if (!shown.has(name)) { shown.set(name, plain(data.call(view, name))); served.set(name, shown.get(name)); }
  };
  const show = (name, rows) => {
    know(name);
    if (same(shown.get(name), rows)) return false;
    shown.set(name, rows);
    data.call(view, name, plain(rows));
    return true;
  };
  const serve = (name, rows) => { served.set(name, rows); show(name, rows); return view; };
  view.data = (...given) => (given.length > 1 && shown.has(given[0]) ? serve(given[0], plain(given[1])) : data.apply(view, given));
  view.insert = (name, rows) => (shown.has(name) ? serve(name, [...served.get(name), ...plain(rows)]) : insert.call(view, name, rows));
  view.remove = (name, what) => (shown.has(name) ? serve(name, []) : remove.call(view, name, what));
  const drawn = (changed) => { if (changed.some(Boolean)) view.resize().runAsync(); };
  const chart = {
    show: (datasets) => drawn(Object.entries(datasets).map(([name, columns]) => show(name, rowsOf(columns)))),
    back: () => drawn([...served].map(([name, rows]) => show(name, rows))),
  };
  charts.set(view, chart);
  return chart;
};

const rowsOf = (columns) => {
  const names = Object.keys(columns), rows = columns[names[0]] ?? [];
  return rows.map((_, place) => Object.fromEntries(names.map((name) => [name, columns[name][place]])));
};

const chartOf = (key) => {
  const chart = document.querySelector(`.st-key-${key} [data-testid=stVegaLiteChart]`);
  const view = chart && viewOf(chart);
  return view ? held(view) : null;
};

// Pictures of the app's own listen for what they are drawn from; null: what the server said last.
const tell = (key, data) => document.dispatchEvent(new CustomEvent("picture-ahead", { detail: { key, data } }));

// ---- the slider in hand

// "mark" says for whoever looks which stops are at hand; what is returned takes what the server says.
return (mark, signal) => {
  const options = { capture: true, passive: true, signal };
  let at = {}, look = "", ask = () => {}, frames = null, key = null, asked = "", timer = 0, drawn = null;
  let touched = -PATIENCE, began = 0, ended = 0, holding = false, healed = "";

  const textOf = (name) => document.querySelector(`.st-key-${name} input[type=range]`)?.getAttribute("aria-valuetext");
  const keyOf = (node) => Object.keys(at).find((name) => node.closest?.(`.st-key-${name}`)) ?? null;
  const app = () => document.querySelector("[data-testid=stApp]");
  const running = () => app().dataset.testScriptState === "running";
  const holds = () => frames && frames.slider === key && frames.look === look;

  const atHand = (text) => {
    if (!holds()) return false;
    const texts = frames.stops.map(([stop]) => stop), place = texts.indexOf(text), [first, last] = frames.ends;
    const below = place >= NEAR || texts[0] === first, above = texts.length - 1 - place >= NEAR || texts.at(-1) === last;
    return place >= 0 && below && above;
  };
  // Never while the server may be at work for somebody: of two fragments that are asked for within a few ms, the answer
  // of the first can be lost (Streamlit 1.67 drops what a run has said when the next one is made before it was sent).
  const atRest = (quiet) => {
    const now = performance.now();
    return !running() && now - ended > quiet && (began > touched || now - touched > PATIENCE);
  };
  const askAhead = () => {
    const text = key && textOf(key);
    if (!text || atHand(text)) return;
    if (!atRest(QUIET)) { soon(); return; }
    const question = [key, text, look].join(" ");
    if (question === asked) return;
    asked = question;
    ask({ slider: key, at: text });
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(askAhead, PAUSE); };
  const take = (node) => {
    const found = keyOf(node);
    if (!found) return;
    key = found;
    soon();
  };
  const draw = () => {
    const text = textOf(key), frame = holds() && frames.stops.find(([stop]) => stop === text)?.[1];
    soon();
    if (!frame || (drawn?.key === key && drawn.text === text)) return;
    drawn = { key, text, names: new Set([...(drawn?.names ?? []), ...Object.keys(frame)]) };
    for (const [name, parts] of Object.entries(frame)) {
      if (parts.whole) tell(name, parts.whole); else chartOf(name)?.show(parts);
    }
  };
  // The server has drawn the stop where the slider is. What was drawn here before it came there must not stay.
  const settle = (slider, text) => {
    if (!drawn || (drawn.key === slider && textOf(slider) !== text)) return;
    if (drawn.key !== slider || drawn.text !== text) for (const name of drawn.names) {
      tell(name, null);
      chartOf(name)?.back();
    }
    drawn = null;
  };

  // A slider tells the server nothing before the hand lets go, and neither does the way to the next control.
  const touch = ({ type, target, key: letter }) => {
    if (type.startsWith("pointer")) holding = type === "pointerdown";
    healed = "";
    const taken = type === "pointerdown" && keyOf(target);
    if (!taken && !["Tab", "Shift"].includes(letter)) touched = performance.now();
  };
  for (const name of ["keydown", "pointerdown", "pointerup", "pointercancel", "change"]) document.addEventListener(name, touch, options);
  document.addEventListener("pointerover", (event) => take(event.target), options);
  document.addEventListener("focusin", (event) => take(event.target), options);
  // Of what moves only what is in somebody's hand: the page itself moves a slider together with other controls.
  const watcher = new MutationObserver((changes) => {
    if (!changes.some(({ target }) => target === document.activeElement)) return;
    key = keyOf(document.activeElement) ?? key;
    draw();
  });
  watcher.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
  const runs = new MutationObserver(() => { if (running()) began = performance.now(); else ended = performance.now(); });
  runs.observe(app(), { attributeFilter: ["data-test-script-state"] });
  // An answer can be lost all the same, when two fragments are moved at once. Then the page says another value than its
  // slider, and is asked for as a whole.
  const healing = setInterval(() => {
    const late = !holding && atRest(LOST) && Object.keys(at).find((name) => (textOf(name) ?? at[name]) !== at[name]);
    if (late && healed !== late + textOf(late)) { healed = late + textOf(late); ask({ lost: late }); }
  }, LOST);
  document.addEventListener("server-says", ({ detail }) => { at = { ...at, ...detail }; }, { signal });
  signal.addEventListener("abort", () => {
    watcher.disconnect(); runs.disconnect(); clearTimeout(timer); clearInterval(healing);
  });

  return (data, send) => {
    const { slider, frames: sent } = data ?? {};
    if (!data) at = {};
    else if (data.at) at = data.at;   // of a run of the page: that it is here proves that the rest is
    look = data?.look ?? "";
    ask = send;
    if (!(key in at)) key = null;   // nothing follows on this page
    if (sent) frames = { ...sent, look };
    mark.dataset.atHand = frames?.look === look ? `${frames.slider}: ${frames.stops.map(([text]) => text).join(" ")}` : "";
    settle(slider, at[slider]);
    if (!sent) asked = "";
    if (sent && key === slider && textOf(key) !== at[key]) draw();   // it has moved on meanwhile
    else if (key) soon();
  };
};
})();
