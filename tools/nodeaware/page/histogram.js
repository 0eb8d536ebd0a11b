// Messages between nodes, by size.
import { axis, Chart, color } from "./chart.js";
import { choice, details, element, note, say, section, table } from "./elements.js";
import { bytes, count, plural, short } from "./numbers.js";

const range = (from) => from === 0 ? "empty" : (from === 1 ? "1 B" : `${bytes(from)} to less than ${bytes(2 * from)}`);

export const showSizes = (report) => {
  const { sizes } = report.between_nodes;
  if (sizes.length === 0) return;
  let value = "messages";
  let chosen = 0;
  // Empty ones are a column before that of 1 byte.
  const numberOf = (row) => (row.from === 0 ? -1 : Math.round(Math.log2(row.from)));
  const fromOf = (number) => (number < 0 ? 0 : 2 ** number);
  const [first, last] = [numberOf(sizes[0]), numberOf(sizes[sizes.length - 1])];
  const at = (number) => sizes.find((row) => numberOf(row) === number);
  const holder = element("div");
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const read = (number) => {
    const row = at(number) ?? { from: fromOf(number), messages: 0, bytes: 0 };
    say(readout, `${range(row.from)}: ${plural(row.messages, "message")}, ${count(row.bytes)} bytes.`);
  };
  let chart;
  const most = () => Math.max(...sizes.map((row) => row[value]));
  const make = () => {
    chart?.remove();
    chart = new Chart(holder, {
      label: "Histogram of the messages between nodes by size: the left and right arrow keys read out its columns. The table below has the same numbers.",
      whole: { x: [first - 0.6, last + 0.6], y: [0, 1.08 * most()] }, zooms: "", down: false, height: () => 260,
      axes: [
        axis({ label: "bytes of a message, from", incrs: [1, 2, 4, 8], space: 44, size: 32, grid: { show: false },
          values: (u, splits) => splits.map((number) => (Number.isInteger(number) && number >= first && number >= -1 ? bytes(fromOf(number)) : "")) }),
        axis({ size: 56, values: (u, splits) => splits.map((part) => (value === "bytes" ? bytes(part) : short(part))) }),
      ],
      draw: (u) => {
        for (const row of sizes) {
          const [x0, x1] = [-0.42, 0.42].map((off) => u.valToPos(numberOf(row) + off, "x", true));
          const [y0, y1] = [row[value], 0].map((height) => u.valToPos(height, "y", true));
          u.ctx.fillStyle = color(numberOf(row) === chosen ? "accent" : "bar");
          u.ctx.fillRect(x0, Math.min(y0, y1 - 1), x1 - x0, Math.max(y1 - y0, 1));
        }
      },
      hover: (x) => read(x === null ? chosen : Math.round(x)),
      click: (x) => move(Math.round(x)),
      key: (name) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[name];
        if (step) move(chosen + step);
        return Boolean(step);
      },
    });
  };
  const move = (number) => {
    chosen = Math.min(Math.max(number, first), last);
    read(chosen);
    chart.redraw();
  };
  chosen = numberOf(sizes.reduce((a, b) => (b.messages > a.messages ? b : a)));
  section("sizes", "Messages between nodes by size",
    element("div", { class: "controls" }, choice("sizes-of", "What is shown", { messages: "Messages", bytes: "Bytes" }, value, (next) => {
      value = next;
      make();
    })),
    holder, readout, note("As the program sends them, before anything is gathered."),
    details("All numbers as a table", () => table("Between nodes, by size", [
      { name: "Size", of: (row) => range(row.from) },
      { name: "Messages", number: true, of: (row) => count(row.messages) },
      { name: "Bytes", number: true, of: (row) => count(row.bytes) },
    ], sizes)));
  make();
  read(chosen);
};
