// Live pages: parts that have changed replace those that are shown, and logs grow.
(function () {
  "use strict";
  var state = document.getElementById("live");
  function say(text, bad) {
    state.textContent = text;
    state.className = bad ? "bad" : "";
  }

  // connect takes events as long as the page is visible: browsers have few connections for all pages of a server.
  function connect(path, names) {
    var source = null, last = "";
    function open() {
      source = new EventSource(path + (last ? "?last=" + encodeURIComponent(last) : ""));
      source.addEventListener("open", function () { say("live"); });
      source.addEventListener("error", function () {
        say(source.readyState === EventSource.CLOSED ? "not connected: load the page again" : "not connected, trying again", true);
      });
      Object.keys(names).forEach(function (name) {
        source.addEventListener(name, function (event) {
          last = event.lastEventId || last;
          names[name](event.data, close);
        });
      });
    }
    function close() {
      if (source) source.close();
      source = null;
      document.removeEventListener("visibilitychange", toggle);
    }
    function toggle() {
      if (document.hidden && source) {
        source.close();
        source = null;
      } else if (!document.hidden && !source) {
        if (names.opening) names.opening();
        open();
      }
    }
    document.addEventListener("visibilitychange", toggle);
    toggle();
  }

  // What someone is filling in stays as it is. A note says that there is something newer.
  document.addEventListener("input", function (event) {
    if (event.target.form) event.target.form.dataset.touched = "";
  });
  // A form is sent once, however often its button is pressed.
  document.addEventListener("submit", function (event) {
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  function isInUse(element) {
    return element.querySelector("form[data-touched]") !== null || element.contains(document.activeElement) && !!document.activeElement.form;
  }
  function noteIn(element) {
    if (element.querySelector(".changed")) return;
    var note = document.createElement("p"), link = document.createElement("a");
    note.className = "changed";
    note.setAttribute("role", "status");
    link.href = location.pathname + location.search;
    link.textContent = "Load the page again";
    note.append("This has changed since the page was made. ", link);
    element.prepend(note);
  }

  // What has the focus gets it again, if it is there after a change. So does what was scrolled.
  function inside(part, selector) {
    return [part].concat(Array.from(part.querySelectorAll(selector)));
  }
  function isSame(a, b) {
    return a.tagName === b.tagName && a.id === b.id && a.getAttribute("href") === b.getAttribute("href") && a.name === b.name;
  }
  function replace(part) {
    var old = document.getElementById(part.id);
    if (!old) return; // the page has another shape, and is loaded again
    var holder = document.createElement(old.tagName === "TR" ? "tbody" : "div");
    holder.innerHTML = part.html;
    var next = holder.firstElementChild;
    if (next.isEqualNode(old)) return;
    if (isInUse(old)) { noteIn(old); return; }
    var focus = old.contains(document.activeElement) ? document.activeElement : null;
    var scrolled = inside(old, "[tabindex]").map(function (e) { return e.hasAttribute("tabindex") ? [e.scrollLeft, e.scrollTop] : [0, 0]; });
    old.replaceWith(next);
    inside(next, "[tabindex]").forEach(function (e, i) {
      if (!scrolled[i] || scrolled[i][0] === 0 && scrolled[i][1] === 0) return;
      e.scrollLeft = scrolled[i][0];
      e.scrollTop = scrolled[i][1];
    });
    var again = focus && inside(next, "a[href], button, summary, [tabindex]").find(function (e) { return isSame(e, focus); });
    if (again) again.focus({ preventScroll: true });
    document.dispatchEvent(new Event("replaced"));
  }

  var live = document.body.dataset.live;
  if (live && window.EventSource) {
    connect(live, {
      part: function (data) { replace(JSON.parse(data)); },
      shape: function (shape) {
        if (shape === document.body.dataset.shape) return;
        if (isInUse(document.body)) noteIn(document.querySelector("main"));
        else location.reload();
      }
    });
  }

  var log = document.querySelector("pre[data-follow]");
  if (log && window.EventSource) {
    var pieces = [], size = 0, mostCharacters = 4 << 20;
    var fresh = true; // the next text is the first one of a connection, which begins with lines that are shown already
    connect(log.dataset.follow, {
      text: function (data) {
        var atEnd = fresh || log.scrollTop + log.clientHeight >= log.scrollHeight - 4, piece = document.createElement("span");
        if (fresh) {
          log.textContent = "";
          pieces = [];
          size = 0;
        }
        fresh = false;
        piece.innerHTML = JSON.parse(data);
        log.append(piece);
        pieces.push(piece);
        size += piece.textContent.length;
        while (size > mostCharacters && pieces.length > 1) {
          size -= pieces[0].textContent.length;
          pieces.shift().remove();
        }
        if (atEnd) log.scrollTop = log.scrollHeight;
      },
      end: function (data, close) {
        close();
        say("ended");
        location.reload(); // the page says what the step did while it ran
      },
      error: function () { fresh = true; },
      opening: function () { fresh = true; }
    });
    log.scrollTop = log.scrollHeight;
  }
})();
