// Pointer, wheel and keys of the timeline.

import type { Viewport } from "./viewport";

export interface Acts {
  view: Viewport;
  gutter: number;
  scroll: (pixels: number) => void;
  changed: () => void;
  hover: (x: number, y: number) => void;
  choose: (x: number, y: number) => void;
  fit: () => void;
  step: (by: 1 | -1) => boolean;
  enter: () => void;
  escape: () => boolean;
}

const dragFrom = 3; // pixels that a click may move

export function control(canvas: HTMLCanvasElement, acts: Acts): void {
  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 30;
    if (event.shiftKey) acts.scroll((event.deltaY || event.deltaX) * pixels);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) acts.view.pan(event.deltaX * pixels);
    else acts.view.zoom(1.0018 ** (event.deltaY * pixels), Math.max(0, place(event).x - acts.gutter));
    acts.changed();
  }, { passive: false });

  let held: { x: number; y: number; moved: boolean } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    held = { ...place(event), moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!held) return acts.hover(at.x, at.y);
    if (!held.moved && Math.hypot(at.x - held.x, at.y - held.y) < dragFrom) return;
    acts.view.pan(held.x - at.x);
    acts.scroll(held.y - at.y);
    held = { ...at, moved: true };
    canvas.classList.add("dragged");
    acts.changed();
  });
  const release = (event: PointerEvent) => {
    if (held && !held.moved && event.type === "pointerup") acts.choose(held.x, held.y);
    held = null;
    canvas.classList.remove("dragged");
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => acts.hover(-1, -1));

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = acts;
    const middle = view.width / 2;
    switch (event.key) {
      case "ArrowLeft": view.pan(-view.width * 0.1); break;
      case "ArrowRight": view.pan(view.width * 0.1); break;
      case "PageUp": view.pan(-view.width * 0.9); break;
      case "PageDown": view.pan(view.width * 0.9); break;
      case "ArrowUp": acts.scroll(-30); break;
      case "ArrowDown": acts.scroll(30); break;
      case "+": case "=": view.zoom(0.7, middle); break;
      case "-": view.zoom(1 / 0.7, middle); break;
      case "Home": view.show(0, view.span); break;
      case "End": view.show(view.duration - view.span, view.duration); break;
      case "f": acts.fit(); break;
      case "Tab": if (!acts.step(event.shiftKey ? -1 : 1)) return; break;
      case "Enter": acts.enter(); break;
      case "Escape": if (!acts.escape()) return; break;
      default: return;
    }
    event.preventDefault();
    acts.changed();
  });
}
