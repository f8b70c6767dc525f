// Live pages: parts of a session that have changed replace those that are shown, and logs grow.
(function () {
  "use strict";
  var state = document.getElementById("live");
  function connect(path, names) {
    var source = new EventSource(path);
    source.addEventListener("open", function () { state.textContent = " · live"; });
    source.addEventListener("error", function () { state.textContent = " · not connected, trying again"; });
    Object.keys(names).forEach(function (name) {
      source.addEventListener(name, function (event) { names[name](event.data, source); });
    });
  }
  var live = document.body.dataset.live;
  if (live && window.EventSource) {
    connect(live, {
      part: function (data) {
        var part = JSON.parse(data), old = document.getElementById(part.id);
        if (!old) { location.reload(); return; }
        var holder = document.createElement(old.tagName === "TR" ? "tbody" : "div");
        holder.innerHTML = part.html;
        var next = holder.firstElementChild;
        if (old.contains(document.activeElement) && document.activeElement.form) return; // someone is answering
        old.replaceWith(next);
      },
      reload: function () { location.reload(); }
    });
  }
  var log = document.querySelector("pre[data-follow]");
  if (log && window.EventSource) {
    connect(log.dataset.follow, {
      text: function (data) {
        var atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
        log.append(JSON.parse(data));
        if (atEnd) log.scrollTop = log.scrollHeight;
      },
      end: function (data, source) { source.close(); state.textContent = " · ended"; }
    });
    log.scrollTop = log.scrollHeight;
  }
})();
