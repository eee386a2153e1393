// Light, dark, or what the system prefers. What is drawn on canvases asks here for its colors.

export type Theme = "system" | "light" | "dark";

const stored = "caret-bpf-theme";
const changed = new EventTarget();
const prefersDark = "(prefers-color-scheme: dark)";

export function currentTheme(): Theme {
  const theme = document.documentElement.dataset["theme"];
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(stored, theme);
  } catch {
    // A file may not be allowed to store anything. Then the choice lasts as long as the page.
  }
  changed.dispatchEvent(new Event("change"));
}

/** Takes up what was chosen before, and follows the system. Called once, when the page starts. */
export function restoreTheme(): void {
  matchMedia(prefersDark).addEventListener("change", () => changed.dispatchEvent(new Event("change")));
  try {
    const theme = localStorage.getItem(stored);
    if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme;
  } catch {
    // as above
  }
}

/** Calls until the signal ends it. */
export function onThemeChange(act: () => void, signal: AbortSignal): void {
  changed.addEventListener("change", act, { signal });
}

/** The value of one of the style sheet's variables. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
