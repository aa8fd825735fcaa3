// Two panels side by side, one below the other where the page is narrow.

const BESIDE = 700;   // px of page from which two panels stand side by side
const BETWEEN = 46;

function drawSteps(data, width) {
  const sheet = new Sheet(width, data.words);
  const beside = width >= BESIDE, each = beside ? (width - BETWEEN) / 2 : width;
  let y = 0, height = 0;
  data.panels.forEach((one, n) => {
    const x = beside ? n * (each + BETWEEN) : 0, columns = n * 1000;
    sheet.heading(x, y + 20, one.title, one.note);
    const at = (line, place) => [line, place + columns];
    const g = drawPanel(sheet, { ...one }, { x, y: y + 30, width: each }, { equal: data.equal, id: `p${n}`, at });
    height = Math.max(height, g.end);
    if (!beside) y = g.end + 22;
  });
  return { sheet, height: height + 4, alt: data.alt };
}

export default function ({ data, parentElement }) {
  const picture = mount(parentElement, (root) => new Picture(root, "prefill-and-decode"));
  drawn(parentElement, picture, data, (said) => {
    picture.set((width) => drawSteps(said, width));
    picture.paint();
  });
  return () => gone(parentElement, picture);
}
