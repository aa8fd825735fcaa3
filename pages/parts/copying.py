"""What a button does in the browser that copies a text: JavaScript for the components that have one."""

COPY = """
const copy = async (text, button, label) => {
  const refused = new Promise((_, reject) => { setTimeout(reject, 1000); });    // the browser asks, nobody answers
  try { await Promise.race([navigator.clipboard.writeText(text), refused]); } catch {
    const area = document.createElement("textarea");               // a page without https has no clipboard of its own
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const said = button.querySelector("span");
  said.textContent = "Copied";
  clearTimeout(Number(button.dataset.copied));
  const back = () => { delete button.dataset.copied; said.textContent = label; };
  button.dataset.copied = setTimeout(back, 4000);
};
"""
"""``copy(text, button, label)`` copies, and says so in the button's span for four seconds; then the label is back."""
