// Tables of the page: sorted by a click or Enter on a column's head, filtered by the search.

import { sortKey } from "./format";

export function enableSorting(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table.sortable")) {
    const heads = [...table.tHead!.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => sort(table, heads, column));
    });
  }
}

function sort(table: HTMLTableElement, heads: HTMLTableCellElement[], column: number): void {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const up = heads[column].getAttribute("aria-sort") === "descending";
  const key = (row: HTMLTableRowElement) => row.cells[column]?.textContent ?? "";
  const numbers = rows.every((row) => !Number.isNaN(sortKey(key(row))));
  rows.sort((a, b) => (numbers ? sortKey(key(a)) - sortKey(key(b)) : key(a).localeCompare(key(b))) * (up ? 1 : -1));
  body.append(...rows);
  heads.forEach((head, i) => {
    if (i === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  });
}

export function filterTables(query: string): void {
  const wanted = query.toLowerCase();
  for (const row of document.querySelectorAll<HTMLTableRowElement>("table.sortable tbody tr"))
    row.hidden = wanted !== "" && !(row.textContent ?? "").toLowerCase().includes(wanted);
}
