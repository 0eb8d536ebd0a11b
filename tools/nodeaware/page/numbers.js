// Numbers and names as they are shown.

const grouped = new Intl.NumberFormat("en-US");

export const count = (value) => grouped.format(value);

const scaled = (value, base, units) => {
  let unit = 0;
  while (value >= base && unit + 1 < units.length) {
    value /= base;
    ++unit;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return [Number(value.toFixed(digits)).toString(), units[unit]];
};

export const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]).join(" ");

export const short = (value) => scaled(value, 1000, ["", "k", "M", "G", "T", "P"]).join("");

export const seconds = (value) => {
  if (value === 0) return "0 s";
  if (value < 1e-3) return `${Number((value * 1e6).toPrecision(3))} µs`;
  if (value < 1) return `${Number((value * 1e3).toPrecision(3))} ms`;
  return `${Number(value.toPrecision(value < 1000 ? 3 : 4))} s`;
};

export const percent = (part) => `${Number((100 * part).toPrecision(2))} %`;

/// How many times as fast.
export const factor = (value) => (value >= 10 ? value.toFixed(1) : value.toFixed(2));

export const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

/// What a function is for, as the command tells them apart.
export const purposeOf = (name) => [
  [/^MPI_File_/, "file"], [/lltoall|eighbor|of exchanges/, "exchange"],
  [/send|Send|ecv|robe|Wait|Test|Start|Request|Cancel/, "message"], [/^/, "other"],
].find(([names]) => names.test(name))[1];
