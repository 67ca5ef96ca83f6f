"use strict";
// The page's data, written by page.py. Texts may come from a language model: they enter the page as text nodes only.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const LONGEST = 20000;
const state = {teams: [0, -1], start: 0, step: 0, timer: null, row: {}};

// ---- small parts ----------------------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function option(value, text) { return make("option", {value}, text); }

function longText(tag, name, text) {
  const element = make(tag, {class: name}, text.slice(0, LONGEST));
  if (text.length > LONGEST) {
    const rest = `show all ${text.length.toLocaleString("en")} characters`;
    const button = make("button", {onclick: () => { element.textContent = text; }}, rest);
    element.append("\u2026 ", button);
  }
  return element;
}

function bytes(text) { return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)); }
function shade(root) { return `rgba(var(--deep), ${(root / 255).toFixed(3)})`; }
function percent(share) { return share === null ? "" : `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`; }
function signed(value) { return value === null ? "" : (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(2); }

// ---- pictures: pieces over pieces -----------------------------------------------------------------------------------

class Video {
  constructor(pieces) {
    this.pieces = pieces;
    this.images = pieces.map((piece) => {
      if (!piece) return null;
      const image = new Image();
      image.src = `data:image/png;base64,${piece.png}`;
      return image;
    });
    this.wanted = 0;
  }

  get isEmpty() { return this.pieces.every((piece) => !piece); }

  async draw(canvas, step) {
    const wanted = ++this.wanted;
    let first = Math.min(step, this.pieces.length - 1);
    const last = first;
    while (first > 0 && !(this.pieces[first] && this.pieces[first].whole)) first -= 1;
    const shown = [];
    for (let number = first; number <= last; number += 1) if (this.pieces[number]) shown.push(number);
    await Promise.all(shown.map((number) => this.images[number].decode().catch(() => null)));
    if (wanted !== this.wanted) return;
    const pen = canvas.getContext("2d");
    for (const number of shown) {
      const piece = this.pieces[number];
      if (piece.whole && (canvas.width !== piece.width || canvas.height !== piece.height)) {
        canvas.width = piece.width;
        canvas.height = piece.height;
      }
      pen.drawImage(this.images[number], piece.x, piece.y);
    }
    canvas.dataset.step = last;
  }
}

const videos = new Map();
function videoOf(team, start) {
  const key = `${team}/${start}`;
  if (!videos.has(key)) videos.set(key, new Video(data.teams[team].episodes[start].pictures));
  return videos.get(key);
}

// ---- one team at one step -------------------------------------------------------------------------------------------

function heading(text) { return make("h3", {}, text); }

function bars(likely, action) {
  const box = make("div", {class: "bars"});
  for (const [name, share] of likely.filter(([name, share]) => share >= 0.001 || name === action)) {
    const fill = make("i");
    fill.style.width = `${100 * share}%`;
    const kind = name === action ? "chosen" : "";
    box.append(make("span", {class: kind}, name), make("div", {class: "bar"}, fill), make("span", {class: "number"}, percent(share)));
  }
  return box;
}

function jointMap(joint, episode, step) {
  const values = bytes(joint), side = Math.round(Math.sqrt(values.length)), cell = `${Math.max(6, Math.floor(220 / side))}px`;
  const [rowNames, columnNames] = episode.actions;
  const said = make("p", {class: "quiet"}, `rows: ${episode.agents[0]}, columns: ${episode.agents[1]}; stronger colours mean higher probabilities`);
  const box = (row, column) => {
    const root = values[row * side + column], text = `${rowNames[row]} and ${columnNames[column]}: ${percent((root / 255) ** 2)}`;
    const say = () => { said.textContent = text; }, made = make("td", {"aria-label": text, onpointermove: say, onpointerdown: say});
    made.style.background = shade(root);
    made.style.width = made.style.height = cell;
    return made;
  };
  const head = make("tr", {}, make("td"), ...columnNames.map((name) => make("th", {scope: "col"}, name)));
  const rows = rowNames.map((name, row) => make("tr", {}, make("th", {scope: "row"}, name), ...columnNames.map((_, column) => box(row, column))));
  const map = make("table", {class: "map", "aria-label": "joint policy"}, head, ...rows);
  return [heading(`joint policy${step.weights.length ? ` (mixture of ${step.weights.length})` : ""}`), make("div", {class: "scroll"}, map), said];
}

function attention(map, episode, key) {
  const words = episode.texts[map.words].split("\n"), weights = bytes(map.weights), row = Math.min(state.row[key] ?? 0, map.rows.length - 1);
  const box = make("div");
  const text = make("p", {class: "words"});
  const fill = (chosen) => {
    text.replaceChildren(...words.flatMap((word, column) => {
      const root = weights[chosen * words.length + column], span = make("span", {title: percent((root / 255) ** 2)}, word);
      span.style.background = shade(0.45 * root);  // ink stays legible on the darkest
      return [span, " "];
    }));
  };
  const buttons = map.rows.map((name, number) => make("button", {
    class: "row", "aria-pressed": String(number === row),
    onclick: () => { state.row[key] = number; buttons.forEach((one, other) => one.setAttribute("aria-pressed", String(other === number))); fill(number); },
  }, name));
  fill(row);
  box.append(heading(`attention: ${map.name}`));
  if (map.rows.length > 1) box.append(make("div", {}, ...buttons));
  box.append(text);
  return box;
}

function attentionKey(step) {
  const maps = step.agents.flatMap((agent) => agent.attention);
  if (!maps.length) return [];
  const choose = maps.some((map) => map.rows.length > 1) ? "; choose a name to see to which words it attends" : "";
  return [make("p", {class: "quiet"}, `Attention: darker words have more weight${choose}.`)];
}

function agentPart(episode, step, number, side) {
  const agent = step.agents[number], reward = step.rewards[number];
  const box = make("div", {class: "agent", "data-number": number % 4});
  if (episode.colours[number]) box.style.borderColor = episode.colours[number];
  const done = agent.action || "busy";
  box.append(make("span", {class: "reward", title: "reward"}, reward === undefined ? "" : signed(reward)),
    make("span", {}, `${episode.agents[number]}: `), make("span", {class: "action"}, done));
  if (agent.message !== null) box.append(longText("div", "message", episode.texts[agent.message]));
  if (agent.likely.length) box.append(bars(agent.likely, agent.action));
  if (agent.entities !== null) {
    const chips = agent.entities.map((name) => make("span", {}, name));
    box.append(heading("own entities"), make("div", {class: "chips"}, ...(chips.length ? chips : ["none"])));
  }
  for (const map of agent.attention) box.append(attention(map, episode, `${side}/${number}/${map.name}`));
  return box;
}

function note(title, text) {
  const body = longText("div", "text", text);
  if (text.length < 400) return make("div", {class: "note"}, make("b", {}, title), body);
  return make("details", {class: "note"}, make("summary", {}, title), body);
}

function noted(episode, step) {
  // A note stands until the next one of the same title.
  const found = new Map();
  for (let number = 0; number <= Math.min(step, episode.steps.length - 1); number += 1) {
    for (const [title, text] of episode.steps[number].notes) { found.delete(title); found.set(title, [number, episode.texts[text]]); }
  }
  if (step >= episode.steps.length) for (const [title, text] of episode.last_notes) { found.delete(title); found.set(title, [step, text]); }
  return [...found].reverse().slice(0, 12);
}

function leftPart(episode, step, isEnd) {
  const parts = [];
  if (step) {
    if (step.joint) parts.push(...jointMap(step.joint, episode, step));
    if (step.weights.length) parts.push(heading("mixture weights"), bars(step.weights.map((weight, number) => [`component ${number + 1}`, weight]), ""));
    const attended = step.agents.some((agent) => agent.attention.length);
    for (const [key, text] of Object.entries(step.texts)) if (!attended || key !== "document") parts.push(heading(key), longText("div", "text", episode.texts[text]));
  }
  const notes = noted(episode, isEnd ? episode.steps.length : state.step);
  if (notes.length) parts.push(heading("notes"));
  for (const [title, [number, text]] of notes) parts.push(note(`${title} (step ${number + 1})`, text));
  return parts;
}

function showTeam(side) {
  const number = state.teams[side], section = byId("teams").children[side];
  if (!section) return;
  const episode = data.teams[number].episodes[state.start], video = videoOf(number, state.start);
  const at = Math.min(state.step, episode.steps.length), isEnd = at === episode.steps.length, step = isEnd ? null : episode.steps[at];
  section.dataset.step = at;
  const canvas = section.querySelector(".world");
  canvas.hidden = video.isEmpty;
  video.draw(canvas, at);
  section.querySelector(".left").replaceChildren(...leftPart(episode, step, isEnd));
  const right = section.querySelector(".right");
  if (isEnd) right.replaceChildren(heading("end of the episode"), ending(episode));
  else right.replaceChildren(...attentionKey(step), ...step.agents.map((_, agent) => agentPart(episode, step, agent, side)));
}

function ending(episode) {
  const found = Object.entries(episode.metrics).map(([name, value]) => make("span", {}, `${name} `, make("b", {}, String(value))));
  const metrics = make("div", {class: "metrics"}, ...(found.length ? found : ["The recording stops here, before the end of the episode."]));
  return episode.ending ? make("div", {}, make("p", {class: "chosen"}, episode.ending), metrics) : metrics;
}

// ---- the player -----------------------------------------------------------------------------------------------------

function shownTeams() { return state.teams.filter((team) => team >= 0); }
function lastStep() { return Math.max(...shownTeams().map((team) => data.teams[team].episodes[state.start].steps.length)); }

function show() {
  const last = lastStep();
  state.step = Math.max(0, Math.min(state.step, last));
  byId("scrub").max = last;
  byId("scrub").value = state.step;
  byId("where").value = state.step === last ? `end, after ${last} steps` : `step ${state.step + 1} of ${last}`;
  shownTeams().forEach((_, side) => showTeam(side));
  if (state.step === last) pause();
}

function pause() {
  clearInterval(state.timer);
  state.timer = null;
  byId("play").textContent = "\u25B6";
}

function play() {
  if (state.timer !== null) return pause();
  if (state.step === lastStep()) state.step = 0;
  state.timer = setInterval(() => { state.step += 1; show(); }, Number(byId("speed").value));
  byId("play").textContent = "\u23F8";
  show();
}

function go(step) { pause(); state.step = step; show(); }

function tellStory() {
  const {story, legend} = data.teams[state.teams[0]].episodes[state.start];
  byId("story").textContent = story;
  byId("marks").replaceChildren(...legend.map(([what, colour]) => {
    const mark = make("i", {class: "swatch"});
    mark.style.background = colour;
    return make("span", {}, mark, what);
  }));
}

function layOut() {
  const teams = shownTeams();
  tellStory();
  document.body.classList.toggle("single", teams.length === 1);
  byId("teams").replaceChildren(...teams.map((number) => make("section", {class: "team"},
    make("h2", {}, data.teams[number].name), make("p", {class: "quiet"}, data.teams[number].about),
    data.teams[number].given ? make("details", {class: "quiet"}, make("summary", {}, "what it was given"), data.teams[number].given) : null,
    make("div", {class: "body"}, make("div", {}, make("canvas", {class: "world", width: 1, height: 1}), make("div", {class: "left"})), make("div", {class: "right"})))));
  const starts = new Set(teams.map((number) => data.teams[number].episodes[state.start].start));
  byId("same").textContent = teams.length < 2 ? "" : starts.size === 1 ? "Both teams start from the same state." : "These teams start from different states, because their environments differ.";
  state.step = 0;
  pause();
  show();
}

function fillStarts() {
  const count = Math.min(...shownTeams().map((team) => data.teams[team].episodes.length));
  const titles = data.teams[state.teams[0]].episodes.slice(0, count).map((episode, number) => option(number, episode.title));
  state.start = Math.min(state.start, count - 1);
  byId("start").replaceChildren(...titles);
  byId("start").value = state.start;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  const isButton = event.target.tagName === "BUTTON";
  const keys = {
    ArrowRight: () => go(state.step + 1), ArrowLeft: () => go(state.step - 1), Home: () => go(0), End: () => go(lastStep()),
    ",": () => choose(state.start - 1), ".": () => choose(state.start + 1), ...(isButton ? {} : {" ": play}),
  };
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function choose(start) {
  if (start < 0 || start >= byId("start").children.length) return;
  state.start = start;
  byId("start").value = start;
  layOut();
}

// ---- curves ---------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
function draw(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function colour(number) { return `var(--agent-${number % 4})`; }
function brief(value) { return Math.abs(value) >= 10000 ? `${(value / 1000).toLocaleString("en")}k` : String(Number(value.toPrecision(3))); }

function plot() {
  const metric = byId("metric").value, lines = data.teams.map((team) => (team.curves[metric] ?? []).filter((point) => point[1] !== null));
  const points = lines.flat(), xs = points.map((point) => point[0]), ys = points.map((point) => point[1]);
  const width = Math.max(300, Math.min(900, byId("plot").clientWidth));
  const [height, left, bottom] = [260, 60, 30], right = Math.max(...xs, 1);
  let [low, high] = [Math.min(...ys), Math.max(...ys)];
  if (low === high) { low -= 0.5; high += 0.5; }
  const x = (value) => left + (width - left - 12) * value / right, y = (value) => 12 + (height - bottom - 12) * (high - value) / (high - low);
  const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": metric});
  for (const value of [low, (low + high) / 2, high]) {
    svg.append(draw("line", {x1: left, x2: width - 12, y1: y(value), y2: y(value), stroke: "var(--line)"}));
    svg.append(draw("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, brief(value)));
  }
  svg.append(draw("text", {x: width - 12, y: height - 8, "text-anchor": "end"}, `${brief(right)} env steps`));
  lines.forEach((line, number) => {
    const path = line.map((point) => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join(" ");
    if (line.length === 1) svg.append(draw("circle", {cx: x(line[0][0]), cy: y(line[0][1]), r: 3, fill: colour(number)}));
    else svg.append(draw("polyline", {points: path, fill: "none", stroke: colour(number), "stroke-width": 1.8, "stroke-dasharray": ["none", "6 3", "2 3"][Math.floor(number / 4) % 3]}));
  });
  byId("plot").replaceChildren(svg);
  byId("legend").replaceChildren(...data.teams.flatMap((team, number) => {
    if (!lines[number].length) return [];
    const mark = make("i");
    mark.style.background = colour(number);
    return [make("span", {}, mark, team.name)];
  }));
}

// ---- beginning ------------------------------------------------------------------------------------------------------

function begin() {
  document.title = data.title;
  byId("title").textContent = data.title;
  byId("note").textContent = data.note;
  byId("first").append(...data.teams.map((team, number) => option(number, team.name)));
  byId("second").append(option(-1, "none"), ...data.teams.map((team, number) => option(number, team.name)));
  byId("second").parentElement.hidden = data.teams.length < 2;
  if (data.beside) state.teams[1] = 1;
  byId("second").value = state.teams[1];
  ["first", "second"].forEach((id, side) => byId(id).addEventListener("change", (event) => {
    state.teams[side] = Number(event.target.value);
    fillStarts();
    layOut();
  }));
  byId("start").addEventListener("change", (event) => choose(Number(event.target.value)));
  byId("home").addEventListener("click", () => go(0));
  byId("back").addEventListener("click", () => go(state.step - 1));
  byId("forward").addEventListener("click", () => go(state.step + 1));
  byId("play").addEventListener("click", play);
  byId("scrub").addEventListener("input", (event) => go(Number(event.target.value)));
  byId("speed").addEventListener("change", () => { if (state.timer !== null) { pause(); play(); } });
  document.addEventListener("keydown", onKey);
  const metrics = [...new Set(data.teams.flatMap((team) => Object.keys(team.curves)))];
  byId("curves").hidden = !metrics.length;
  byId("metric").append(...metrics.map((name) => option(name, name)));
  byId("metric").addEventListener("change", plot);
  if (metrics.length) {
    plot();
    window.addEventListener("resize", plot);
  }
  fillStarts();
  layOut();
}

begin();
