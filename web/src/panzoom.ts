// Moves and zooms an SVG by its viewBox: wheel, drag and keys.

export interface PanZoom {
  /** Shows everything. */
  fit: () => void;
  zoom: (factor: number) => void;
  /** Shows everything if that can be read, else what is around a place. */
  look: (x: number, y: number) => void;
}

/** How many units a pixel is where text can be read well, and where it just can. */
const readable = 1.2;
const stillReadable = 1.6;

export function panZoom(svg: SVGSVGElement, width: number, height: number): PanZoom {
  let box = { x: 0, y: 0, w: width, h: height };
  const show = () => svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.w} ${box.h}`);
  const scale = () => Math.max(box.w / Math.max(1, svg.clientWidth), box.h / Math.max(1, svg.clientHeight));

  function fit(): void {
    // Small graphs are not blown up.
    const [w, h] = [Math.max(width, svg.clientWidth), Math.max(height, svg.clientHeight)];
    box = { x: (width - w) / 2, y: (height - h) / 2, w, h };
    show();
  }

  function zoomAt(factor: number, x: number, y: number): void {
    const w = Math.min(width * 4 + 1000, Math.max(100, box.w * factor));
    const real = w / box.w;
    box = { x: x - (x - box.x) * real, y: y - (y - box.y) * real, w, h: box.h * real };
    show();
  }

  function place(event: MouseEvent): { x: number; y: number } {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM()!.inverse());
    return { x: point.x, y: point.y };
  }

  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = place(event);
    zoomAt(1.0018 ** (event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 30)), at.x, at.y);
  }, { passive: false });

  let held: { x: number; y: number } | null = null;
  let moved = false;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = { x: event.clientX, y: event.clientY };
    moved = false;
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held || (!moved && Math.hypot(event.clientX - held.x, event.clientY - held.y) < 4)) return;
    if (!moved) svg.setPointerCapture(event.pointerId);
    moved = true;
    box.x -= (event.clientX - held.x) * scale();
    box.y -= (event.clientY - held.y) * scale();
    held = { x: event.clientX, y: event.clientY };
    show();
  });
  for (const end of ["pointerup", "pointercancel"] as const) svg.addEventListener(end, () => { held = null; });
  svg.addEventListener("click", (event) => {
    if (moved) event.stopPropagation(); // a drag chooses nothing
    moved = false;
  }, { capture: true });

  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 60 * scale();
    switch (event.key) {
      case "ArrowLeft": box.x -= step; break;
      case "ArrowRight": box.x += step; break;
      case "ArrowUp": box.y -= step; break;
      case "ArrowDown": box.y += step; break;
      case "+": case "=": zoomAt(0.8, box.x + box.w / 2, box.y + box.h / 2); break;
      case "-": zoomAt(1.25, box.x + box.w / 2, box.y + box.h / 2); break;
      case "f": fit(); break;
      default: return;
    }
    event.preventDefault();
    show();
  });

  return {
    fit,
    zoom: (factor) => zoomAt(factor, box.x + box.w / 2, box.y + box.h / 2),
    look: (x, y) => {
      fit();
      if (scale() <= stillReadable) return;
      const [w, h] = [svg.clientWidth * readable, svg.clientHeight * readable];
      const within = (middle: number, size: number, whole: number) => (size >= whole ? (whole - size) / 2 : Math.min(Math.max(0, middle - size / 2), whole - size));
      box = { x: within(x, w, width), y: within(y, h, height), w, h };
      show();
    },
  };
}
