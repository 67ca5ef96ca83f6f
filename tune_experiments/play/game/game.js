"use strict";
// The player's side of a game: it shows what the server says and sends which action a key stands for. Texts enter as text only.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const KEYS = {" ": "space", ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192"};
const CANVAS_PIXELS = 1600;  // least width of the canvas
const CARRY_ON_MILLISECONDS = 120;
const socket = new WebSocket(`${location.origin.replace("http", "ws")}${location.pathname}socket`);
let view = null, isWaiting = true, timer = null;

function make(tag, name, ...children) {
  const element = document.createElement(tag);
  element.className = name;
  element.append(...children);
  return element;
}

function send(request) {
  if (isWaiting || socket.readyState !== WebSocket.OPEN) return;
  isWaiting = true;
  clearTimeout(timer);
  byId("trouble").textContent = "";
  socket.send(JSON.stringify(request));
}

function act(number) {
  if (!view || view.ended || !view.decides || !view.actions[number].legal) return;
  const message = byId("message").value;
  byId("message").value = "";
  send({action: number, message});
}

function again() { if (view && (view.ended || view.step)) send({again: true}); }

function isWait(action) { return action.key === " "; }

function pass() {
  const waiting = view.actions.findIndex((action) => isWait(action) && action.legal);
  if (document.activeElement !== byId("message") && waiting >= 0) act(waiting);
  else timer = setTimeout(pass, CARRY_ON_MILLISECONDS);
}

// A bitmap is closed when it is drawn: images of data addresses would stay in the browser's cache, one a step.
async function draw(png) {
  const shown = view;
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
  if (shown === view) {
    // A small picture is drawn with larger pixels, so that the browser has no need to blur it.
    const canvas = byId("world"), scale = Math.ceil(CANVAS_PIXELS / picture.width);
    const width = scale * picture.width, height = scale * picture.height;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    canvas.style.setProperty("--ratio", width / height);
    const pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, 0, 0, width, height);
  }
  picture.close();
}

function dot(name) {
  const element = make("i", "dot");
  element.style.background = view.colours[view.agents.indexOf(name)] ?? "none";
  return element;
}

function swatch([what, colour]) {
  const mark = make("i", "dot");
  mark.style.background = colour;
  return make("span", "", mark, what);
}

function button(action, number) {
  const key = action.key ? [make("kbd", "", KEYS[action.key] ?? action.key)] : [];
  const element = make("button", "", action.name, ...key);
  element.disabled = !action.legal || !view.decides || Boolean(view.ended);
  element.addEventListener("click", () => act(number));
  return element;
}

function show() {
  document.querySelector("main").hidden = false;
  document.title = `Concord: ${view.caption}`;
  byId("caption").textContent = view.caption;
  const alone = view.agents.length === 1;
  const others = alone ? [`, in place of the team "${view.team}".`] : [`; the team "${view.team}" plays the others.`];
  byId("who").replaceChildren("You are ", dot(view.you), view.you, ...others);
  byId("story").textContent = view.story;
  byId("marks").replaceChildren(...view.legend.map(swatch));
  byId("score").textContent = view.score;
  byId("reward").textContent = view.reward;
  byId("step").textContent = `${view.step} of ${view.limit}`;
  byId("last").replaceChildren(...Object.entries(view.done).map(([name, done]) => make("span", "", dot(name), `${name}: ${done || "busy"}`)));
  byId("heard").replaceChildren(...Object.entries(view.heard).filter(([, text]) => text).map(([name, text]) => make("p", "said", dot(name), `${name}: ${text}`)));
  byId("texts").replaceChildren(...Object.entries(view.texts).flatMap(([what, text]) => [make("dt", "", what), make("dd", "", text)]));
  byId("talk").hidden = !view.reads;
  byId("pace").hidden = !view.actions.some(isWait);
  byId("actions").replaceChildren(...view.actions.map(button));
  byId("end").hidden = !view.ended;
  if (view.ended) {
    byId("metrics").textContent = Object.entries(view.ended).map(([name, value]) => `${name} ${value}`).join(" \u00b7 ");
    byId("ending").textContent = view.ending;
    byId("saved").textContent = view.saved ? `Saved as ${view.saved}.` : "";
  }
  if (view.picture) draw(view.picture);
  byId("world").hidden = !view.picture;
  document.body.dataset.step = view.step;
  if (view.ended) return;
  const clock = Number(byId("clock").value);
  if (!view.decides) timer = setTimeout(() => send({action: 0}), CARRY_ON_MILLISECONDS);
  else if (clock) timer = setTimeout(pass, clock);
}

socket.addEventListener("message", (event) => {
  const said = JSON.parse(event.data);
  if (said.refused) { byId("trouble").textContent = said.refused; return; }
  view = said.view;
  isWaiting = false;
  show();
});

socket.addEventListener("close", (event) => {
  isWaiting = true;
  clearTimeout(timer);
  const lost = "The connection to the game is lost; reload this page while the command is running.";
  byId("trouble").textContent = event.code === data.occupied ? "This game is already open in another tab: close that tab and reload this page." : lost;
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  const input = byId("message");
  if (event.key === "Enter" && view && view.reads && event.target.tagName !== "BUTTON") {
    if (event.target === input) input.blur(); else input.focus();
    event.preventDefault();
    return;
  }
  if (event.target === input || !view) return;
  if (event.key === "Backspace") { again(); event.preventDefault(); return; }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;  // as without Caps Lock
  const number = view.actions.findIndex((action) => action.key === key);
  if (number < 0) return;
  event.preventDefault();
  act(number);
});

byId("again").addEventListener("click", again);
byId("clock").addEventListener("change", () => { clearTimeout(timer); if (view) show(); });
