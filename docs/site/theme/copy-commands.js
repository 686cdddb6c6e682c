// Of commands with what they print, the button that copies a block takes the commands alone: the theme copies
// `data-copy` where there is one. A command begins with `$ ` and goes on with `> `.
for (const code of document.querySelectorAll("pre > code:has(.gp)")) {
  const commands = code.textContent.match(/^\$ .*(?:\n> .*)*/gm) ?? [];
  if (commands.length) code.dataset.copy = commands.join("\n").replace(/^[$>] /gm, "");
}
