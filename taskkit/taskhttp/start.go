package taskhttp

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// start is a kind that clients may start.
type start struct {
	path    string
	name    string // of the kind; tasks stored under a former name are served as tasks of an unknown kind
	title   string
	spec    []byte // JSON Schema, or nil
	outcome []byte // JSON Schema of the result, or nil
	fetch   func(ctx context.Context, c *taskkit.Client, id taskkit.ID) ([]byte, error)
	// previews: the kind supports them.
	previews bool
	progress func(t *taskkit.Task) ([]byte, error) // see customProgress; nil: the kind has none of its own
}

// A StartOption is an option of [Start].
type StartOption[Spec any] func(*startOptions[Spec])

type startOptions[Spec any] struct {
	before func(ctx context.Context, tx *sql.Tx, c Caller, spec *Spec) ([]taskkit.SubmitOption, error)
	title  string
}

// Before is called in the transaction that submits the task, for the service's own
// writes, to complete the spec, and for further options. If it returns an error, all is
// rolled back: an *[Error] with a status from 400 to 499 is sent to the client as it is, and errors of the library have their
// problems. Another one is answered with 500, or with 503, so that clients repeat the start, if [taskkit.IsTransient].
// With an idempotency key it must make the same spec of the same body, since the stored
// spec distinguishes a repetition from another request. Before a preview it is called in a transaction
// that is rolled back, see [Previewing].
func Before[Spec any](f func(ctx context.Context, tx *sql.Tx, c Caller, spec *Spec) ([]taskkit.SubmitOption, error)) StartOption[Spec] {
	return func(o *startOptions[Spec]) { o.before = f }
}

// Title is what jobs of the kind are called, for people. Defaults to the kind's name.
func Title[Spec any](title string) StartOption[Spec] {
	return func(o *startOptions[Spec]) { o.title = title }
}

// kindForm matches the name of a kind.
var kindForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// startPattern matches the pattern of a start.
var startPattern = regexp.MustCompile(`^POST (/[^{}\s]*)$`)

// Start lets clients start jobs of a kind with a POST to a path, such as
// "POST /students/program-status". The body is the spec. It panics when the pattern is
// not of this form or is taken, as http.ServeMux does. For a method Progress of State see Progress.Custom.
func Start[Spec, State, Result any](s *Server, pattern string, k *taskkit.Kind[Spec, State, Result], opts ...StartOption[Spec]) {
	m := startPattern.FindStringSubmatch(pattern)
	if m == nil {
		panic(fmt.Sprintf("taskhttp: the pattern %q does not start a job: write POST and a path without variables", pattern))
	}
	var o startOptions[Spec]
	for _, f := range opts {
		f(&o)
	}
	st := &starter[Spec, State, Result]{server: s, kind: k, before: o.before}
	s.handle(pattern, st.serve)
	spec, result := k.Schemas()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts = append(s.starts, start{
		path: m[1], name: k.Name(), title: cmp.Or(o.title, k.Name()),
		spec: spec, outcome: result, fetch: st.fetch, previews: k.CanPreview(), progress: customProgress(k),
	})
}

// starter starts jobs of a kind.
type starter[Spec, State, Result any] struct {
	server *Server
	kind   *taskkit.Kind[Spec, State, Result]
	before func(ctx context.Context, tx *sql.Tx, c Caller, spec *Spec) ([]taskkit.SubmitOption, error)
}

// fetch reads a result as the present revision has it.
func (s *starter[Spec, State, Result]) fetch(ctx context.Context, c *taskkit.Client, id taskkit.ID) ([]byte, error) {
	r, err := taskkit.Fetch(ctx, c, s.kind, id)
	if err != nil {
		return nil, err
	}
	_, _, codec := s.kind.Codecs()
	return codec.Append(nil, &r)
}

// serve starts a job.
func (s *starter[Spec, State, Result]) serve(w http.ResponseWriter, r *http.Request, who Caller) error {
	server := s.server
	if server.isDraining() {
		return ErrShuttingDown.later(retryLater)
	}
	if !server.may(r.Context(), who, OpStart, nil) {
		return ErrForbidden
	}
	preview, err := s.wantsPreview(r)
	if err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	key, err := idempotencyKey(r, who, preview)
	if err != nil {
		return err
	}
	codec, _, _ := s.kind.Codecs()
	body, err := server.body(w, r, false, codec.Check)
	if err != nil {
		return err
	}
	var spec Spec
	if err := codec.Decode(body, &spec); err != nil {
		return refusedJSON(ErrSpec, err)
	}
	t := &taskkit.Task{}
	created, known := server.clock.now()
	id, replayed, err := s.submit(r.Context(), who, &spec, key, preview, t)
	if err != nil {
		return s.refused(r, who, err)
	}
	if preview || s.kind.CanPreview() && t.ID == id { // of others, options of Before may make one
		server.previews.put(id, preview)
	}
	if t.Created, t.Preview = created, preview; !known || t.ID != id {
		found, err := server.rows(r.Context(), []taskkit.ID{id})
		if err != nil {
			return err
		}
		if t = found[id]; t == nil {
			return ErrNoSuchJob // deleted meanwhile
		}
	}
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	return server.started(w, r, who, t)
}

// started answers with a job that was started, and waits for its end if the client prefers
// that.
func (s *Server) started(w http.ResponseWriter, r *http.Request, who Caller, t *taskkit.Task) error {
	now := seenNow(t)
	if wait := preferredWait(r); wait > 0 {
		waited, err := s.wait(w, r, who, now, watching{wait: wait, done: true})
		if err == nil {
			now = waited
			preferenceApplied(w, wait)
		}
		// Otherwise the job is started all the same.
	}
	j := s.job(r.Context(), who, now.task, time.Since(now.at))
	w.Header().Set("Location", s.path(j.ID))
	w.Header().Set("ETag", `W/"`+j.Revision+`"`)
	status := http.StatusAccepted
	if j.Done {
		status = http.StatusOK
	}
	s.answer(w, status, j)
	return nil
}

// wantsPreview reports whether a request starts a preview.
func (s *starter[Spec, State, Result]) wantsPreview(r *http.Request) (bool, error) {
	if !s.kind.CanPreview() {
		_, err := query(r)
		return false, err
	}
	q, err := query(r, "preview")
	if err != nil {
		return false, err
	}
	return q.flag("preview")
}

// submit stores a task, or returns the one that an earlier request with the same key and
// body has stored. It sets t to a new task if it is known without reading it.
func (s *starter[Spec, State, Result]) submit(ctx context.Context, who Caller, spec *Spec, key string, preview bool, t *taskkit.Task) (id taskkit.ID, replayed bool, err error) {
	server := s.server
	opts := []taskkit.SubmitOption{
		taskkit.OwnedBy(who.Owner), taskkit.RunAs(who.RunAs), taskkit.WithActor(who.Owner), taskkit.WithSchema(server.config.Schema),
		taskkit.WithSubmitted(t),
	}
	if key != "" {
		opts = append(opts, taskkit.WithIdempotencyKey(key))
	}
	if preview {
		opts = append(opts, taskkit.WithPreview())
	}
	switch {
	case s.before == nil:
		id, err = taskkit.Submit(ctx, server.db, s.kind, *spec, opts...)
	case preview:
		id, err = s.afterwards(ctx, who, spec, opts)
	default:
		id, err = s.together(ctx, who, spec, opts)
	}
	taken, ok := errors.AsType[*taskkit.DuplicateError](err)
	if !ok || taken.By != "idempotency key" || taken.Key != key {
		return id, false, err
	}
	return taken.ID, true, s.same(ctx, taken.ID, spec)
}

// together submits a task in one transaction with what the service writes.
func (s *starter[Spec, State, Result]) together(ctx context.Context, who Caller, spec *Spec, opts []taskkit.SubmitOption) (taskkit.ID, error) {
	tx, err := s.server.db.BeginTx(ctx, nil)
	if err != nil {
		return zero, fmt.Errorf("begin to start a job: %w", err)
	}
	defer tx.Rollback()
	more, err := s.before(ctx, tx, who, spec)
	if err != nil {
		return zero, &beforeError{err}
	}
	id, err := taskkit.Submit(ctx, tx, s.kind, *spec, append(opts, more...)...)
	if _, merged := errors.AsType[*taskkit.PausedError](err); err != nil && !merged {
		return zero, err
	}
	if err := tx.Commit(); err != nil {
		// It may have committed. A repetition with the same key finds out.
		return zero, fmt.Errorf("commit the start of a job: %w", err)
	}
	return id, nil
}

// afterwards submits a preview when what the service writes before is rolled back: nothing
// that a preview writes stays.
func (s *starter[Spec, State, Result]) afterwards(ctx context.Context, who Caller, spec *Spec, opts []taskkit.SubmitOption) (taskkit.ID, error) {
	tx, err := s.server.db.BeginTx(ctx, nil)
	if err != nil {
		return zero, fmt.Errorf("begin to start a preview: %w", err)
	}
	more, err := s.before(context.WithValue(ctx, previewing{}, true), tx, who, spec)
	if err != nil {
		err = &beforeError{err}
	}
	if rollback := tx.Rollback(); err == nil && rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
		err = fmt.Errorf("roll back what was written before a preview: %w", rollback)
	}
	if err != nil {
		return zero, err
	}
	return taskkit.Submit(ctx, s.server.db, s.kind, *spec, append(opts, more...)...)
}

// same returns an error unless a task has this spec.
func (s *starter[Spec, State, Result]) same(ctx context.Context, id taskkit.ID, spec *Spec) error {
	earlier, err := taskkit.Get(ctx, s.server.client, s.kind, id)
	if err != nil {
		return err
	}
	codec, _, _ := s.kind.Codecs()
	have, err := codec.Append(nil, &earlier.Spec)
	if err != nil {
		return err
	}
	want, err := codec.Append(nil, spec)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return ErrKeyReused
	}
	return nil
}

// maxKey bounds an idempotency key, in bytes.
const maxKey = 255

// idempotencyKey returns the key of a request as it is stored: it belongs to the owner, to
// previews or to what changes something, and, in the database, to the kind. It is "" without one.
func idempotencyKey(r *http.Request, who Caller, preview bool) (string, error) {
	lines := r.Header.Values("Idempotency-Key")
	if len(lines) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(lines[0])
	if len(key) > 1 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1] // a string of RFC 9651
	}
	printable := !strings.ContainsFunc(key, func(c rune) bool { return c < 0x20 || c > 0x7e })
	if len(lines) > 1 || key == "" || len(key) > maxKey || !printable {
		return "", ErrBadParameter.because("Idempotency-Key must be one text of 1 to %d printable characters of ASCII", maxKey)
	}
	scope := "http:"
	if preview {
		scope = "http-preview:"
	}
	return scope + who.Owner.String() + ":" + key, nil
}

// refused says to the client why a task was not stored.
func (s *starter[Spec, State, Result]) refused(r *http.Request, who Caller, err error) error {
	server := s.server
	if p, ok := errors.AsType[*Error](err); ok {
		if p.Status >= 400 && p.Status < 500 {
			return p
		}
		return server.incident(r, ErrInternal, err)
	}
	if e, ok := errors.AsType[*taskkit.SpecError](err); ok {
		return refusedSpec(server, r, e)
	}
	if e, ok := errors.AsType[*taskkit.TargetsError](err); ok {
		return ErrSpec.because("the set of targets cannot be stored: %s", e.Problem)
	}
	if e, ok := errors.AsType[*taskkit.CoalesceError](err); ok {
		return server.taken(r, who, e.ID, "")
	}
	if e, ok := errors.AsType[*taskkit.DuplicateError](err); ok {
		return server.taken(r, who, e.ID, "")
	}
	if e, ok := errors.AsType[*beforeError](err); ok {
		return server.ofBefore(r, e)
	}
	return err
}

// taken says that a job has the key of another one, and which, if the caller may see it.
func (s *Server) taken(r *http.Request, who Caller, id taskkit.ID, detail string) error {
	p := ErrKeyTaken.because("%s", detail)
	found, err := s.rows(r.Context(), []taskkit.ID{id})
	if err != nil {
		return err
	}
	if t := found[id]; t != nil && s.may(r.Context(), who, OpWatch, t) {
		return p.of(s.job(r.Context(), who, t, 0))
	}
	return p
}

// refusedSpec says what is wrong with a spec.
func refusedSpec(s *Server, r *http.Request, e *taskkit.SpecError) *Error {
	if _, ok := errors.AsType[*taskkit.UsageError](e); ok {
		s.config.Logger.ErrorContext(r.Context(), "the rules of a spec cannot be checked", "kind", e.Kind, "error", e)
		return ErrSpec.because("its rules cannot be checked")
	}
	if _, ok := errors.AsType[*taskjson.Error](e); ok {
		return refusedJSON(ErrSpec, e)
	}
	p := *ErrSpec
	for _, f := range e.Fields {
		p.Errors = append(p.Errors, FieldProblem{Pointer: f.Pointer, Detail: "breaks the rule " + f.Rule})
	}
	if e.Err != nil {
		p.Detail = e.Err.Error()
	}
	return &p
}
