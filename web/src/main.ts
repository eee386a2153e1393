// Starts the page: finds where its answers are, asks what was recorded, and shows the view that the address names.

import type { App, View } from "./app";
import { button, h } from "./dom";
import { failure } from "./failure";
import type { Recording } from "./model";
import { Names } from "./names";
import { pollProgress } from "./progress";
import { probe } from "./probe";
import { parseRoute } from "./router";
import { searchField } from "./search";
import { CachedSource, LiveSource, ReportSource, SourceUntil, type Source } from "./source";
import "./style.css";
import { currentTheme, restoreTheme, setTheme, type Theme } from "./theme";
import { takeToken } from "./token";
import { timelineView } from "./timeline/view";
import { callbacksView } from "./views/callbacks";
import { compareView } from "./views/compare";
import { graphView } from "./views/graph";
import { lossesView } from "./views/losses";
import { communicationsView, topicsView } from "./views/messages";
import { overviewView } from "./views/overview";
import { pathsView } from "./views/paths";
import { threadsView } from "./views/threads";

/** Answers that are kept besides the timeline's tiles. */
const answersBound = 64;

const views: Record<string, { title: string; view: View; wide?: boolean }> = {
  overview: { title: "Overview", view: overviewView },
  graph: { title: "Graph", view: graphView },
  timeline: { title: "Timeline", view: timelineView, wide: true },
  paths: { title: "Paths", view: pathsView },
  callbacks: { title: "Callbacks", view: callbacksView },
  communications: { title: "Messages", view: communicationsView },
  topics: { title: "Topics", view: topicsView },
  threads: { title: "Threads", view: threadsView },
  losses: { title: "Losses", view: lossesView },
  compare: { title: "Compare", view: compareView },
};

window.caretBpf = probe;
restoreTheme();
takeToken();
// An address with another token, opened in the same tab, does not load the page anew.
addEventListener("hashchange", () => {
  if (takeToken()) location.reload();
});
void start(document.getElementById("app")!);

async function start(root: HTMLElement): Promise<void> {
  const waiting = h("p", { class: "quiet waiting", role: "status" }, "Reading the recording…");
  root.replaceChildren(waiting);
  try {
    const source = openSource();
    const stop = showProgress(source, waiting);
    const recording = await source.get<Recording>("recording").finally(stop);
    probe.recording = recording;
    show(root, { source, recording, names: new Names(recording) });
  } catch (error) {
    root.replaceChildren(failure(error, () => void start(root)));
  }
}

function openSource(): Source {
  const contents = document.getElementById("contents");
  if (!contents) return new LiveSource();
  const parts = [...document.querySelectorAll("script.answers")];
  return new ReportSource(contents.textContent ?? "", (part) => parts[part]?.textContent ?? "");
}

/** Says how much is read until it is stopped: large recordings take seconds. */
function showProgress(source: Source, element: HTMLElement): () => void {
  return pollProgress(source, (share) => { element.textContent = `Reading the recording… ${share}`; });
}

function show(root: HTMLElement, uncached: App): void {
  const app: App = { ...uncached, source: new TilesApart(uncached.source, new CachedSource(uncached.source, answersBound)) };
  const links = new Map<string, HTMLAnchorElement>();
  const shownViews = Object.entries(views).filter(([name]) => name !== "compare" || app.recording.baseline !== null);
  for (const [name, { title }] of shownViews) links.set(name, h("a", { href: `#${name}` }, title));
  const place = h("main", { id: "view", tabindex: -1 });
  root.replaceChildren(
    h("a", { href: "#view", class: "skip" }, "skip to the view"),
    h("header", { class: "top" }, h("span", { class: "brand", title: `caret-bpf ${app.recording.version}` }, "caret-bpf"), h("nav", { "aria-label": "views" }, ...links.values()), searchField(app), themeButton()),
    place);

  let ended = new AbortController();
  async function route(): Promise<void> {
    const { view: name, parameters } = parseRoute(location.hash);
    if (name === "view") return place.focus();
    const known = Object.hasOwn(views, name) ? name : "overview";
    ended.abort();
    ended = new AbortController();
    const { signal } = ended;
    probe.ready = probe.settled = false;
    probe.frames.length = probe.draws.length = 0;
    for (const [other, link] of links) {
      if (other === known) {
        link.setAttribute("aria-current", "page");
        link.href = `#${other}`;
      } else link.removeAttribute("aria-current");
    }
    const { title, view, wide } = views[known]!;
    document.title = `${title} · caret-bpf`;
    const element = h("div", { class: `view view-${known}${wide ? " wide" : ""}` }, h("h1", { class: "hidden" }, title));
    place.replaceChildren(element);
    place.scrollTop = 0;
    const done = view({ ...app, source: new SourceUntil(app.source, signal) }, element, parameters, signal);
    requestAnimationFrame(() => { probe.firstPicture ??= performance.now(); });
    try {
      await done;
    } catch (error) {
      if (!signal.aborted) element.append(failure(error));
    }
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (signal.aborted) return;
      probe.ready = true;
      if (known !== "timeline") probe.settled = true; // the timeline knows by itself
    }));
  }
  addEventListener("hashchange", ({ oldURL }) => {
    // Each view is left as it was: its link leads back there, and to its begin while it is shown.
    const left = new URL(oldURL).hash;
    const link = links.get(parseRoute(left).view);
    if (link) link.href = left;
    void route();
  });
  void route();
}

/** The timeline bounds its tiles by itself, so they are not kept twice; and progress changes. */
class TilesApart implements Source {
  constructor(private readonly direct: Source, private readonly cached: Source) {}

  holds(key: string): boolean {
    return this.direct.holds(key);
  }

  get<T>(key: string, signal?: AbortSignal): Promise<T> {
    const isKept = !key.startsWith("tile?") && !key.startsWith("offcpu?") && key !== "progress";
    return (isKept ? this.cached : this.direct).get(key, signal);
  }
}

function themeButton(): HTMLElement {
  const order: Theme[] = ["system", "light", "dark"];
  const signs: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };
  const made = button("", () => {
    setTheme(order[(order.indexOf(currentTheme()) + 1) % order.length]!);
    label();
  }, { class: "theme" });
  const label = () => {
    made.textContent = signs[currentTheme()];
    made.setAttribute("aria-label", `theme: ${currentTheme()}`);
    made.title = `theme: ${currentTheme()}`;
  };
  label();
  return made;
}
