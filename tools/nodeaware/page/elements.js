// Parts of the page. Texts go in as texts, never as HTML: they come from the trace.

/// element("a", { href: "#x" }, "text", child, ...)
export const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

/// A section with its heading, put at the end of the page.
export const section = (id, heading, ...children) => {
  const made = element("section", { id, "aria-labelledby": `${id}-heading` },
    element("h2", { id: `${id}-heading` }, heading), ...children);
  document.getElementById("sections").append(made);
  return made;
};

/// In a region that screen readers read out whenever it is written to.
export const say = (region, text) => { if (region.textContent !== text) region.textContent = text; };

export const note = (text) => element("p", { class: "note" }, text);

/// A table. Columns: { name, of: row -> text, number: is one, bar: row -> part of 1 }; the first is
/// the heading of its row. `best`: row -> whether it stands out.
export const table = (caption, columns, rows, best = () => false) => {
  const cell = (column, row, first) => {
    if (column.bar) {
      const bar = element("span");
      bar.style.width = `${100 * column.bar(row)}%`;
      return element("td", { class: "bar" }, bar);
    }
    return element(first ? "th" : "td", { scope: first && "row", class: column.number && "number" }, column.of(row));
  };
  const head = columns.map((column) => column.bar
    ? element("td")
    : element("th", { scope: "col", class: column.number && "number" }, column.name));
  const body = rows.map((row) => element("tr", { class: best(row) && "best" },
    ...columns.map((column, i) => cell(column, row, i === 0))));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...body)));
};

/// A table of which the first rows are shown, and all on demand.
export const longTable = (caption, columns, rows, leftOut, first = 12) => {
  const holder = element("div", {}, table(caption, columns, rows.slice(0, first)));
  if (rows.length > first) {
    const button = element("button", { type: "button" }, `Show all ${rows.length}`);
    button.addEventListener("click", () => {
      const whole = table(caption, columns, rows);
      holder.replaceChildren(whole, ...(leftOut ? [note(`${leftOut} more: nodeaware analyze --json`)] : []));
      whole.focus();
    });
    holder.append(button);
  }
  return holder;
};

/// What is only made when it is opened.
export const details = (summary, make) => {
  const made = element("details", {}, element("summary", {}, summary));
  made.addEventListener("toggle", () => {
    if (made.open && made.childElementCount === 1) made.append(make());
  });
  return made;
};

/// One of several: { value: text }. Calls change(value).
export const choice = (name, heading, options, chosen, change) =>
  element("fieldset", {}, element("legend", {}, heading),
    ...Object.entries(options).map(([value, text]) => {
      const input = element("input", { type: "radio", name, value, checked: value === chosen });
      input.addEventListener("change", () => change(value));
      return element("label", { class: "choice" }, input, element("span", {}, text));
    }));

export const button = (text, label, act) => {
  const made = element("button", { type: "button", "aria-label": label }, text);
  made.addEventListener("click", act);
  return made;
};

/// Terms and what is said of them, without those of which nothing is.
export const pairs = (entries) =>
  element("dl", { class: "pair" }, ...entries.filter(([, text]) => text !== "" && text !== undefined)
    .flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]));
