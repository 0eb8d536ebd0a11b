// Goes into the head of a copy of the page, looks at it as a reader does, and leaves what it has seen in an element.
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => errors.push(`asked for ${event.blockedURI}`));
for (const name of ["error", "warn"]) {
  const said = console[name];
  console[name] = (...words) => { errors.push(words.join(" ")); said.apply(console, words); };
}

const text = (selector) => document.querySelector(selector)?.textContent ?? null;

/// The color of a place of the heat map: [red, green, blue, how much].
const colorOf = (from, to, size) => {
  const canvas = document.querySelector("#heat-map canvas");
  const [whole, inside] = [canvas, document.querySelector("#heat-map .u-over")].map((part) => part.getBoundingClientRect());
  const scale = canvas.width / whole.width;
  const x = (inside.left - whole.left + (inside.width * (to + 0.5)) / size) * scale;
  const y = (inside.top - whole.top + (inside.height * (from + 0.5)) / size) * scale;
  return [...canvas.getContext("2d").getImageData(Math.round(x), Math.round(y), 1, 1).data];
};

/// Rows of the table with this caption.
const rowsOf = (caption) => {
  const found = [...document.querySelectorAll("table")].find((table) => table.caption.textContent === caption);
  return [...found?.tBodies[0].rows ?? []].map((row) => [...row.cells].map((cell) => cell.textContent));
};

const press = (selector, key) =>
  document.querySelector(selector).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

const look = () => {
  const seen = { hacked: typeof hacked !== "undefined", images: document.images.length, title: document.title };
  seen.cell = text("#heat-map-cell");
  const { count, together } = JSON.parse(text("#data")).heat_maps.ranks;
  const size = Math.ceil(count / together);
  seen.colors = { linked: colorOf(0, 2, size), next: colorOf(1, 2, size), empty: colorOf(0, 5, size) };
  press("#heat-map .chart", "ArrowDown");
  seen.cell_below = text("#heat-map-cell");
  seen.block = text("#timeline .readout");
  press("#timeline .chart", "ArrowRight");
  seen.next_block = text("#timeline .readout");
  document.querySelectorAll("details").forEach((part) => { part.open = true; });
  document.querySelectorAll("#sections button").forEach((button) => { if (button.textContent.startsWith("Show all")) button.click(); });
  return seen;
};

const lookAgain = (seen) => {
  seen.functions = rowsOf("By function");
  seen.sites = rowsOf("By place in the program");
  seen.collectives = rowsOf("Passed to other collectives (how it travels is MPI's affair)");
  seen.strategies = rowsOf("Collective exchanges between nodes");
  seen.sends = rowsOf("What rank 1 sends");
  seen.sizes = rowsOf("Between nodes, by size");
  seen.complaints = [...document.querySelectorAll("#complaints li")].map((part) => part.textContent);
  seen.hosts = rowsOf("Ranks of the nodes");
  seen.ways = rowsOf("By operation, strategy and reason, of all ranks");
  seen.resources = performance.getEntriesByType("resource").map(({ name }) => name);
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  seen.ids_are_unique = new Set(ids).size === ids.length;
  seen.width = innerWidth;
  seen.too_wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  seen.without_name = [...document.querySelectorAll("button, input, [tabindex='0']")].filter((part) =>
    !(part.textContent.trim() || part.getAttribute("aria-label") || part.labels?.length)).length;
  seen.background = getComputedStyle(document.body).backgroundColor;
  seen.errors = errors;
  return seen;
};

addEventListener("load", () => setTimeout(() => {
  const seen = look();
  setTimeout(() => {
    // Nothing in it that HTML would write otherwise.
    const said = btoa(unescape(encodeURIComponent(JSON.stringify(lookAgain(seen)))));
    if (parent !== window) return parent.postMessage(said, "*");
    const left = document.createElement("pre");
    left.id = "seen";
    left.textContent = said;
    document.body.append(left);
  }, 300);
}, 300));
