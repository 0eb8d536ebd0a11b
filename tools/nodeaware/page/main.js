// Puts the page together from what the command has found (the element with id "data").
import { element, longTable, note, pairs, section, table } from "./elements.js";
import { showHeatMaps } from "./heat_map.js";
import { showSizes } from "./histogram.js";
import { bytes, count, factor, percent, plural, seconds } from "./numbers.js";
import { showTimeline } from "./timeline.js";

const data = JSON.parse(document.getElementById("data").textContent);
const { report } = data;

const put = (id, ...children) => document.getElementById(id).append(...children);

const nodesText = () => {
  const word = data.nodes_are_virtual ? "virtual node" : "node";
  return `${plural(report.ranks, "rank")} on ${plural(report.nodes, word)}`;
};

const showAbout = () => put("about", [nodesText(), `begun ${report.begin}`, report.mpi, `libnodeaware ${report.library}`].filter(Boolean).join(" · "));

const showComplaints = () => {
  const lines = report.complaints;
  if (lines.length === 0) return;
  const more = report.left_out.complaints;
  put("complaints", element("div", { class: "warning" },
    element("strong", {}, `${plural(lines.length + more, "rank")} could not be read:`),
    element("ul", {}, ...lines.slice(0, 20).map((line) => element("li", {}, line))),
    ...(lines.length > 20 ? [note(`and ${lines.length - 20 + more} more`)] : [])));
};

const between = () => {
  const { collective, point_to_point: messages } = report.between_nodes;
  return { messages: collective.messages + messages.messages, bytes: collective.bytes + messages.bytes };
};

/// Models are not better than that; the verdict thinks so, too.
const littleGain = 1.1;

const showKeyFigures = () => {
  const figures = [];
  const { forecast, shares } = report;
  const best = forecast.strategies[0];
  if (forecast.calls > 0 && best.times_native >= littleGain) {
    figures.push(["Collective exchanges, predicted", `${factor(best.times_native)} times`, `as fast, by ${forecast.strategies.slice(-1)[0].seconds > 1.000001 * best.seconds ? best.strategy : "gathering"}`]);
  }
  const { native_seconds: alone, gathered_seconds: gathered } = forecast.messages;
  if (gathered > 0 && alone >= littleGain * gathered) figures.push(["Messages gathered, predicted", `${factor(alone / gathered)} times`, "as fast as each by itself"]);
  figures.push(["Run time", seconds(report.wall), nodesText()],
    ["In exchanges", percent(shares.exchanges), "of the time of all ranks"],
    ["In messages and waiting", percent(shares.messages), `other collectives ${percent(shares.other_collectives)}, files ${percent(shares.files)}`],
    ["Between nodes", bytes(between().bytes), plural(between().messages, "message")],
    ["Within nodes", bytes(report.within_nodes.bytes), plural(report.within_nodes.messages, "message")]);
  put("key-figures", ...figures.map(([term, figure, more]) => element("div", {}, element("dt", {}, term),
    element("dd", {}, figure, element("small", {}, more)))));
};

const strategyRows = (forecast) => {
  const native = { strategy: "native", seconds: forecast.native_seconds, times_native: 1 };
  return [native, ...forecast.strategies.filter((row) => row.strategy !== "native")];
};

const forecastTable = (caption, rows) => {
  const most = Math.max(...rows.map((row) => row.seconds), 1e-300);
  const least = Math.min(...rows.map((row) => row.seconds));
  return table(caption, [
    { name: "How", of: (row) => row.strategy },
    { bar: (row) => row.seconds / most },
    { name: "Seconds", number: true, of: (row) => row.seconds.toFixed(6) },
    { name: "Speed-up", number: true, of: (row) => (row.times_native === undefined ? "" : factor(row.times_native)) },
  ], rows, (row) => row.seconds === least && 1.01 * least < rows[0].seconds);
};

const showForecast = () => {
  const { forecast } = report;
  const parts = [];
  if (forecast.calls > 0) {
    parts.push(forecastTable("Collective exchanges between nodes", strategyRows(forecast)),
      note(`${plural(forecast.calls, "call")} of a rank, measured ${seconds(forecast.measured_seconds)} (mean of the ranks).` +
        (forecast.left_out > 0 ? ` ${plural(forecast.left_out, "rarer kind")} of exchanges left out.` : "")));
  }
  const { native_seconds: alone, gathered_seconds: gathered } = forecast.messages;
  if (alone > 0) {
    parts.push(forecastTable("Messages from point to point between nodes", [
      { strategy: "native", seconds: alone, times_native: 1 },
      { strategy: "gathered", seconds: gathered, times_native: gathered > 0 ? alone / gathered : undefined },
    ]), note(`Gathered: ${forecast.messages.basis}.`));
  }
  if (parts.length === 0) parts.push(note("Nothing is predicted: no exchange between nodes could be put together from all ranks."));
  section("forecast", "Before and after, as predicted", note(`What the traffic of this trace is thought to take by the model table ${forecast.model}. native: each message by itself, as MPI sends it.`), ...parts);
};

const showWays = () => {
  if (data.observes || data.ways.length === 0) return;
  const rows = data.ways;
  const most = Math.max(...rows.map((row) => row.sent_messages), 1);
  const sent = rows.reduce((sum, row) => sum + row.sent_messages, 0);
  const { collective } = report.between_nodes;
  section("ways", "How calls travelled",
    note(`The library was at work. The program's collective exchanges have ${plural(collective.messages, "message")} for other nodes; those that were rerouted sent ${count(sent)}. What MPI sends in native ones is not counted.`),
    longTable("By operation, strategy and reason, of all ranks", [
      { name: "Operation", of: (row) => row.operation },
      { name: "Strategy", of: (row) => row.strategy },
      { name: "Reason", of: (row) => row.reason },
      { name: "Calls", number: true, of: (row) => count(row.calls) },
      { bar: (row) => row.sent_messages / most },
      { name: "Messages sent", number: true, of: (row) => (row.strategy === "native" ? "by MPI" : count(row.sent_messages)) },
      { name: "Bytes sent", number: true, of: (row) => (row.strategy === "native" ? "by MPI" : count(row.sent_bytes)) },
    ], rows, data.left_out.ways));
};

const timeTable = (caption, heading, key, rows, leftOut) => {
  if (rows.length === 0) return note(`${caption}: nothing was recorded.`);
  const most = Math.max(...rows.map((row) => row.seconds), 1e-300);
  return longTable(caption, [
    { name: heading, of: (row) => row[key] },
    { bar: (row) => row.seconds / most },
    { name: "Seconds", number: true, of: (row) => row.seconds.toFixed(6) },
    { name: "Calls", number: true, of: (row) => count(row.calls) },
    { name: "Messages", number: true, of: (row) => count(row.messages) },
    { name: "Bytes", number: true, of: (row) => count(row.bytes) },
  ], rows, leftOut);
};

const passedTable = () => {
  const rows = report.collectives;
  if (rows.length === 0) return note("Other collectives passed no data.");
  const most = Math.max(...rows.map((row) => row.bytes), 1);
  const table = longTable("Passed to other collectives (how it travels is MPI's affair)", [
    { name: "Function", of: (row) => row.function },
    { name: "Communicator of", of: (row) => row.ranks },
    { bar: (row) => row.bytes / most },
    { name: "Calls that pass data", number: true, of: (row) => count(row.calls) },
    { name: "Bytes", number: true, of: (row) => count(row.bytes) },
    { name: "Most of a call", number: true, of: (row) => count(row.most_bytes) },
  ], rows, report.left_out.collectives);
  if (report.collectives_left_out === 0) return table;
  return element("div", {}, table, note(`${plural(report.collectives_left_out, "more call")} had no room in the trace.`));
};

const showTimes = () => {
  const { least, most, mean, others_wait_for_least: others } = report.seconds_in_calls;
  section("times", "Where the time goes",
    note(`Seconds of all ranks together. In calls a rank is ${seconds(mean)} on average; rank ${most.rank} longest, ${seconds(most.seconds)}; rank ${least.rank} shortest, ${seconds(least.seconds)}${others ? ": the others wait for it most" : ""}.`),
    timeTable("By function", "Function", "function", data.functions, data.left_out.functions),
    timeTable("By communicator", "Communicator of", "ranks", report.communicators, report.left_out.communicators),
    timeTable("By place in the program", "Place", "site", report.sites, report.left_out.sites),
    passedTable(),
    note(`Receives: ${count(report.receives)}, of which ${count(report.from_any_source)} from any source, without persistent ones. Places are FILE+0xOFFSET, as addr2line takes them.`));
};

const showJob = () => {
  const settings = data.settings.map(([name, value]) => [name, value]);
  section("job", "Job and settings",
    pairs([["Trace", data.folder], ["Job", data.job], ["Begun", report.begin], ["Library", report.library], ["MPI", report.mpi],
      ["Ranks read", `${report.ranks_read} of ${report.ranks}`],
      ["Mode", data.observes ? "observe: every call was left to MPI" : "reroute: the library was at work"],
      ["Ended", report.complete ? "in MPI_Finalize" : "before MPI_Finalize: what follows is what was recorded by then"],
      ["Model table", report.forecast.model], ["Asked for", data.model_asked_for]]),
    element("h3", {}, "Settings"),
    settings.length > 0 ? pairs(settings) : note("All as they are by default."),
    element("h3", {}, "Nodes"),
    longTable("Ranks of the nodes", [
      { name: "Node", of: ([node]) => String(node) },
      { name: "Host", of: ([, host]) => host },
      { name: "Ranks", of: ([, , first, last]) => (first === last ? String(first) : `${first} to ${last}`) },
    ], data.places, data.left_out.places));
};

const showContents = () => {
  const links = [...document.querySelectorAll("#sections > section")].map((part) =>
    element("li", {}, element("a", { href: `#${part.id}` }, part.querySelector("h2").textContent)));
  document.getElementById("key-figures").after(element("nav", { "aria-label": "Contents" }, element("ul", {}, ...links)));
};

showAbout();
showComplaints();
showKeyFigures();
showForecast();
showWays();
showHeatMaps(data);
showSizes(report);
showTimes();
showTimeline(data);
showJob();
showContents();
