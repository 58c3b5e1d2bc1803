package taskui

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"taskkit.dev/internal/access"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

// Config configures the dashboard. The zero Config serves it below /tasks, to browsers of this machine alone.
type Config struct {
	// Access finds out who makes a request and what this person may do. An error is answered with 401; its text is logged and
	// not sent. It must be safe for concurrent use. Defaults to [ThisMachine]: all rights for requests that come from a loopback
	// address to a loopback name without a header of a proxy, and a refusal of all others.
	Access func(r *http.Request) (Person, error)
	// Authorize decides besides the level about each operation with a task, as it does for package taskhttp: both
	// must allow it. The Detail of the caller is the [Person]. Defaults to none.
	Authorize taskhttp.Authorizer
	// Operator decides besides the level about each operation of operators, as it does for package taskhttp. Defaults to none.
	Operator taskhttp.OperatorAuthorizer
	// Start returns further options of a task of a kind that a person starts from a form, such as taskkit.WithQueue. An error refuses it, and is
	// shown if it is an *[taskkit.OptionError]. Defaults to none.
	Start func(ctx context.Context, p Person, kind string) ([]taskkit.SubmitOption, error)
	// EndWorker ends the process of a worker that has not ended, by its id in [taskops.WorkerInfo]. The page Workers has a button for it; a person needs [OpEndWorker]. An error
	// is shown to the person. It is called by concurrent requests, and with the deadline of a page. Defaults to none: the page has no button.
	EndWorker func(ctx context.Context, worker string) error
	// Prefix is the path below which the dashboard is served, as the handler sees it: "/" behind http.StripPrefix. Defaults to "/tasks".
	Prefix string
	// Title is the name of the dashboard. Defaults to "taskkit".
	Title string
	// Doctor are the options of the page Health, see [taskdoctor.Run]. Its Schema is the one of the client. Defaults to the zero Options.
	Doctor taskdoctor.Options
	// CrossOrigin refuses requests of browsers that come from other sites. Defaults to one that trusts no other site.
	CrossOrigin *http.CrossOriginProtection
	// Timeout bounds what a page reads, but for the checks of the page Health. Defaults to 10 s; at most 1 min.
	Timeout time.Duration
	// Logger receives errors that are not shown, and each change with the person and the reason. Defaults to slog.Default().
	Logger *slog.Logger
}

const (
	maxTimeout = time.Minute
	keepCounts = 2 * time.Second
	keepDoctor = 30 * time.Second
)

// dashboard is the handler of [New].
type dashboard struct {
	config     Config
	client     *taskkit.Client
	registry   *taskkit.Registry
	ops        *taskops.Operator
	db         *sql.DB
	mux        *http.ServeMux
	pages      []page
	templates  map[string]*template.Template // by page
	assets     *assets
	sent       *sentForms
	counts     *kept[countsOfTasks]
	dead       *kept[deadTasks]
	queues     *kept[[]taskops.QueueInfo]
	speed      *kept[string]
	ended      *kept[[]endedHour]
	endedHours endedHours
	doctor     *kept[*taskdoctor.Report]
	kinds      map[string]*startable
	schema     string // of the tables
}

// New returns the handler of the dashboard for the database and the schema of a client. It does not use the database. The kinds
// of the registry can be started; a nil registry has none. It returns the mistakes, joined: *[taskkit.OptionError], and *[taskkit.UsageError]
// of the registry.
func New(client *taskkit.Client, registry *taskkit.Registry, c Config) (http.Handler, error) {
	c.Prefix = cmp.Or(c.Prefix, "/tasks")
	c.Title = cmp.Or(c.Title, "taskkit")
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.CrossOrigin = cmp.Or(c.CrossOrigin, http.NewCrossOriginProtection())
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if registry == nil {
		registry = new(taskkit.Registry)
	}
	errs := []error{c.check(), registry.Err()}
	d := &dashboard{
		config: c, client: client, registry: registry, mux: http.NewServeMux(), sent: newSentForms(), counts: newKept[countsOfTasks](keepCounts),
		dead: newKept[deadTasks](keepCounts), queues: newKept[[]taskops.QueueInfo](keepCounts), speed: newKept[string](keepCounts), ended: newKept[[]endedHour](keepThroughput), doctor: newKept[*taskdoctor.Report](keepDoctor),
	}
	if client == nil {
		errs = append(errs, &taskkit.OptionError{Option: "client", Problem: "nil: pass the result of taskkit.NewClient"})
	} else {
		if d.db, d.schema = access.ClientOf(client).DB(); d.db == nil {
			errs = append(errs, &taskkit.OptionError{Option: "client", Problem: "made of another handle than *sql.DB: the dashboard begins transactions of its own"})
		}
		d.ops = taskops.New(client)
		d.config.Doctor.Schema = d.schema
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.Access == nil {
		d.config.Access = ThisMachine
	}
	var err error
	if d.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if d.kinds, err = newStartables(registry); err != nil {
		return nil, err
	}
	d.pages = pages()
	if d.templates, err = parseTemplates(d.pages); err != nil {
		return nil, err
	}
	d.routes()
	return d, nil
}

// check returns the mistakes of a configuration, joined.
func (c *Config) check() error {
	var errs []error
	if c.Prefix != path.Clean(c.Prefix) || !strings.HasPrefix(c.Prefix, "/") || strings.HasPrefix(c.Prefix, "//") {
		errs = append(errs, &taskkit.OptionError{Option: "Config.Prefix", Problem: fmt.Sprintf("%.100q is not a path like /tasks, or / behind http.StripPrefix", c.Prefix)})
	}
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		errs = append(errs, &taskkit.OptionError{Option: "Config.Timeout", Problem: fmt.Sprintf("%s is not between 0 and %s", c.Timeout, maxTimeout)})
	}
	return errors.Join(append(errs, c.Doctor.Validate())...)
}

// policy is the Content-Security-Policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (d *dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")

	ctx, cancel := context.WithTimeout(r.Context(), d.config.Timeout)
	defer cancel()
	extend(w, d.config.Timeout)
	req := &request{Request: r.WithContext(ctx), d: d, w: w, key: newKey()}
	defer d.recovered(req)

	below, ok := cutPrefix(r.URL.Path, d.config.Prefix)
	if !ok {
		req.root = strings.Repeat("../", max(strings.Count(r.URL.Path, "/")-1, 0)) + strings.TrimPrefix(d.config.Prefix, "/") + "/"
		d.refuse(req, &problem{
			status: http.StatusNotFound, title: "There is no page here", detail: "The dashboard is served below " + d.config.Prefix + ".",
			remedy: "If another path leads here, give it as Config.Prefix, or use http.StripPrefix and the prefix /.",
		})
		return
	}
	if below == "" { // links are relative to the directory
		w.Header().Set("Location", path.Base(d.config.Prefix)+"/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	req.root = strings.Repeat("../", strings.Count(below, "/")-1)
	if req.root == "" {
		req.root = "./"
	}
	if d.serveAsset(w, r, below) {
		return
	}
	if err := d.config.CrossOrigin.Check(r); err != nil {
		d.refuse(req, errCrossOrigin)
		return
	}
	who, err := d.config.Access(req.Request)
	if err == nil {
		err = who.check()
	}
	if err != nil {
		d.refuseAccess(req, err)
		return
	}
	req.who = who
	if who.Level == None {
		d.refuse(req, errNoAccess)
		return
	}
	req.sees = req.mayOperate(ctx, taskhttp.OpExplainJobs)
	// The mux would answer an unclean path with a redirect that lacks the prefix.
	clean := path.Clean(below)
	if below != "/" && clean != below {
		d.refuse(req, errNoPage)
		return
	}
	inner := req.Request.Clone(ctx)
	inner.URL.Path, inner.URL.RawPath = below, ""
	inner.Pattern = ""
	handler, pattern := d.mux.Handler(inner)
	if pattern == "" {
		d.refuse(req, unrouted(handler, inner))
		return
	}
	req.Request = inner.WithContext(context.WithValue(ctx, requestKey{}, req))
	d.mux.ServeHTTP(w, req.Request)
}

// requestKey is the key of a context under which the mux passes a *request on.
type requestKey struct{}

// cutPrefix returns the path below a prefix, which begins with a slash, or is "" for the prefix itself.
func cutPrefix(p, prefix string) (string, bool) {
	if prefix == "/" {
		if p == "" {
			p = "/"
		}
		return p, strings.HasPrefix(p, "/")
	}
	below, ok := strings.CutPrefix(p, prefix)
	return below, ok && (below == "" || below[0] == '/')
}

// extend gives the connection time to read a request and to write its answer. A server that does not support it has timeouts of its own.
func extend(w http.ResponseWriter, timeout time.Duration) {
	const slow = 20 * time.Second // for a slow connection
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(timeout + slow))
	_ = c.SetWriteDeadline(time.Now().Add(timeout + slow))
}

// routes adds the pages and the actions to the mux.
func (d *dashboard) routes() {
	for _, p := range d.pages {
		d.handle("GET /"+p.path, func(r *request) error { return d.show(r, p) })
	}
	for _, f := range downloads() {
		d.handle("GET /"+f.path, func(r *request) error { return d.download(r, f) })
	}
	d.handle("POST /"+startPage.path, d.start)
	for _, a := range actions() {
		d.handle("POST /"+a.path, func(r *request) error { return d.act(r, a) })
	}
}

// handle adds a handler that is called with the request of a person.
func (d *dashboard) handle(pattern string, h func(*request) error) {
	if strings.HasSuffix(pattern, " /") {
		pattern += "{$}"
	}
	d.mux.HandleFunc(pattern, func(_ http.ResponseWriter, r *http.Request) {
		req, _ := r.Context().Value(requestKey{}).(*request)
		if req == nil {
			return
		}
		req.Request = r
		if err := h(req); err != nil {
			d.refuse(req, err)
		}
	})
}
