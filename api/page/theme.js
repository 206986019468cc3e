// Runs before the first paint: sets the light, dark or system theme. The choice is stored in this
// browser.
(() => {
  const key = "percached-theme";
  const themes = ["system", "light", "dark"];
  const words = { system: "as the system", light: "light", dark: "dark" };
  const signs = { system: "◐", light: "○", dark: "●" };
  const root = document.documentElement;
  let theme = "system";
  try {
    const kept = localStorage.getItem(key);
    if (themes.includes(kept)) theme = kept;
  } catch {
    // Without storage, use the system's theme.
  }

  const apply = () => {
    if (theme === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme);
    const button = document.getElementById("theme");
    if (!button) return;
    button.setAttribute("aria-label", `Theme: ${words[theme]}`);
    button.title = button.getAttribute("aria-label");
    button.firstElementChild.textContent = signs[theme];
  };

  apply();
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      try {
        localStorage.setItem(key, theme);
      } catch {
        // Without storage it is lost when the page closes.
      }
      apply();
    });
  });
})();
