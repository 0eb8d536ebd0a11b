// A chart of uPlot's that fits its place, follows light and dark, and is zoomed by keys, buttons and
// dragging alike.
import uPlot from "uplot";
import { button, element } from "./elements.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const charts = new Set();

export const isDark = () => dark.matches;
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

dark.addEventListener("change", () => charts.forEach((chart) => {
  chart.options.recolored?.();
  chart.redraw();
}));

const grid = () => ({ stroke: () => color("line"), width: 1 });
export const axis = (more) => ({
  stroke: () => color("soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
  labelSize: 18, grid: grid(), ticks: { ...grid(), size: 4 }, ...more,
});

/// Whole numbers, from 1 on.
export const wholeSteps = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 2000, 5000, 1e4, 1e5];

/// Options: { label, whole: { x: [from, to], y }, zooms: "xy" or "x", height: width -> px, axes, draw(u),
/// hover(x, y) (null: nowhere), click(x, y), recolored(), key(name) -> whether it is one, smallest: { x, y } }
export class Chart {
  constructor(holder, options) {
    this.options = options;
    this.place = element("div", { class: "chart", tabindex: 0, role: "application", "aria-label": options.label });
    holder.append(this.place);
    charts.add(this);
    this.make();
    this.place.addEventListener("keydown", (event) => this.key(event));
    let width = this.place.clientWidth;
    new ResizeObserver(() => {
      if (this.place.clientWidth === width || this.place.clientWidth === 0) return;
      width = this.place.clientWidth;
      this.plot.setSize(this.size());
    }).observe(this.place);
  }

  size() {
    const width = Math.max(this.place.clientWidth, 160);
    return { width, height: this.options.height(width) };
  }

  make() {
    const { whole, axes, draw } = this.options;
    this.plot?.destroy();
    this.plot = new uPlot({
      ...this.size(), axes, legend: { show: false }, padding: [8, 12, 0, 0],
      scales: {
        x: { time: false, auto: false, range: () => this.range("x") },
        y: { auto: false, dir: this.options.down === false ? 1 : -1, range: () => this.range("y") },
      },
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      cursor: {
        points: { show: false },
        drag: { setScale: false, x: this.options.zooms !== "", y: this.options.zooms === "xy", dist: 6 },
        bind: { dblclick: () => () => this.show(whole.x, whole.y) },
      },
      hooks: {
        draw: [(u) => this.clipped(u, draw)],
        setCursor: [(u) => this.hover(u)],
        setSelect: [(u) => this.select(u)],
      },
    }, [whole.x, whole.y], this.place);
    this.plot.over.addEventListener("click", () => {
      const { left, top } = this.plot.cursor;
      if (left >= 0) this.options.click?.(this.plot.posToVal(left, "x"), this.plot.posToVal(top, "y"));
    });
  }

  range(key) { return (this.view ?? this.options.whole)[key]; }

  clipped(u, draw) {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    draw(u);
    u.ctx.restore();
  }

  hover(u) {
    const { left, top } = u.cursor;
    if (!(left >= 0)) return this.options.hover?.(null);
    this.options.hover?.(u.posToVal(left, "x"), u.posToVal(top, "y"));
  }

  select(u) {
    const { left, top, width, height } = u.select;
    if (width < 4) return;
    const y = this.options.zooms === "xy" ? [u.posToVal(top, "y"), u.posToVal(top + height, "y")] : this.range("y");
    this.show([u.posToVal(left, "x"), u.posToVal(left + width, "x")], y);
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /// Shows this part, as far as there is something.
  show(x, y) {
    const { whole, smallest } = this.options;
    const fit = (range, key) => {
      const [low, high] = whole[key];
      const size = Math.min(Math.max(range[1] - range[0], smallest?.[key] ?? 0), high - low);
      const from = Math.min(Math.max(range[0], low), high - size);
      return [from, from + size];
    };
    this.view = { x: fit(x, "x"), y: fit(y, "y") };
    this.redraw();
  }

  /// Around a point; without one, around the middle.
  zoom(factor, [x, y] = []) {
    const around = (key, middle) => {
      const [low, high] = this.range(key);
      const half = factor * (high - low) / 2;
      middle ??= (low + high) / 2;
      return [middle - half, middle + half];
    };
    this.show(around("x", x), this.options.zooms === "xy" ? around("y", y) : this.range("y"));
  }

  redraw() {
    this.plot.batch(() => {
      for (const key of ["x", "y"]) {
        const [min, max] = this.range(key);
        this.plot.setScale(key, { min, max });
      }
      this.plot.redraw(false, true);
    });
  }

  /// Brings a point into view.
  reach(x, y) {
    const moved = (key, value) => {
      const [low, high] = this.range(key);
      if (value >= low && value <= high) return [low, high];
      return [value - (high - low) / 2, value + (high - low) / 2];
    };
    this.show(moved("x", x), moved("y", y));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.place) return;
    const { whole, at } = this.options;
    const zooms = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (zooms && this.options.zooms) this.zoom(zooms, at?.());
    else if (event.key === "0" || event.key === "Escape") this.show(whole.x, whole.y);
    else if (!this.options.key?.(event.key)) return;
    event.preventDefault();
  }

  buttons() {
    const { whole, at } = this.options;
    return element("div", {}, button("+", "Zoom in", () => this.zoom(0.5, at?.())), " ",
      button("−", "Zoom out", () => this.zoom(2, at?.())), " ",
      button("Whole", "Show the whole chart", () => this.show(whole.x, whole.y)));
  }

  remove() {
    charts.delete(this);
    this.plot.destroy();
    this.place.remove();
  }
}
