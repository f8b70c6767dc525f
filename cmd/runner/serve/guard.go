package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"prdrunner/cmd/runner/page"
)

// guard lets only those requests through that a browser sends which knows the token, from a page of this server.
type guard struct {
	token  string
	secret string // that every form holds: another site can't know it
	cookie string // the name of the cookie: ports share their cookies
	port   string
	hosts  []string // further names of the server, as a proxy in front of it has
	open   bool     // other machines can reach the server
	pages  *page.Server

	mu      sync.Mutex
	entered map[string]bool   // the values of cookies
	notices map[string]string // by the value of a cookie: what the next page says of the last action
}

// mostEntered bounds how many browsers are let in.
const mostEntered = 10_000

func newGuard(token string, addr net.Addr, hosts []string, pages *page.Server) *guard {
	g := &guard{token: token, secret: rand.Text(), hosts: hosts, pages: pages, entered: map[string]bool{}, notices: map[string]string{}}
	if tcp, ok := addr.(*net.TCPAddr); ok {
		g.open = !tcp.IP.IsLoopback()
	}
	_, g.port, _ = net.SplitHostPort(addr.String())
	g.cookie = "runner_" + g.port
	return g
}

// protect returns a handler that lets only some requests through to next.
func (g *guard) protect(next http.Handler) http.Handler {
	// It refuses requests of other sites that change something, by what browsers say of where they come from.
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This form comes from another site, or the browser is too old to say where it comes from. Nothing was changed.", http.StatusForbidden)
	}))
	sameOrigin := protection.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.enter(w, r, next) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !g.knows(r.Host) { // a name of another site may lead here
			http.Error(w, "This server does not answer for "+r.Host+". If that is a proxy in front of it, start it with --host.", http.StatusMisdirectedRequest)
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

// knows reports whether a request may name the server so. An address can't be the name of another site.
func (g *guard) knows(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "80"
	}
	switch {
	case slices.Contains(g.hosts, strings.ToLower(name)): // at the port of the proxy
		return true
	case port != g.port:
		return false
	}
	ip := net.ParseIP(name)
	switch {
	case name == "localhost", ip != nil && (g.open || ip.IsLoopback()):
		return true
	case g.open:
		own, err := os.Hostname()
		return err == nil && strings.EqualFold(name, own) // browsers write it in lower case
	}
	return false
}

// enter exchanges the token for a cookie, and lets requests with one through.
func (g *guard) enter(w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch given := r.URL.Query().Get("token"); {
	case r.Method == http.MethodPost && r.URL.Path == "/login":
		g.login(w, r)
	case given != "" && r.Method == http.MethodGet:
		switch {
		case g.isToken(given):
			g.letIn(w, r)
		case !g.hasEntered(r): // of the server before this one, perhaps
			g.askForToken(w, withoutToken(r.URL), true)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = g.pages.Enter(w, withoutToken(r.URL))
	case g.hasEntered(r), strings.HasPrefix(r.URL.Path, "/static/"): // what is static holds no secret
		next.ServeHTTP(w, r)
	case r.Method == http.MethodGet:
		g.askForToken(w, withoutToken(r.URL), false)
	default:
		http.Error(w, "This needs the token that runner serve printed.", http.StatusUnauthorized)
	}
}

// login exchanges a token that a person typed.
func (g *guard) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	back, err := url.Parse(r.PostFormValue("to"))
	if err != nil {
		back = &url.URL{}
	}
	if !g.isToken(r.PostFormValue("token")) {
		g.askForToken(w, withoutToken(back), true)
		return
	}
	g.letIn(w, r)
	http.Redirect(w, r, withoutToken(back), http.StatusSeeOther)
}

// askForToken shows a form for the token. It leads to a path afterwards.
func (g *guard) askForToken(w http.ResponseWriter, to string, refused bool) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_ = g.pages.Login(w, to, refused)
}

func (g *guard) isToken(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// letIn gives the browser a cookie. If a proxy says that the browser came with TLS, the cookie is for TLS alone.
func (g *guard) letIn(w http.ResponseWriter, r *http.Request) {
	value := rand.Text()
	g.mu.Lock()
	if len(g.entered) >= mostEntered {
		clear(g.entered)
		clear(g.notices)
	}
	g.entered[value] = true
	g.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.Header.Get("X-Forwarded-Proto") == "https"})
}

func (g *guard) hasEntered(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	if err != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.entered[c.Value]
}

// setNotice keeps what a command has printed for the next page that the browser shows.
func (g *guard) setNotice(r *http.Request, text string) {
	if c, err := r.Cookie(g.cookie); err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.notices[c.Value] = text
	}
}

// takeNotice returns what setNotice has kept, once.
func (g *guard) takeNotice(r *http.Request) string {
	c, err := r.Cookie(g.cookie)
	if err != nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	text := g.notices[c.Value]
	delete(g.notices, c.Value)
	return text
}

// isForm reports whether a form was sent from a page of this server.
func (g *guard) isForm(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(g.secret), []byte(r.PostFormValue("csrf"))) == 1
}

// withoutToken returns the path and the query of an address without the token.
func withoutToken(u *url.URL) string {
	rest := u.Query()
	rest.Del("token")
	to := url.URL{Path: u.Path, RawQuery: rest.Encode()}
	if to.Path == "" || to.Path[0] != '/' || len(to.Path) > 1 && (to.Path[1] == '/' || to.Path[1] == '\\') { // it would lead to another server
		to.Path = "/"
	}
	return to.String()
}
