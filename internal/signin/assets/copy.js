// Shows the copy buttons, which need a script, and copies the text that each names.
"use strict";
for (const button of document.querySelectorAll("button[data-copy]")) {
  const label = [...button.childNodes]; // some of the text is for screen readers alone
  const status = document.getElementById("copy-status");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch { // not allowed on unencrypted pages
      const range = document.createRange();
      range.selectNodeContents(text);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected: press Ctrl+C";
    }
    status.textContent = button.textContent;
    setTimeout(() => { button.replaceChildren(...label); status.textContent = ""; }, 3000);
  });
}
