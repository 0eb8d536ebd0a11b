// Who sends how much to whom, between ranks or between nodes.
import { axis, Chart, color, wholeSteps } from "./chart.js";
import { button, choice, details, element, note, say, section, table } from "./elements.js";
import { bytes, count, plural } from "./numbers.js";
import { gradient, palette, stepOf } from "./palette.js";

/// What the command has written: rows of first receiver, how many, messages, bytes, and so on.
class Traffic {
  constructor(data, kind, places) {
    Object.assign(this, data, { kind, hosts: {} });
    for (const [node, host, first, last] of places) {
      if (kind === "nodes") this.hosts[node] ??= host;
      else for (let rank = first; rank <= last; ++rank) this.hosts[rank] = host;
    }
    this.size = this.rows.length;
    this.bounds = kind === "ranks" ? bounds(places) : [];
  }
  extremes(value) {
    let [least, most] = [Infinity, 0];
    for (const row of this.rows) {
      for (let i = 0; i < row.length; i += 4) {
        least = Math.min(least, row[i + value] || 1);
        most = Math.max(most, row[i + value]);
      }
    }
    return [least, most];
  }
  cell(from, to) {
    const row = this.rows[from] ?? [];
    for (let i = 0; i < row.length; i += 4) {
      if (to >= row[i] && to < row[i] + row[i + 1]) return { from, to, messages: row[i + 2], bytes: row[i + 3] };
    }
    return { from, to, messages: 0, bytes: 0 };
  }
  cells(from) {
    const list = [];
    const row = this.rows[from] ?? [];
    for (let i = 0; i < row.length; i += 4) {
      for (let j = 0; j < row[i + 1]; ++j) list.push({ from, to: row[i] + j, messages: row[i + 2], bytes: row[i + 3] });
    }
    return list;
  }
  largest(value, most) {
    const key = value === 2 ? "messages" : "bytes";
    let list = [];
    for (let from = 0; from < this.size; ++from) {
      list.push(...this.cells(from));
      if (list.length > 16 * most + this.size || from === this.size - 1) {
        list = list.sort((a, b) => b[key] - a[key]).slice(0, most);
      }
    }
    return list;
  }
  /// The first and the last of a place.
  span(place) {
    const first = place * this.together;
    return [first, Math.min(first + this.together, this.count) - 1];
  }
  name(place, withHost = false) {
    const [first, last] = this.span(place);
    const one = this.kind === "ranks" ? "rank" : "node";
    const host = withHost && first === last && this.hosts[first];
    return (first === last ? `${one} ${first}` : `${one}s ${first} to ${last}`) + (host ? ` (${host})` : "");
  }
}

/// Ranks with which another node begins.
const bounds = (places) => {
  const list = [];
  places.forEach(([node, , first], i) => { if (i > 0 && node !== places[i - 1][0]) list.push(first); });
  return list;
};

class View {
  constructor(data) {
    this.places = data.places;
    this.maps = {};
    for (const kind of ["ranks", "nodes"]) this.maps[kind] = new Traffic(data.heat_maps[kind], kind, data.places);
    this.kind = this.maps.nodes.count > 1 && this.maps.ranks.count > 64 ? "nodes" : "ranks";
    this.value = "messages";
    this.chosen = [0, 0];
    this.make();
    this.openLinked();
    window.addEventListener("hashchange", () => this.openLinked());
  }

  get map() { return this.maps[this.kind]; }
  get column() { return this.value === "messages" ? 2 : 3; }

  make() {
    this.kinds = element("div");
    this.holder = element("div");
    this.readout = element("p", { class: "readout", "aria-live": "polite", id: "heat-map-cell" });
    this.scale = element("div", { class: "scale", "aria-hidden": "true" });
    this.beside = element("div");
    this.tools = element("div", { class: "controls" });
    section("heat-map", "Who sends to whom",
      element("div", { class: "controls" }, this.kinds,
        choice("value", "What is shown", { messages: "Messages", bytes: "Bytes" }, this.value, (value) => {
          this.value = value;
          this.refresh();
        }), this.tools),
      element("div", { class: "map" }, element("div", {}, this.holder, this.scale), this.beside));
    this.showKind(this.kind);
  }

  showKind(kind) {
    this.kind = kind;
    this.chosen = this.firstCell();
    this.kinds.replaceChildren(choice("kind", "Between", { ranks: "Ranks", nodes: "Nodes" }, kind, (next) => this.showKind(next)));
    this.chart?.remove();
    this.chart = this.makeChart();
    this.tools.replaceChildren(this.chart.buttons());
    this.refresh();
  }

  firstCell() {
    const from = this.map.rows.findIndex((row) => row.length > 0);
    return from < 0 ? [0, 0] : [from, this.map.rows[from][0]];
  }

  makeChart() {
    const { count: all, together } = this.map;
    const whole = [-0.5, all - 0.5];
    const word = this.kind === "ranks" ? "rank" : "node";
    const values = (u, splits) => splits.map((value) => (Number.isInteger(value) ? String(value) : ""));
    return new Chart(this.holder, {
      label: `Heat map of what ${word}s send to each other: arrow keys move the cell that is read out, plus and minus zoom, 0 shows all. The table below has the same numbers.`,
      whole: { x: whole, y: whole }, zooms: "xy", smallest: { x: 4 * together, y: 4 * together },
      height: (width) => Math.min(width, 640),
      axes: [
        axis({ side: 0, label: `to ${word}`, size: 32, incrs: wholeSteps, values, grid: { show: false } }),
        axis({ side: 3, label: `from ${word}`, size: all > 9999 ? 62 : 46, space: 24, incrs: wholeSteps, values, grid: { show: false } }),
      ],
      draw: (u) => this.draw(u),
      hover: (x, y) => this.read(x === null ? null : this.placeAt(x, y)),
      click: (x, y) => this.choose(...this.placeAt(x, y)),
      key: (name) => this.key(name),
      recolored: () => this.color(),
      at: () => [this.middle(this.chosen[1]), this.middle(this.chosen[0])],
    });
  }

  middle(place) { return place * this.map.together - 0.5 + this.map.together / 2; }
  placeAt(x, y) {
    const place = (value) => Math.min(Math.max(Math.floor((value + 0.5) / this.map.together), 0), this.map.size - 1);
    return [place(y), place(x)];
  }

  choose(from, to) {
    this.chosen = [from, to];
    this.read(null);
    this.chart.reach(this.middle(to), this.middle(from));
  }

  key(name) {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[name] ?? [];
    if (down === undefined) return false;
    const inside = (place) => Math.min(Math.max(place, 0), this.map.size - 1);
    this.choose(inside(this.chosen[0] + down), inside(this.chosen[1] + right));
    return true;
  }

  /// Of the cell under the pointer, or of the chosen one.
  read(place) {
    const { messages, bytes: sum, from, to } = this.map.cell(...(place ?? this.chosen));
    const what = messages === 0 ? "nothing" : `${plural(messages, "message")}, ${count(sum)} bytes` +
      (sum >= 1024 ? ` (${bytes(sum)})` : "");
    say(this.readout, `From ${this.map.name(from, true)} to ${this.map.name(to, true)}: ${what}.`);
  }

  refresh() {
    const [least, most] = this.map.extremes(this.column);
    this.least = least;
    this.most = most;
    const text = (value) => (this.value === "bytes" ? bytes(value) : count(value));
    this.strip = element("i");
    this.scale.replaceChildren(element("span", {}, most ? text(least) : ""), this.strip, element("span", {}, most ? text(most) : ""));
    this.color();
    this.read(null);
    this.beside.replaceChildren(this.readout, ...this.explanation(), this.largest(), this.asTable());
    this.chart.redraw();
  }

  color() { this.strip.style.background = gradient(); }

  explanation() {
    const { together, count: all, kind } = this.map;
    const lines = ["Point at a cell, tap it, or move with the arrow keys; drag to zoom in, double-click for the whole."];
    if (kind === "ranks" && this.map.bounds.length > 0) lines.push("Lines divide nodes.");
    if (together > 1) lines.push(`There are ${count(all)} ${kind}: ${together} that follow each other share a place.`);
    return [note(lines.join(" "))];
  }

  columns() {
    return [
      { name: "From", of: (cell) => this.map.name(cell.from) }, { name: "To", of: (cell) => this.map.name(cell.to) },
      { name: "Messages", number: true, of: (cell) => count(cell.messages) },
      { name: "Bytes", number: true, of: (cell) => count(cell.bytes) },
    ];
  }

  largest() {
    return table(`Most ${this.value}`, this.columns(), this.map.largest(this.column, 5));
  }

  asTable() {
    const word = this.kind === "ranks" ? "rank" : "node";
    return details("All numbers as a table", () => {
      const input = element("input", { type: "number", min: 0, max: this.map.count - 1, value: this.map.span(this.chosen[0])[0] });
      const holder = element("div");
      const fill = () => {
        const from = Math.floor(Number(input.value) / this.map.together);
        const cells = this.map.cells(from);
        holder.replaceChildren(cells.length > 0
          ? table(`What ${this.map.name(from)} sends`, this.columns(), cells)
          : note(`From ${word} ${input.value} nothing was recorded.`));
      };
      input.addEventListener("input", fill);
      fill();
      return element("div", {}, element("label", { class: "controls" }, `From ${word}`, input,
        button("Most of all", "Most of all, from any", () => holder.replaceChildren(
          table(`Most ${this.value}, the first 200`, this.columns(), this.map.largest(this.column, 200))))), holder);
    });
  }

  draw(u) {
    const { ctx } = u;
    const { rows, together, size } = this.map;
    const colors = palette();
    const edge = (place, key) => u.valToPos(place * together - 0.5, key, true);
    const pixels = Math.abs(edge(1, "x") - edge(0, "x"));
    const gap = pixels > 7 * ratio() ? ratio() : 0;
    const [left, right] = [u.posToVal(0, "x"), u.posToVal(u.over.clientWidth, "x")];
    const [top, bottom] = [u.posToVal(0, "y"), u.posToVal(u.over.clientHeight, "y")].map((y) => (y + 0.5) / together);
    for (let from = Math.max(Math.floor(top), 0); from < Math.min(bottom, size); ++from) {
      const [y0, y1] = [edge(from, "y"), edge(from + 1, "y")];
      const row = rows[from];
      for (let i = 0; i < row.length; i += 4) {
        if ((row[i] + row[i + 1]) * together < left || row[i] * together - 1 > right) continue;
        ctx.fillStyle = colors[stepOf(row[i + this.column] || 1, this.least, this.most)];
        const many = gap > 0 ? row[i + 1] : 1;
        const width = row[i + 1] / many;
        for (let j = 0; j < many; ++j) {
          const x0 = edge(row[i] + j * width, "x");
          // Never nothing, however small.
          ctx.fillRect(x0, y0, Math.max(edge(row[i] + (j + 1) * width, "x") - x0 - gap, 1), Math.max(y1 - y0 - gap, 1));
        }
      }
    }
    this.drawBounds(u, pixels / together);
    this.drawChosen(u, edge);
  }

  drawBounds(u, pixelsOfRank) {
    const { bounds: list, count: all } = this.map;
    const apart = pixelsOfRank * all / (list.length + 1);
    if (apart < 16 * ratio()) return;
    const wide = (apart < 48 * ratio() ? 1 : 2) * ratio();
    u.ctx.fillStyle = color("text");
    for (const first of list) {
      u.ctx.fillRect(u.valToPos(first - 0.5, "x", true) - wide / 2, u.bbox.top, wide, u.bbox.height);
      u.ctx.fillRect(u.bbox.left, u.valToPos(first - 0.5, "y", true) - wide / 2, u.bbox.width, wide);
    }
  }

  drawChosen(u, edge) {
    const [from, to] = this.chosen;
    const [x, y] = [edge(to, "x"), edge(from, "y")];
    const [width, height] = [edge(to + 1, "x") - x, edge(from + 1, "y") - y];
    const frame = (line, name, inset) => {
      u.ctx.lineWidth = line * ratio();
      u.ctx.strokeStyle = color(name);
      u.ctx.strokeRect(x + inset, y + inset, Math.max(width, 6) - 2 * inset, Math.max(height, 6) - 2 * inset);
    };
    // Seen on any color.
    frame(5, "back", 1);
    frame(3, "cursor", 1);
  }

  /// #cell=ranks,FROM,TO leads to a cell.
  openLinked() {
    const found = /^#cell=(ranks|nodes),(\d+),(\d+)$/.exec(window.location.hash);
    if (!found) return;
    this.showKind(found[1]);
    const place = (text) => Math.min(Math.floor(Number(text) / this.map.together), this.map.size - 1);
    this.choose(place(found[2]), place(found[3]));
    document.getElementById("heat-map").scrollIntoView();
  }
}

const ratio = () => window.devicePixelRatio || 1;

export const showHeatMaps = (data) => {
  if (data.heat_maps.ranks.rows.some((row) => row.length > 0)) return new View(data);
  return section("heat-map", "Who sends to whom", note("No messages were recorded."));
};
