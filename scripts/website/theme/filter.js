// A filter above each table of the class "filterable": words, and a choice for every column with few different values.
// Without JavaScript the table is whole and there is no filter.
document.querySelectorAll("table.filterable").forEach((table, number) => {
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, text: row.textContent.toLowerCase(), cells: [...row.cells].map((c) => c.textContent) }));
  const form = document.createElement("form");
  form.className = "filter";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", table.caption.textContent);
  const add = (label, control) => {
    const box = document.createElement("label");
    box.append(label, control);
    form.append(box);
    return control;
  };
  const words = add("Filter", Object.assign(document.createElement("input"), { type: "search", placeholder: "gfx1100 bitsandbytes" }));
  const choices = [...table.tHead.rows[0].cells].flatMap((head, column) => {
    const values = [...new Set(rows.map((r) => r.cells[column]))].sort();
    if (values.length < 2 || values.length > 8 || values.some((v) => v.length > 24)) return [];
    const select = add(head.textContent, document.createElement("select"));
    ["", ...values].forEach((value) => select.append(new Option(value || "any", value)));
    return [{ column, select }];
  });
  const count = document.createElement("output");
  form.append(count);
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { row, text, cells } of rows) {
      row.hidden = !(wanted.every((w) => text.includes(w)) && choices.every((c) => !c.select.value || cells[c.column] === c.select.value));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length}`;
    if (number === 0) history.replaceState(null, "", words.value ? `?q=${encodeURIComponent(words.value)}${location.hash}` : location.pathname + location.hash);
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (number === 0) words.value = new URLSearchParams(location.search).get("q") || "";
  table.before(form);
  apply();
});
