// From little to much, readable on either background (the stops of viridis).
import { isDark } from "./chart.js";

const stops = ["#fde725", "#90d743", "#35b779", "#21918c", "#31688e", "#443983", "#440154"];
const steps = 64;

const parts = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));

const between = (list, part) => {
  const at = Math.min(part * (list.length - 1), list.length - 1.000001);
  const [low, high] = [parts(list[Math.floor(at)]), parts(list[Math.floor(at) + 1])];
  return `rgb(${low.map((value, i) => Math.round(value + (at % 1) * (high[i] - value))).join(",")})`;
};

/// Of 64 steps, each a color.
export const palette = () => {
  const list = isDark() ? [...stops.slice(0, 6)].reverse() : stops;
  return Array.from({ length: steps }, (_, i) => between(list, i / (steps - 1)));
};

/// The step of a value: logarithmic, for messages and bytes differ by orders.
export const stepOf = (value, least, most) =>
  most === least ? steps / 2 : Math.round((steps - 1) * Math.log(value / least) / Math.log(most / least));

export const gradient = () => `linear-gradient(to right, ${palette().filter((_, i) => i % 7 === 0).join(",")})`;

export const purposes = {
  exchange: "all-to-all and neighbourhood collectives",
  message: "messages from point to point, and waiting",
  other: "other collectives",
  file: "functions on files",
};
