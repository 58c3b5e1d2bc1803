package taskhttp

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskops"
)

// Config configures a [Server].
type Config struct {
	// Caller finds out who makes a request. An error means that the request is unauthenticated, and is
	// answered with 401; its text is logged and not sent. Required.
	Caller func(r *http.Request) (Caller, error)
	// Authorize decides what a caller may do, see [Authorizer] and [OwnJobs]. Required.
	Authorize Authorizer
	// Operator decides who may operate the service: schedules, queues, dead letters and
	// limits, see [OperatorAuthorizer]. Without it these calls do not exist. Defaults to none.
	Operator OperatorAuthorizer
	// Doctor are the options of the report for operators on what is wrong, see [taskdoctor.Run]. Its Schema is the one of
	// this configuration. Defaults to the zero Options.
	Doctor taskdoctor.Options
	// Prefix is the path below which jobs are. Defaults to "/jobs".
	Prefix string
	// External is what clients reach this server under: what comes before Prefix and the paths of starts, such as
	// /api behind a proxy that strips this, or https://example.org/api. Links and the header Location begin with it.
	// Defaults to "", the paths of this server.
	External string
	// Schema is the PostgreSQL schema of the tables. Defaults to "taskkit".
	Schema string
	// Document says what the OpenAPI document has besides the calls.
	Document Document
	// Challenge is the header WWW-Authenticate of a 401. Defaults to "Bearer".
	Challenge string
	// CrossOrigin refuses requests of browsers that come from other sites. Defaults to
	// one that trusts no other site.
	CrossOrigin *http.CrossOriginProtection
	// MaxBody is the largest body of a request, in bytes. Defaults to taskjson.MaxSize.
	MaxBody int64
	// MaxWatchers is how many requests may wait for jobs at once, event streams among them. Defaults to 10,000.
	MaxWatchers int
	// MaxWatchersPerCaller is how many of these may be of one owner. Defaults to 100.
	MaxWatchersPerCaller int
	// Poll is the interval of the query that reads all jobs for which requests wait. It
	// is one query, of 1,000 jobs each, and none while no request waits. Defaults to
	// 500 ms.
	Poll time.Duration
	// Logger receives errors that are not sent. Defaults to slog.Default().
	Logger *slog.Logger
}

// Server serves jobs over HTTP. It is an http.Handler and is safe for concurrent use.
type Server struct {
	config Config
	db     *sql.DB
	client *taskkit.Client
	ops    *taskops.Operator
	mux    *http.ServeMux
	hub    *hub
	waits  waits
	clock  clock

	previews previews

	comment  time.Duration // between the comments of an event stream
	bodyTime time.Duration // that a client may take to send a body

	mu     sync.Mutex
	starts []start             // in the order of their registration
	files  map[string]openFile // by kind

	drained  sync.Once
	draining chan struct{} // closed by Drain
}

// New returns a server of the jobs in a database. It does not use the database. It
// returns a *[taskkit.OptionError] without a database, Caller or Authorize.
func New(db *sql.DB, c Config) (*Server, error) {
	switch {
	case db == nil:
		return nil, &taskkit.OptionError{Option: "db", Problem: "nil: pass the database of the tasks"}
	case c.Caller == nil:
		return nil, &taskkit.OptionError{Option: "Config.Caller", Problem: "nil: say who makes a request"}
	case c.Authorize == nil:
		return nil, &taskkit.OptionError{Option: "Config.Authorize", Problem: "nil: say who may do what, for example with OwnJobs"}
	}
	c.Prefix = cmp.Or(c.Prefix, "/jobs")
	if path.Clean(c.Prefix) != c.Prefix || !strings.HasPrefix(c.Prefix, "/") || c.Prefix == "/" || strings.ContainsAny(c.Prefix, "{}") {
		return nil, &taskkit.OptionError{Option: "Config.Prefix", Problem: fmt.Sprintf("%q is not a path like /jobs", c.Prefix)}
	}
	if !externalForm.MatchString(c.External) {
		return nil, &taskkit.OptionError{Option: "Config.External", Problem: fmt.Sprintf("%.100q is neither a path like /api nor an address like https://example.org/api", c.External)}
	}
	c.Schema = cmp.Or(c.Schema, taskkit.DefaultSchema)
	c.Doctor.Schema = c.Schema
	if err := c.Doctor.Validate(); err != nil {
		return nil, fmt.Errorf("Config.Doctor: %w", err)
	}
	c.Challenge = cmp.Or(c.Challenge, "Bearer")
	c.CrossOrigin = cmp.Or(c.CrossOrigin, http.NewCrossOriginProtection())
	c.MaxBody = cmp.Or(c.MaxBody, taskjson.MaxSize)
	c.MaxWatchers = cmp.Or(c.MaxWatchers, 10_000)
	c.MaxWatchersPerCaller = cmp.Or(c.MaxWatchersPerCaller, 100)
	c.Poll = cmp.Or(c.Poll, 500*time.Millisecond)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	client := taskkit.NewClient(db, taskkit.WithSchema(c.Schema))
	s := &Server{
		config: c, db: db, client: client, ops: taskops.New(client),
		files: map[string]openFile{}, mux: http.NewServeMux(), draining: make(chan struct{}), comment: commentEvery, bodyTime: bodyTime,
		waits: waits{most: c.MaxWatchers, each: c.MaxWatchersPerCaller, by: map[uuid.UUID]int{}},
	}
	s.hub = newHub(s.rows, c.Poll, c.Logger)
	s.routes()
	return s, nil
}

// externalForm matches what clients reach a server under.
var externalForm = regexp.MustCompile(`^(https?://[^/?#\s"<>{}]+)?(/[^/?#\s"<>{}]+)*$`)

func (s *Server) routes() {
	p := s.config.Prefix
	s.handle("GET "+p, s.list)
	s.handle("GET "+p+"/openapi.json", s.openapi)
	s.mux.HandleFunc("GET "+p+"/element.js", s.element)
	for _, method := range []string{http.MethodDelete, http.MethodPatch} {
		for _, file := range []string{"/openapi.json", "/element.js"} {
			s.handle(method+" "+p+file, func(http.ResponseWriter, *http.Request, Caller) error {
				return ErrMethod.with("Allow", "GET, HEAD") // otherwise it is the id of a job
			})
		}
	}
	s.handle("GET "+p+"/kinds/{kind}/schema", s.schema)
	s.handle("GET "+p+"/{id}", s.watch)
	s.handle("GET "+p+"/{id}/events", s.events)
	s.handle("GET "+p+"/{id}/result", s.result)
	s.handle("GET "+p+"/kinds/{kind}/results/{id}", s.result)
	s.handle("GET "+p+"/{id}/items", s.items)
	s.handle("GET "+p+"/items", s.history)
	s.handle("GET "+p+"/{id}/preview", s.preview)
	s.handle("PATCH "+p+"/{id}", s.set)
	s.handle("DELETE "+p+"/{id}", s.delete)
	for _, c := range changes {
		s.handle("POST "+p+"/{id}/"+string(c.op), func(w http.ResponseWriter, r *http.Request, who Caller) error {
			return s.change(w, r, who, c)
		})
	}
	s.handle("POST "+p+"/"+string(OpRetryFailed), s.retrySelected)
	for _, f := range followUps {
		s.handle("POST "+p+"/{id}/"+string(f.op), func(w http.ResponseWriter, r *http.Request, who Caller) error {
			return s.follow(w, r, who, f)
		})
	}
	if s.config.Operator != nil {
		s.operatorRoutes()
	}
}

// handler answers a request of a caller, or returns why not.
type handler func(w http.ResponseWriter, r *http.Request, who Caller) error

func (s *Server) handle(pattern string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		who, err := s.caller(r)
		if err == nil {
			err = h(w, r, who)
		}
		if errors.Is(err, ErrNoSuchJob) {
			conceal(r, began)
		}
		if err != nil {
			s.refuse(w, r, err)
		}
	})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.recovered(w, r)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := s.config.CrossOrigin.Check(r); err != nil {
		s.refuse(w, r, ErrCrossOrigin)
		return
	}
	// The mux would answer these itself, with a text or a redirect.
	if r.URL.Path == "" || path.Clean(r.URL.Path) != r.URL.Path {
		s.refuse(w, r, ErrNoSuchPath)
		return
	}
	if h, pattern := s.mux.Handler(r); pattern == "" {
		s.refuse(w, r, unrouted(h, r))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Drain makes all requests that wait for jobs be answered at once, and all that start
// jobs be refused. Give it to http.Server.RegisterOnShutdown, so that a shutdown does not
// wait for them. It may be called more than once and cannot be undone.
func (s *Server) Drain() { s.drained.Do(func() { close(s.draining) }) }

// isDraining reports whether Drain was called.
func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// unrouted returns the problem for which the mux has a text: 404 or 405.
func unrouted(h http.Handler, r *http.Request) *Error {
	var a answered
	h.ServeHTTP(&a, r)
	if allow := a.Header().Get("Allow"); allow != "" {
		return ErrMethod.with("Allow", allow)
	}
	return ErrNoSuchPath
}

// answered is a ResponseWriter that keeps the headers only.
type answered struct{ header http.Header }

func (a *answered) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

func (*answered) Write(b []byte) (int, error) { return len(b), nil }

func (*answered) WriteHeader(int) {}

// caller finds out who makes a request.
func (s *Server) caller(r *http.Request) (Caller, error) {
	who, err := s.config.Caller(r)
	if err != nil || who.Owner == zero {
		s.config.Logger.DebugContext(r.Context(), "a request of nobody was refused", "path", r.URL.Path, "error", err)
		return Caller{}, ErrUnauthenticated.with("WWW-Authenticate", s.config.Challenge)
	}
	who.RunAs = cmp.Or(who.RunAs, who.Owner)
	return who, nil
}

// may reports whether a caller may do something.
func (s *Server) may(ctx context.Context, who Caller, op Operation, t *taskkit.Task) bool {
	err := s.config.Authorize(ctx, who, op, t)
	if err != nil {
		s.config.Logger.DebugContext(ctx, "not authorized", "operation", op, "owner", who.Owner, "error", err)
	}
	return err == nil
}

// task reads the task that a request names, if the caller may do this with it. The
// answer to the id of a job that the caller may not see is that to an unknown one.
func (s *Server) task(r *http.Request, who Caller, op Operation) (*taskkit.Task, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil || len(r.PathValue("id")) != 36 {
		return nil, ErrNoSuchJob
	}
	found, _, err := s.client.Tasks(r.Context(), taskkit.Filter{IDs: []taskkit.ID{id}})
	if err != nil {
		return nil, err
	}
	// What more is read of a job takes time, which must not tell that there is one.
	if len(found) == 0 || !s.may(r.Context(), who, OpWatch, found[0]) {
		return nil, ErrNoSuchJob
	}
	if err := s.complete(r.Context(), found); err != nil {
		return nil, err
	}
	t := found[0]
	if op != OpWatch && !s.may(r.Context(), who, op, t) {
		return nil, ErrForbidden
	}
	return t, nil
}

// rowsAtOnce is how many tasks one query reads.
const rowsAtOnce = 1000

// rows reads tasks without specs and states.
func (s *Server) rows(ctx context.Context, ids []taskkit.ID) (map[taskkit.ID]*taskkit.Task, error) {
	found := make(map[taskkit.ID]*taskkit.Task, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), rowsAtOnce)
		tasks, _, err := s.client.Tasks(ctx, taskkit.Filter{IDs: ids[:n], Limit: rowsAtOnce})
		if err != nil {
			return nil, err
		}
		if err := s.complete(ctx, tasks); err != nil {
			return nil, err
		}
		for _, t := range tasks {
			found[t.ID] = t
		}
		ids = ids[n:]
	}
	return found, nil
}

// complete reads what the rows of tasks, at most rowsAtOnce of them, do not have: which are previews.
func (s *Server) complete(ctx context.Context, tasks []*taskkit.Task) error {
	if err := s.markPreviews(ctx, tasks); err != nil {
		return err
	}
	if len(tasks) > 0 {
		s.clock.set(tasks[0])
	}
	return nil
}

// kind returns what was registered for a kind.
func (s *Server) kind(name string) (start, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.starts {
		if k.name == name {
			return k, true
		}
	}
	return start{}, false
}

// incident logs an error and returns the problem that names it.
func (s *Server) incident(r *http.Request, p *Error, err error) *Error {
	out := *p
	out.Incident = uuid.NewString()
	if r.Context().Err() == nil { // otherwise the client has gone, and nothing is wrong
		s.config.Logger.ErrorContext(r.Context(), "a request failed",
			"incident", out.Incident, "method", r.Method, "path", r.URL.Path, "error", err)
	}
	return &out
}

// recovered answers a request whose handler has panicked.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
		panic(v)
	}
	stack := debug.Stack()
	if p, ok := v.(goroutinePanic); ok {
		v, stack = p.value, p.stack
	}
	s.incident(r, ErrInternal, fmt.Errorf("panic: %v\n%s", v, stack)).write(w)
}
