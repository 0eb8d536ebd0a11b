// What ranks did when.
import { axis, Chart, color, wholeSteps } from "./chart.js";
import { details, element, note, say, section, table } from "./elements.js";
import { count, plural, purposeOf, seconds } from "./numbers.js";
import { purposes } from "./palette.js";

/// Blocks as objects, times in seconds.
const unpack = (data) => data.ranks.map((row) => {
  const blocks = [];
  let end = 0;
  for (let i = 0; i < row.blocks.length; i += 4) {
    const [gap, length, name, calls] = row.blocks.slice(i, i + 4);
    const begin = end + gap;
    end = begin + length;
    blocks.push({ begin: begin / 1e6, end: end / 1e6, name: data.functions[name], calls });
  }
  return { ...row, blocks };
});

const textOf = (row, block) => {
  const others = block.calls > 1 ? `${plural(block.calls, "call")}, most of the time in ${block.name}` : block.name;
  return `Rank ${row.rank}: ${others}, from ${seconds(block.begin)} for ${seconds(block.end - block.begin)}.`;
};

class View {
  constructor(rows, ranks) {
    this.rows = rows;
    this.chosen = [0, 0];
    this.end = Math.max(...rows.map((row) => row.begin + row.wall), 1e-6);
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    this.holder = element("div");
    const tools = element("div", { class: "controls" });
    section("timeline", "Timeline", tools, this.legend(), this.holder, this.readout, note(this.explanation(ranks)),
      details("Calls of a rank as a table", () => this.asTable()));
    this.chart = this.makeChart();
    tools.append(this.chart.buttons());
    this.read(null);
  }

  legend() {
    return element("ul", { class: "legend" }, ...Object.entries(purposes).map(([purpose, text]) => {
      const chip = element("i");
      chip.style.background = `var(--${purpose})`;
      return element("li", {}, chip, text);
    }));
  }

  explanation(ranks) {
    const lines = ["Times are since the first rank began to record; between hosts they are right to about what a broadcast takes. Calls that follow each other closely are drawn as one block."];
    if (this.rows.length < ranks) lines.push(`Of ${count(ranks)} ranks ${this.rows.length} are shown.`);
    const lost = this.rows.reduce((sum, row) => sum + row.without_room, 0);
    if (lost > 0) lines.push(`${count(lost)} calls of these ranks had no room in the trace: it holds the first and the last of each.`);
    lines.push("Drag to zoom in, double-click for the whole; arrow keys go from block to block.");
    return lines.join(" ");
  }

  makeChart() {
    const rank = (place) => this.rows[place]?.rank ?? "";
    return new Chart(this.holder, {
      label: "Timeline of the ranks: the left and right arrow keys go from block to block, up and down from rank to rank, plus and minus zoom, 0 shows all.",
      whole: { x: [0, this.end], y: [-0.5, this.rows.length - 0.5] }, zooms: "x", smallest: { x: 1e-6 },
      height: () => Math.min(Math.max(18 * this.rows.length, 120), 560) + 60,
      axes: [
        axis({ side: 2, label: "seconds", size: 32, space: 70 }),
        axis({ side: 3, label: "rank", size: 46, space: 16, incrs: wholeSteps, grid: { show: false },
          values: (u, splits) => splits.map((place) => String(rank(place))) }),
      ],
      draw: (u) => this.draw(u),
      hover: (x, y) => this.read(x === null ? null : [x, y]),
      click: (x, y) => {
        const found = this.find(x, y);
        if (found) this.choose(...found);
      },
      key: (name) => this.key(name),
      at: () => [this.block() ? (this.block().begin + this.block().end) / 2 : undefined, undefined],
    });
  }

  block() { return this.rows[this.chosen[0]].blocks[this.chosen[1]]; }

  /// The block under the pointer, or within some pixels beside it.
  find(x, y) {
    const place = Math.min(Math.max(Math.round(y), 0), this.rows.length - 1);
    const near = Math.abs(this.chart.plot.posToVal(4, "x") - this.chart.plot.posToVal(0, "x"));
    let found = -1;
    let best = near;
    this.rows[place].blocks.forEach(({ begin, end }, i) => {
      const off = Math.max(begin - x, x - end, 0);
      if (off < best || (off === 0 && found < 0)) [found, best] = [i, off];
    });
    return found < 0 ? null : [place, found];
  }

  choose(row, block) {
    this.chosen = [row, block];
    this.read(null);
    const chosen = this.block();
    if (chosen) this.chart.reach((chosen.begin + chosen.end) / 2, row);
    else this.chart.redraw();
  }

  key(name) {
    const [row, block] = this.chosen;
    const { blocks } = this.rows[row];
    if (name === "ArrowLeft") this.choose(row, Math.max(block - 1, 0));
    else if (name === "ArrowRight") this.choose(row, Math.max(Math.min(block + 1, blocks.length - 1), 0));
    else if (name === "ArrowUp" || name === "ArrowDown") {
      const next = Math.min(Math.max(row + (name === "ArrowUp" ? -1 : 1), 0), this.rows.length - 1);
      const time = blocks[block]?.begin ?? 0;
      const found = this.rows[next].blocks.findIndex(({ end }) => end >= time);
      this.choose(next, found < 0 ? Math.max(this.rows[next].blocks.length - 1, 0) : found);
    } else return false;
    return true;
  }

  read(at) {
    const [row, block] = (at ? this.find(...at) : this.chosen) ?? [];
    if (row === undefined) {
      const place = Math.min(Math.max(Math.round(at[1]), 0), this.rows.length - 1);
      say(this.readout, `Rank ${this.rows[place].rank} at ${seconds(Math.max(at[0], 0))}: in none of the recorded calls.`);
    } else if (!this.rows[row].blocks[block]) {
      say(this.readout, `Rank ${this.rows[row].rank}: no calls were recorded.`);
    } else {
      say(this.readout, textOf(this.rows[row], this.rows[row].blocks[block]));
    }
  }

  draw(u) {
    const colors = Object.fromEntries(Object.keys(purposes).map((purpose) => [purpose, color(purpose)]));
    const [left, right] = [u.bbox.left, u.bbox.left + u.bbox.width];
    this.rows.forEach((row, place) => {
      const [y0, y1] = [-0.4, 0.4].map((off) => u.valToPos(place + off, "y", true));
      u.ctx.fillStyle = color("panel");
      const [x0, x1] = [row.begin, row.begin + row.wall].map((time) => Math.min(Math.max(u.valToPos(time, "x", true), left), right));
      u.ctx.fillRect(x0, y0, x1 - x0, y1 - y0);
      row.blocks.forEach((block, i) => {
        const [x0, x1] = [block.begin, block.end].map((time) => u.valToPos(time, "x", true));
        if (x1 < left || x0 > right) return;
        u.ctx.fillStyle = colors[purposeOf(block.name)];
        u.ctx.fillRect(x0, y0, Math.max(x1 - x0, 1), y1 - y0);
        if (place !== this.chosen[0] || i !== this.chosen[1]) return;
        u.ctx.strokeStyle = color("cursor");
        u.ctx.lineWidth = 2;
        u.ctx.strokeRect(x0 - 1, y0 - 1, Math.max(x1 - x0, 2) + 2, y1 - y0 + 2);
      });
    });
  }

  asTable() {
    const [least, most] = [this.rows[0].rank, this.rows[this.rows.length - 1].rank];
    const input = element("input", { type: "number", min: least, max: most, value: least });
    const holder = element("div");
    const fill = () => {
      const row = this.rows.find(({ rank }) => rank === Number(input.value));
      const rows = row?.blocks.slice(0, 1000) ?? [];
      holder.replaceChildren(row
        ? table(`Rank ${row.rank}${row.blocks.length > rows.length ? ", the first 1000 blocks" : ""}`, [
          { name: "Most of the time in", of: (block) => block.name },
          { name: "Calls", number: true, of: (block) => count(block.calls) },
          { name: "Begin (s)", number: true, of: (block) => block.begin.toFixed(6) },
          { name: "Seconds", number: true, of: (block) => (block.end - block.begin).toFixed(6) },
        ], rows)
        : note(`Rank ${input.value} is not among those shown.`));
    };
    input.addEventListener("input", fill);
    fill();
    return element("div", {}, element("label", { class: "controls" }, "Rank", input), holder);
  }
}

export const showTimeline = (data) => {
  const rows = unpack(data.timeline);
  if (rows.some((row) => row.blocks.length > 0)) return new View(rows, data.report.ranks);
  return section("timeline", "Timeline", note("No calls with their times were recorded."));
};
