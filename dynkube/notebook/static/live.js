// The browser's part of a live table. Data from the kernel becomes text nodes: no string is ever parsed as markup.
//
// The kernel sends the whole table, then differences ("delta"). Messages are numbered; a page that missed one requests
// the whole table again. An element is modified only if its content has changed, so that selections, scroll positions
// and unfolded details stay as they are.
//
// The rows of a small table are all on the page, which sorts and searches them itself. Of a large table the page has a
// window ("view"), and requests another one when it is scrolled, sorted or searched. Empty space above and below takes
// the place of the other rows.

const FLASH = 1600; // milliseconds that a change is highlighted
const MANY = 1000; // more changes at once are not highlighted
const SILENCE = 40; // seconds without a message after which the page says so, and sends a hello; the kernel sends one every 15
const ALIVE = 30; // seconds without sending anything after which the page answers a message, to show that it still exists
const UNKNOWN_TABLE = "the kernel has no table for this output: run the cell again";
const LATE = "no message from the kernel for a while: this may be outdated";
const NEAR = 30; // rows between the visible ones and the end of the window below which another window is requested
const RETRY = 1000; // milliseconds after which an unanswered request is repeated
const TALLEST = 15e6; // pixels: browsers have elements up to about 17 million. Taller tables scroll proportionally faster
const TYPING = 150; // milliseconds without a key after which the kernel searches
const OPENED = 100; // unfolded rows that are remembered while they are outside the window
const NAME = "Name"; // the heading of the column with the object's name
const FOCUSED = new Set(["button", "input", "summary", "pre"]); // what can have the focus
const TONES = new Set(["plain", "strong", "muted", "key", "good", "warn", "bad", "info", "added", "removed"]);

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

// Keeps keys from JupyterLab, where "x" cuts a cell. It has to be set on the element with the focus, not around it.
function keepKeys(node) {
  node.dataset.lmSuppressShortcuts = "true";
}

export function element(tag, classes = "", text = undefined) {
  const node = document.createElement(tag);
  if (classes) node.className = classes;
  if (text !== undefined) node.textContent = text;
  if (FOCUSED.has(tag)) keepKeys(node);
  return node;
}

// An element that screen readers read out when it changes.
function statusElement(tag, classes) {
  const node = element(tag, classes);
  node.setAttribute("role", "status");
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setTitle(node, title) {
  if (node.title !== title) node.title = title;
}

function toneClass(tone) {
  return TONES.has(tone) ? `dkl-${tone}` : "dkl-plain";
}

// How long ago something was, as kubectl prints it: "5m3s", "2d4h".
export function age(seconds) {
  const whole = Math.trunc(seconds);
  if (whole < -1) return "<invalid>";
  const s = Math.max(whole, 0);
  const [minute, hour, day, year] = [60, 3600, 86400, 365 * 86400];
  const steps = [
    [2 * minute, 1, "s", 0, ""],
    [10 * minute, minute, "m", 1, "s"],
    [3 * hour, minute, "m", 0, ""],
    [8 * hour, hour, "h", minute, "m"],
    [2 * day, hour, "h", 0, ""],
    [8 * day, day, "d", hour, "h"],
    [2 * year, day, "d", 0, ""],
    [8 * year, year, "y", day, "d"],
    [Infinity, year, "y", 0, ""],
  ];
  const [, unit, letter, small, smallLetter] = steps.find(([limit]) => s < limit);
  const rest = small ? Math.floor((s % unit) / small) : 0;
  return `${Math.floor(s / unit)}${letter}${rest ? `${rest}${smallLetter}` : ""}`;
}

// The cluster, namespace and name in the id of a row. Only a cluster's name may have slashes; it is empty if there is one.
function placeOf(id) {
  const parts = id.split("/");
  return [parts.slice(0, -2).join("/"), ...parts.slice(-2)];
}

function asCell(cell) {
  return typeof cell === "string" ? { t: cell } : cell;
}

// One object: a <tbody> of its own, so that the row and its unfolded details move together.
class Row {
  constructor(table, [id, version, cells]) {
    this.table = table;
    this.id = id;
    this.place = placeOf(id);
    this.version = version;
    this.cells = cells.map(asCell);
    this.body = element("tbody");
    this.line = element("tr", "dkl-row");
    this.body.append(this.line);
    this.toggle = element("button", "dkl-toggle");
    this.toggle.type = "button";
    this.toggle.setAttribute("aria-expanded", "false");
    this.toggle.setAttribute("aria-label", `Show ${id}`);
    this.toggle.addEventListener("click", () => {
      this.fold(!this.more);
      this.table.opened.delete(id);
      if (this.more) this.table.opened.add(id);
    });
    const first = element("td", "dkl-fold");
    first.append(this.toggle);
    this.line.append(first);
    const name = table.columns.findIndex((column) => column.name === NAME); // the first: others may be called so as well
    this.places = this.cells.map((_, place) => element(place === name ? "th" : "td"));
    this.places[name]?.setAttribute("scope", "row");
    this.line.append(...this.places);
    this.places.forEach((_, place) => this.draw(place));
    this.line.addEventListener("click", (event) => this.table.pick(this, event));
    this.more = null;
  }

  draw(place) {
    const cell = this.cells[place];
    const column = this.table.columns[place];
    const node = this.places[place];
    const classes = `${toneClass(cell.c)} dkl-${column.kind}`;
    if (node.className !== classes) node.className = classes;
    node.hidden = !column.shown;
    setText(node, this.text(place));
    setTitle(node, cell.h ?? (cell.t.length > 40 ? cell.t : ""));
  }

  text(place) {
    const cell = this.cells[place];
    return cell.at === undefined ? cell.t : age(this.table.now() - cell.at);
  }

  tick() {
    this.cells.forEach((cell, place) => {
      if (cell.at !== undefined) setText(this.places[place], this.text(place));
    });
  }

  // Sets cells, by column number; returns whether one of them has changed.
  put(version, cells) {
    let changed = false;
    for (const [place, cell] of Object.entries(cells)) {
      const [before, after] = [this.cells[place], asCell(cell)];
      if (JSON.stringify(before) === JSON.stringify(after)) continue;
      changed = true;
      this.cells[place] = after;
      this.draw(place);
      if (before.t !== after.t || before.at !== after.at) this.table.flash(this.places[place], "changed");
    }
    if (this.version !== version) {
      this.version = version;
      if (this.more) this.table.requestDetails(this.id);
    }
    return changed;
  }

  fold(open) {
    this.toggle.setAttribute("aria-expanded", String(open));
    if (open) {
      this.more = element("tr", "dkl-more");
      this.more.append(element("td"));
      const cell = element("td");
      cell.colSpan = this.cells.length;
      cell.append(element("div", "dkl-details"));
      this.more.append(cell);
      this.body.append(this.more);
      this.awaitDetails();
      this.table.requestDetails(this.id);
    } else {
      this.more?.remove();
      this.more = null;
    }
  }

  // Shows that details were requested and have not arrived.
  awaitDetails() {
    const target = this.more?.querySelector(".dkl-details");
    if (target && !target.dataset.filled) setText(target, this.table.lost ? "the kernel does not respond" : "…");
  }

  showDetails(blocks) {
    if (!this.more) return;
    const target = this.more.querySelector(".dkl-details");
    if (target.dataset.filled) updateBlocks(target, blocks);
    else target.replaceChildren(...blocks.map(makeBlock));
    target.dataset.filled = "yes";
  }
}

// ── an object's card ────────────────────────────────────────────────────────────────────────

function spans(line) {
  return line.map((span) => {
    if (typeof span === "string") return document.createTextNode(span);
    const node = element("span", toneClass(span.c) + (span.chip ? " dkl-chip" : ""), span.t);
    if (span.h) node.title = span.h;
    return node;
  });
}

function keyOf(block) {
  return "section" in block ? `section ${block.section}` : Object.keys(block)[0];
}

function fillBlock(node, block) {
  if (block.facts) {
    node.replaceChildren(
      ...block.facts.map(([name, line]) => {
        const fact = element("div", "dkl-fact");
        const value = element("span");
        value.append(...spans(line));
        fact.append(element("span", "dkl-muted", name), value);
        return fact;
      }),
    );
  } else if (block.chips) {
    node.replaceChildren(...spans(block.chips).flatMap((chip) => [chip, document.createTextNode(" ")]));
  } else if (block.code) {
    node.replaceChildren(
      ...block.code.flatMap((line, place) => [...(place ? [document.createTextNode("\n")] : []), ...spans(line)]),
    );
  } else if (block.note) {
    node.replaceChildren(...spans(block.note));
  }
}

function makeBlock(block) {
  let node;
  if ("section" in block) {
    node = element("details");
    node.open = block.open;
    const summary = element("summary");
    summary.append(element("b", "", block.section), document.createTextNode(" "), element("span", "dkl-muted", block.hint));
    node.append(summary, ...block.blocks.map(makeBlock));
  } else {
    node = element(block.code ? "pre" : "div", `dkl-${Object.keys(block)[0]}`);
    fillBlock(node, block);
  }
  node.dataset.key = keyOf(block);
  node.dataset.shown = JSON.stringify(block);
  return node;
}

// Existing blocks are kept, with their <details> open or closed, and their scroll positions.
function updateBlocks(parent, blocks) {
  const known = new Map([...parent.children].filter((each) => each.dataset.key).map((each) => [each.dataset.key, each]));
  let last = parent.querySelector(":scope > summary");
  for (const block of blocks) {
    let node = known.get(keyOf(block));
    known.delete(keyOf(block));
    if (!node) node = makeBlock(block);
    else if (node.dataset.shown !== JSON.stringify(block)) {
      node.dataset.shown = JSON.stringify(block);
      if ("section" in block) {
        setText(node.querySelector(":scope > summary > span"), block.hint);
        updateBlocks(node, block.blocks);
      } else fillBlock(node, block);
    }
    const next = last ? last.nextSibling : parent.firstChild;
    if (next !== node) parent.insertBefore(node, next);
    last = node;
  }
  for (const gone of known.values()) gone.remove();
}

// Empty space as tall as the rows that are not on the page.
class Space {
  constructor() {
    this.body = element("tbody", "dkl-space");
    this.body.setAttribute("aria-hidden", "true");
    this.cell = element("td");
    const line = element("tr");
    line.append(this.cell);
    this.body.append(line);
    this.height = 0;
  }

  set(height, columns) {
    this.height = height;
    this.cell.colSpan = columns;
    this.cell.style.height = `${height}px`;
    this.body.hidden = height === 0;
  }
}

// ── the table ───────────────────────────────────────────────────────────────────────────────

export class Table {
  constructor(send, page = "") {
    this.send = (message) => {
      this.sentAt = Date.now();
      send(message);
    };
    this.seq = null;
    this.columns = [];
    this.rows = new Map();
    this.sorting = null; // {place, down}; null is the order of clusters, namespaces and names
    this.view = null; // where the window is among all rows; null if all rows are here
    this.order = []; // the ids of the window's rows
    this.page = page;
    this.number = 0; // of the last request
    this.answered = { page: "", number: -1 };
    this.requestedAt = 0; // when an unanswered request was sent; 0 if there is none
    this.opened = new Set(); // ids of unfolded rows
    this.focused = ""; // the row that had the focus when it left the window
    this.height = 26; // of a row
    this.words = [];
    this.picked = new Set();
    this.flashing = [];
    this.skew = 0;
    this.receivedAt = Date.now();
    this.sentAt = Date.now();
    this.lost = "";
    this.ended = false;
    this.build();
  }

  now() {
    return Date.now() / 1000 + this.skew;
  }

  build() {
    this.root = element("div", "dkl");
    this.title = element("span", "dkl-title", "…");
    this.pill = statusElement("span", "dkl-pill dkl-chip dkl-plain");
    this.reason = element("span", "dkl-muted");
    this.counts = element("span", "dkl-counts");
    this.search = element("input", "dkl-search");
    Object.assign(this.search, { type: "search", placeholder: "find in these rows", spellcheck: false });
    this.search.setAttribute("aria-label", "Find in these rows");
    this.search.addEventListener("input", () => {
      this.words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (!this.view) return this.arrange();
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.requestFromTop(), TYPING);
    });
    const head = element("div", "dkl-head");
    head.append(this.title, this.pill, this.reason, this.counts, this.search);
    this.filter = element("div", "dkl-filter");
    this.filterText = element("code");
    this.filter.append(element("span", "dkl-muted", "filter "), this.filterText);
    this.message = statusElement("div", "dkl-message");
    this.messageText = element("div");
    this.hint = element("div", "dkl-muted", "This is not an error: rows appear as soon as it is served.");
    this.message.append(this.messageText, this.hint);
    this.scroll = element("div", "dkl-scroll");
    this.scroll.tabIndex = 0; // so that the arrow keys scroll it
    keepKeys(this.scroll);
    this.scroll.setAttribute("role", "region");
    this.table = element("table");
    this.caption = this.table.createCaption();
    this.caption.className = "dkl-hidden-text";
    this.headings = element("tr");
    const thead = element("thead");
    thead.append(this.headings);
    this.table.append(thead);
    this.scroll.append(this.table);
    this.above = new Space();
    this.below = new Space();
    this.scroll.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.note = statusElement("div", "dkl-note dkl-muted");
    this.root.append(head, this.filter, this.message, this.scroll, this.note);
    this.drawHead();
  }

  // ── messages ──

  receive(message) {
    if (this.ended) return; // a last message of a kernel that is shut down
    this.receivedAt = Date.now();
    if (Date.now() - this.sentAt >= ALIVE * 1000) this.send(this.seq === null ? this.hello() : { kind: "here" });
    if (typeof message.now === "number") this.skew = message.now - Date.now() / 1000;
    if (message.kind === "details") {
      this.rows.get(message.id)?.showDetails(message.blocks);
      return;
    }
    if (message.kind !== "table" && message.seq !== this.seq + 1) {
      if (this.seq !== null && message.seq > this.seq) this.send(this.hello());
      return;
    }
    if (this.seq !== null && message.seq <= this.seq) return; // arrives late: newer ones were shown
    this.seq = message.seq;
    this.lost = "";
    if (message.kind === "table") this.takeTable(message);
    else if (message.kind === "delta") this.takeDelta(message);
    this.drawHead();
    this.flashAll();
  }

  takeTable(message) {
    const first = this.columns.length === 0;
    const others = this.columns.map((column) => column.name).join("\n") !== message.columns.map((c) => c.name).join("\n");
    if (others) {
      for (const row of this.rows.values()) row.body.remove();
      this.rows.clear();
      this.sorting = null;
    }
    this.head = message.head;
    this.takeColumns(message.columns);
    const ids = new Set(message.rows.map(([id]) => id));
    this.order = [...ids];
    this.takeView();
    this.drop([...this.rows.keys()].filter((id) => !ids.has(id)));
    for (const each of message.rows) {
      const row = this.rows.get(each[0]);
      if (row) row.put(each[1], { ...each[2] });
      else this.add(each, !first && !others && !this.view);
    }
    for (const row of this.rows.values()) if (row.more) this.requestDetails(row.id); // the kernel may have dropped them meanwhile
    this.arrange();
  }

  takeDelta(message) {
    if (message.head) this.head = message.head;
    if (message.columns) this.takeColumns(message.columns);
    if (message.order) this.order = message.order;
    const moved = message.head ? this.takeView() : false;
    this.drop(message.drop ?? []);
    for (const each of message.add ?? []) this.add(each, !this.view);
    for (const [id, version, cells] of message.put ?? []) this.rows.get(id)?.put(version, cells);
    if (moved || message.drop || message.add || message.put || message.order) this.arrange();
  }

  takeColumns(columns) {
    if (JSON.stringify(columns) === JSON.stringify(this.columns)) return;
    this.columns = columns;
    this.drawHeadings();
    for (const row of this.rows.values()) row.places.forEach((node, place) => (node.hidden = !columns[place].shown));
  }

  add(given, news) {
    const row = new Row(this, given);
    this.rows.set(row.id, row);
    if (news) this.flash(row.line, "added");
    if (this.picked.has(row.id)) row.line.classList.add("dkl-picked");
    if (this.opened.has(row.id)) row.fold(true);
  }

  drop(ids) {
    for (const id of ids) {
      const row = this.rows.get(id);
      if (this.view && row?.body.contains(document.activeElement)) {
        this.focused = id;
        this.scroll.focus({ preventScroll: true }); // so that keys still scroll
      }
      row?.body.remove();
      this.rows.delete(id);
      if (!this.view) this.forget(id);
    }
    for (const id of this.opened) if (this.opened.size > OPENED && !this.rows.has(id)) this.forget(id);
  }

  forget(id) {
    this.picked.delete(id);
    this.opened.delete(id);
  }

  requestDetails(id) {
    this.send({ kind: "details", id });
  }

  // ── a window of many rows ──

  hello() {
    return { kind: "hello", scrolls: true, ...this.request() };
  }

  // The window, order and search that the page requests.
  request(first = this.view?.first ?? 0) {
    const column = this.sorting ? this.columns[this.sorting.place]?.name ?? "" : "";
    const top = this.view ? Math.max(0, Math.round(this.top())) : 0;
    return { first, top, column, down: this.sorting?.down ?? false, words: this.words, number: this.number };
  }

  requestView(first) {
    this.number += 1;
    this.requestedAt = Date.now();
    this.send({ kind: "view", ...this.request(first) });
  }

  requestFromTop() {
    this.scroll.scrollTop = 0;
    this.requestView(0);
  }

  // Takes the place of the window, and the request that it answers; returns whether one of them has changed.
  takeView() {
    const [before, view] = [this.view, this.head.view ?? null];
    this.view = view;
    if (!view) return Boolean(before);
    const { page, number, wish, top } = view.asked;
    const mine = page === this.page;
    if (mine && number === this.number) this.requestedAt = 0;
    if (!before && mine && (this.sorting || this.words.length) && !wish.column && !wish.words.length) this.requestView(0);
    else if (page !== this.answered.page || number !== this.answered.number) {
      if (!mine) this.follow(wish, top);
    } else if (before && view.first !== before.first && this.scroll.scrollTop > 0) {
      this.scroll.scrollTop += (view.first - before.first) * this.height * this.scale(); // rows above have come or gone
    }
    this.answered = { page, number };
    return JSON.stringify(before) !== JSON.stringify(view);
  }

  // Shows what another page of this table has requested.
  follow(wish, top) {
    const place = this.columns.findIndex((column) => column.name === wish.column);
    this.sorting = place < 0 ? null : { place, down: wish.down };
    this.words = wish.words;
    if (document.activeElement !== this.search) this.search.value = wish.words.join(" ");
    this.drawSorting();
    this.jump = top; // once the space is as tall as that
  }

  tall() {
    return Math.min(this.view.found * this.height, TALLEST);
  }

  // Pixels of scrolling for each pixel of rows: 1, except for tables that are taller than browsers allow.
  scale() {
    const seen = this.scroll.clientHeight;
    const all = this.view.found * this.height;
    return all > TALLEST ? (TALLEST - seen) / (all - seen) : 1;
  }

  // The number of the first visible row, as a fraction.
  top() {
    return this.scroll.scrollTop / this.scale() / this.height;
  }

  scrolled() {
    if (!this.view) return;
    this.space();
    if (this.requestedAt && Date.now() - this.requestedAt < RETRY) return; // called again when the answer arrives
    const [top, seen, held] = [this.top(), this.scroll.clientHeight / this.height, this.order.length];
    const { first, found } = this.view;
    const short = (first > 0 && top - NEAR < first) || (first + held < found && top + seen + NEAR > first + held);
    const wanted = Math.max(0, Math.min(Math.round(top + seen / 2 - held / 2), found - held));
    if (short && wanted !== first) this.requestView(wanted);
  }

  // Makes the space above and below the window as tall as the rows outside of it.
  space() {
    const { first } = this.view;
    const rows = this.order.length * this.height;
    const above = this.scale() === 1 ? first * this.height : this.scroll.scrollTop - (this.top() - first) * this.height;
    this.above.set(Math.max(0, Math.min(above, this.tall() - rows)), this.columns.length + 1);
    this.below.set(Math.max(0, this.tall() - this.above.height - rows), this.columns.length + 1);
  }

  // Sets the space around the window and the row numbers for screen readers, and restores the focus.
  frame() {
    if (!this.view) {
      this.above.body.remove();
      this.below.body.remove();
      this.table.removeAttribute("aria-rowcount");
      for (const row of this.rows.values()) row.line.removeAttribute("aria-rowindex");
      return;
    }
    this.height = this.rows.get(this.order[0])?.line.getBoundingClientRect().height || this.height;
    this.table.setAttribute("aria-rowcount", this.view.found + 1);
    this.headings.setAttribute("aria-rowindex", 1);
    this.order.forEach((id, place) => this.rows.get(id)?.line.setAttribute("aria-rowindex", this.view.first + place + 2));
    const at = this.scroll.scrollTop;
    this.space();
    if (this.jump !== undefined) this.scroll.scrollTop = this.jump * this.height * this.scale();
    else if (this.scroll.scrollTop !== at) this.scroll.scrollTop = at;
    this.jump = undefined;
    const row = this.rows.get(this.focused);
    if (row && document.activeElement === this.scroll) row.toggle.focus({ preventScroll: true });
    if (row || document.activeElement !== this.scroll) this.focused = "";
    this.scrolled();
  }

  // ── the heading ──

  drawHead() {
    const head = this.head ?? { title: "…", phase: "…", tone: "plain", reason: "", message: "waiting for the kernel", counts: "" };
    setText(this.title, head.title);
    setText(this.caption, head.title);
    this.scroll.setAttribute("aria-label", `Rows of ${head.title}`);
    setText(this.pill, this.lost ? "STOPPED" : head.phase);
    const classes = `dkl-pill dkl-chip ${this.lost ? "dkl-plain" : toneClass(head.tone)}`;
    if (this.pill.className !== classes) this.pill.className = classes;
    setTitle(this.pill, head.since ? `since ${new Date(head.since * 1000).toLocaleString()}` : "");
    setText(this.reason, this.lost ? "" : head.reason);
    setText(this.counts, head.counts);
    setText(this.filterText, head.filter ?? "");
    this.filter.hidden = !head.filter;
    const message = this.lost || head.message;
    setText(this.messageText, message);
    this.hint.hidden = Boolean(this.lost) || head.phase !== "ABSENT";
    this.message.hidden = !message;
    this.root.classList.toggle("dkl-stopped", this.stopped());
    this.scroll.hidden = this.rows.size === 0 && !this.view;
    this.search.hidden = this.rows.size === 0 && this.words.length === 0;
    const place = this.view ? "find in all rows" : "find in these rows";
    if (this.search.placeholder !== place) {
      this.search.placeholder = place;
      this.search.setAttribute("aria-label", `F${place.slice(1)}`);
    }
  }

  // Whether the table is not updated any more.
  stopped() {
    return Boolean(this.lost || this.head?.following === false);
  }

  drawHeadings() {
    const fold = element("th", "dkl-fold");
    fold.scope = "col";
    fold.append(element("span", "dkl-hidden-text", "Details"));
    this.headings.replaceChildren(fold);
    this.columns.forEach((column, place) => {
      const top = element("th", `dkl-${column.kind}`);
      top.scope = "col";
      top.hidden = !column.shown;
      const button = element("button", "dkl-sort", column.name);
      button.type = "button";
      button.title = column.title || `Sort by ${column.name}`;
      button.addEventListener("click", () => this.sortBy(place));
      top.append(button);
      this.headings.append(top);
    });
    this.drawSorting();
  }

  drawSorting() {
    [...this.headings.children].slice(1).forEach((top, place) => {
      const here = this.sorting?.place === place;
      top.setAttribute("aria-sort", here ? (this.sorting.down ? "descending" : "ascending") : "none");
    });
  }

  // Up, down, and back to the order of clusters, namespaces and names.
  sortBy(place) {
    if (this.sorting?.place !== place) this.sorting = { place, down: false };
    else if (!this.sorting.down) this.sorting = { place, down: true };
    else this.sorting = null;
    this.drawSorting();
    if (this.view) this.requestFromTop();
    else this.arrange();
  }

  // ── the rows ──

  compare(a, b) {
    if (this.sorting) {
      const { place, down } = this.sorting;
      const [x, y] = [a.cells[place], b.cells[place]];
      const number = this.columns[place].kind === "number" && x.t && y.t;
      // A later time is a smaller age. Numbers are compared as such, as collators ignore signs and fractions.
      const order =
        x.at !== undefined || y.at !== undefined
          ? (y.at ?? -Infinity) === (x.at ?? -Infinity) ? 0 : (y.at ?? -Infinity) - (x.at ?? -Infinity)
          : number ? Number(x.t) - Number(y.t) : collator.compare(x.t, y.t);
      if (order) return down ? -order : order;
    }
    const differing = a.place.findIndex((part, which) => part !== b.place[which]);
    return differing < 0 ? 0 : a.place[differing] < b.place[differing] ? -1 : 1;
  }

  matches(row) {
    if (!this.words.length) return true;
    const text = row.cells.map((cell) => cell.t).join("\n").toLowerCase();
    return this.words.every((word) => text.includes(word));
  }

  // Puts rows in order, without moving those that are in their place.
  arrange() {
    const ordered = this.view
      ? this.order.map((id) => this.rows.get(id)).filter(Boolean)
      : [...this.rows.values()].sort((a, b) => this.compare(a, b));
    if (this.view && !this.above.body.parentNode) {
      this.table.tHead.after(this.above.body);
      this.table.append(this.below.body);
    }
    let shown = 0;
    const end = this.view ? this.below.body : null;
    let at = (this.view ? this.above.body : this.table.tHead).nextSibling;
    for (const row of ordered) {
      const visible = this.view !== null || this.matches(row);
      row.body.hidden = !visible;
      shown += visible;
      if (row.body === at) {
        at = at.nextSibling;
      } else if (at && row.body === at.nextSibling) {
        // The row at this place belongs further down, and is moved there later.
        const late = at;
        at = row.body.nextSibling;
        this.move(late, end);
      } else {
        this.move(row.body, at);
      }
    }
    const limited = this.head && this.head.shown < this.head.matching;
    const notes = [];
    if (this.view) notes.push(...this.found());
    else if (this.words.length) notes.push(`${shown} of these ${ordered.length} rows match`);
    if (limited) notes.push(["sorting and search apply only to the rows shown", this.head.narrower].filter(Boolean).join("; "));
    setText(this.note, notes.join(" · "));
    this.note.hidden = !notes.length;
    this.frame();
    this.drawHead();
  }

  found() {
    const { found, done, asked } = this.view;
    const busy = done < 1 ? [`${asked.wish.words.length ? "searching" : "sorting"}: ${Math.floor(done * 10) * 10} %`] : [];
    const matches = `${found.toLocaleString("en")} of ${this.head.matching.toLocaleString("en")} rows match`;
    return [...(asked.wish.words.length ? [matches] : []), ...busy];
  }

  move(body, before) {
    // moveBefore keeps the focus and scroll positions inside of the row (Chromium 133).
    if (body.parentNode && this.table.moveBefore) this.table.moveBefore(body, before);
    else this.table.insertBefore(body, before);
  }

  pick(row, event) {
    if (event.target.closest("button, summary, .dkl-details") || String(document.getSelection())) return;
    const was = this.picked.has(row.id);
    if (!event.ctrlKey && !event.metaKey) {
      for (const id of this.picked) this.rows.get(id)?.line.classList.remove("dkl-picked");
      this.picked.clear();
    }
    if (was) this.picked.delete(row.id);
    else this.picked.add(row.id);
    row.line.classList.toggle("dkl-picked", !was);
  }

  // Kept until the whole message is applied: starting an animation in between would cause a layout each time.
  flash(node, why) {
    this.flashing.push([node, why]);
  }

  flashAll() {
    const some = this.flashing.splice(0);
    if (some.length > MANY || !some.length || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const style = getComputedStyle(this.root);
    const colours = { changed: style.getPropertyValue("--dkl-changed"), added: style.getPropertyValue("--dkl-added") };
    for (const [node, why] of some) {
      const backgroundColor = colours[why] || "transparent";
      node.animate?.([{ backgroundColor }, { backgroundColor: "transparent" }], { duration: FLASH, easing: "ease-in" });
    }
  }

  // ── time ──

  tick() {
    if (!this.stopped()) for (const row of this.rows.values()) row.tick(); // stopped tables do not look live
    const silent = (Date.now() - this.receivedAt) / 1000;
    if (silent <= SILENCE || this.ended || this.head?.following === false) return;
    if (!this.lost) this.lose(this.seq === null ? UNKNOWN_TABLE : LATE);
    if (Date.now() - this.sentAt >= SILENCE * 1000) this.send(this.hello()); // it may have been suspended
  }

  lose(why) {
    this.lost = why;
    this.drawHead();
    for (const row of this.rows.values()) row.awaitDetails();
  }

  end() {
    this.ended = true;
    this.lose("the kernel has ended: run the cell again");
  }
}

function render({ model, el }) {
  const page = crypto.randomUUID?.() ?? String(Math.random());
  const table = new Table((message) => {
    try {
      model.send({ ...message, page });
    } catch {
      // The kernel is gone, which the table shows.
    }
  }, page);
  const receive = (message) => table.receive(message);
  model.on("msg:custom", receive);
  el.append(table.root);
  table.send(table.hello());
  const clock = setInterval(() => table.tick(), 1000);
  // ipywidgets triggers it when the kernel is gone or restarted.
  const gone = () => table.end();
  model.on("comm_live_update", gone);
  return () => {
    clearInterval(clock);
    model.off("comm_live_update", gone);
    model.off("msg:custom", receive);
    table.send({ kind: "bye" });
  };
}

export default { render };
