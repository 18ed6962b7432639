// The flame graph of the page: a click enlarges a box over the whole width, the button shows all again.

export function enableFlame(): void {
  const graph = document.querySelector<SVGSVGElement>("svg.flame");
  if (!graph) return;
  const boxes = [...graph.querySelectorAll<SVGSVGElement>("svg")].map((box) => {
    const percent = (name: string) => parseFloat(box.getAttribute(name) ?? "0");
    return { box, left: percent("x"), width: percent("width") };
  });
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Show all";
  button.disabled = true;
  graph.before(button);

  const show = (from: number, width: number): void => {
    for (const each of boxes) {
      const left = Math.max(0, ((each.left - from) / width) * 100);
      const right = Math.min(100, ((each.left + each.width - from) / width) * 100);
      each.box.setAttribute("x", `${left}%`);
      each.box.setAttribute("width", `${Math.max(0, right - left)}%`);
      each.box.classList.toggle("gone", right - left < 0.01);
    }
    button.disabled = width >= 100;
  };
  graph.addEventListener("click", (event) => {
    const box = (event.target as Element).closest("svg.flame > svg");
    const found = boxes.find((each) => each.box === box);
    if (found) show(found.left, found.width);
  });
  button.addEventListener("click", () => show(0, 100));
}

// Boxes whose text does not contain the query are faint.
export function filterFlame(query: string): void {
  for (const box of document.querySelectorAll<SVGSVGElement>("svg.flame > svg"))
    box.classList.toggle("faint", query !== "" && !(box.textContent ?? "").toLowerCase().includes(query));
}
