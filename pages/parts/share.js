// Pictures of the page as files. A chart of Vega's writes itself as SVG; a picture of cells is drawn anew at the width
// of a page. A PNG is that SVG, painted at twice its size with the page's own fonts.

const WIDTH = 1180;       // px of a picture of cells
const EDGE = 16;          // px of paper around a picture

// ---- finding a picture on the page -----------------------------------------------------------------------------------

async function vegaSvg(chart) {
  const view = viewOf(chart);
  return view ? view.toSVG() : new XMLSerializer().serializeToString(chart.querySelector("svg.marks"));
}

const inside = (place) => [...place.querySelectorAll("*")].filter((element) => element.shadowRoot)
  .flatMap((element) => [...element.shadowRoot.querySelectorAll("*")]);

async function svgOf({ key, part }) {
  const place = document.querySelector(`.st-key-${CSS.escape(key)}`);
  const chart = place?.querySelector("[data-testid=stVegaLiteChart]");
  if (chart) return vegaSvg(chart);
  const drawn = place && inside(place).find((element) => element.drawAlone && (!part || element.dataset.part === part));
  return drawn ? drawn.drawAlone(WIDTH) : null;
}

// ---- making a file of it -----------------------------------------------------------------------------------------------

const app = () => document.querySelector("[data-testid=stApp]");

// A picture on paper of the theme that is on, with its title and its words for a reader who cannot see it.
function standing(text, { title, fonts = "" }) {
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const [x, y, width, height] = (svg.getAttribute("viewBox") ?? `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`).split(/[ ,]+/).map(Number);
  const box = [x - EDGE, y - EDGE, width + 2 * EDGE, height + 2 * EDGE], style = getComputedStyle(app());
  const make = (name, attributes, content = "") => {
    const element = Object.assign(document.createElementNS(svg.namespaceURI, name), { textContent: content });
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    return element;
  };
  const paper = make("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: style.backgroundColor });
  svg.setAttribute("viewBox", box.join(" "));
  svg.setAttribute("width", box[2]);
  svg.setAttribute("height", box[3]);
  for (const label of svg.querySelectorAll("text[stroke]")) label.setAttribute("paint-order", "stroke");   // its halo
  if (!svg.getAttribute("style")?.includes("font-family")) svg.setAttribute("font-family", style.fontFamily.replaceAll('"', "'"));
  svg.prepend(make("title", {}, title), ...(fonts ? [make("style", {}, fonts)] : []), paper);
  return { text: new XMLSerializer().serializeToString(svg), width: box[2], height: box[3] };
}

// The page's own fonts, carried along: an image may not fetch any.
async function fontFaces() {
  const rules = [...document.styleSheets].flatMap((sheet) => { try { return [...sheet.cssRules]; } catch { return []; } });
  const wanted = rules.filter((rule) => rule instanceof CSSFontFaceRule && /Source (Sans|Serif)/.test(rule.style.fontFamily) && rule.style.fontStyle !== "italic");
  const inlined = wanted.map(async (rule) => {
    const url = /url\("?([^")]+)"?\)/.exec(rule.style.getPropertyValue("src"))?.[1];
    const blob = await (await fetch(new URL(url, rule.parentStyleSheet.href ?? document.baseURI))).blob();
    const data = await new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result); reader.readAsDataURL(blob); });
    return `@font-face{font-family:${rule.style.fontFamily};font-weight:${rule.style.fontWeight || "400"};src:url(${data})}`;
  });
  return (await Promise.allSettled(inlined)).map(({ value }) => value ?? "").join("");
}

async function painted({ text, width, height }) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function save(picture, kind) {
  const text = await svgOf(picture);
  if (!text) throw new Error("not drawn");
  const { title, file } = picture;
  if (kind === "svg") download(new Blob([standing(text, { title }).text], { type: "image/svg+xml" }), `${file}.svg`);
  else download(await painted(standing(text, { title, fonts: await fontFaces() })), `${file}.png`);
}

// ---- the list ------------------------------------------------------------------------------------------------------------

function row(picture, said) {
  const line = document.createElement("li"), name = line.appendChild(document.createElement("span"));
  name.textContent = picture.title;
  for (const kind of ["svg", "png"]) {
    const button = line.appendChild(Object.assign(document.createElement("button"), { type: "button", textContent: kind.toUpperCase() }));
    button.setAttribute("aria-label", `${picture.title}, ${kind.toUpperCase()}`);
    button.onclick = async () => {
      said.textContent = "";
      try { await save(picture, kind); } catch { said.textContent = `“${picture.title}” is not on the page at this moment: scroll to it, then try again.`; }
    };
  }
  return line;
}

export default function ({ data, parentElement }) {
  const said = parentElement.querySelector("[role=status]");
  parentElement.querySelector("ul").replaceChildren(...data.pictures.map((picture) => row(picture, said)));
}
