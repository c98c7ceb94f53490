// Before the first paint: the theme that was chosen, else the system's.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("cosmark-theme");
  } catch (error) {
    // Storage may be closed to the page; then the system decides.
  }
  var dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
