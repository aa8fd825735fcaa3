// Who reads whose keys: a group for each store, with the query heads that share it.

const GROUP = 176;       // px a group takes
const DOT = 13;
const STRIP = 18;

function drawHeads(data, width) {
  const sheet = new Sheet(width, []), stores = items(data.stores), readers = items(data.readers), columns = items(data.columns);
  const states = expand(data.storeStates), cell = 12;
  const most = Math.max(1, Math.floor((width + 20) / GROUP)), across = Math.ceil(stores.length / Math.ceil(stores.length / most));
  const group = Math.min((width + 20) / across, 1.4 * GROUP);
  const high = Math.max(extentOf(readers), data.names.length * STRIP + 8) + 30;
  stores.forEach((store, n) => {
    const x = (n % across) * group, y = Math.floor(n / across) * (high + 10);
    if (store.gap) { sheet.text(x + 30, y + high / 2, `… ${whole(store.stop - store.start)} more …`, { look: "muted", size: 13 }); return; }
    drawGroup(sheet, { data, store, readers, columns, states, cell, x, y, high, n });
  });
  return { sheet, height: Math.ceil(stores.length / across) * (high + 10), alt: data.alt };
}

const extentOf = (readers) => readers.length * (DOT + 4);

function drawGroup(sheet, { data, store, readers, columns, states, cell, x, y, high, n }) {
  const top = y + 22, middle = top + (high - 30) / 2, startY = middle - extentOf(readers) / 2, storeX = x + 74;
  sheet.text(storeX, y + 12, data.count > 1 ? `KV head ${whole(store.start + 1)}` : data.single, { look: "muted" });
  readers.forEach((reader, r) => {
    const at = startY + r * (DOT + 4), head = store.start * data.each + reader.start + 1;
    sheet.cell(x + 26, at, DOT, DOT, {
      of: n, part: "head", state: "new", phase: data.phase, gap: reader.gap, along: "y", at: [n * 100 + r, -1], row: `h${n}`,
      says: () => (reader.gap ? `query heads ${whole(head)} to ${whole(store.start * data.each + reader.stop)}` : `query head ${whole(head)}`) + `: reads ${data.count > 1 ? `the keys and values of KV head ${whole(store.start + 1)}` : "the one store"}`,
    });
    if (!reader.gap) sheet.text(x + 20, at + DOT - 2, whole(head), { anchor: "end", look: "muted" });
    sheet.add(`<path d="M${px(x + 42)} ${px(at + DOT / 2)}C${px(x + 58)} ${px(at + DOT / 2)} ${px(x + 56)} ${px(middle)} ${px(storeX - 4)} ${px(middle)}" class="link"/>`);
  });
  const xs = along(storeX, columns, cell), from = middle - (data.names.length * STRIP) / 2;
  data.names.forEach((name, k) => columns.forEach((item, i) => sheet.cell(xs[i][0], from + k * STRIP + 2, xs[i][1], 13, {
    of: n, part: name, state: states[i], phase: data.phase, gap: item.gap, along: "x", inked: true, at: [n * 100 + k, i], row: `h${n}`,
    says: () => `${data.count > 1 ? `KV head ${whole(store.start + 1)}, ` : ""}${storeSays(sheet, { ...data, writes: true }, { name }, item, states[i])}`,
  })));
  sheet.band(`h${n}`, x + 24, Math.min(from, startY) - 2, storeX - x - 24 + extent(columns, cell), Math.max(data.names.length * STRIP, extentOf(readers)) + 2);
  data.names.forEach((name, k) => sheet.text(storeX + extent(columns, cell) + 6, from + k * STRIP + 13, name[0].toUpperCase(), { look: "muted" }));
}

export default function ({ data, parentElement }) {
  const picture = mount(parentElement, (root) => new Picture(root, "heads"));
  drawn(parentElement, picture, data, (said) => {
    picture.set((width) => drawHeads(said, width));
    picture.paint();
  });
  return () => gone(parentElement, picture);
}
