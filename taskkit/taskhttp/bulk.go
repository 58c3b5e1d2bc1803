package taskhttp

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"taskkit.dev/internal/errtree"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskjson"
)

// BulkStarted is a bulk operation that was started. It is a job of its own, which the header Location names.
type BulkStarted struct {
	ID taskkit.ID `json:"id"`
	// Jobs is how many jobs the request is made of, however many match later.
	Jobs int64 `json:"jobs"`
}

// BulkCount is how many jobs a bulk operation would be for.
type BulkCount struct {
	Jobs int64 `json:"jobs"`
	// Exact is false if there may be more.
	Exact bool `json:"exact"`
}

// bulkCounted is how many jobs are counted at most.
const bulkCounted = 10_000

// bulkBody is the body of a request that starts a bulk operation.
type bulkBody struct {
	Verb      taskbulk.Verb `json:"verb"`
	IDs       []taskkit.ID  `json:"ids"`
	Kind      string        `json:"kind"`
	Status    string        `json:"status"`
	Code      string        `json:"code"`
	Queue     string        `json:"queue"`
	Owner     string        `json:"owner"`
	ParentID  string        `json:"parentId"`
	OlderThan string        `json:"olderThan"`
	Children  bool          `json:"children"`
	All       bool          `json:"all"`
	Reason    string        `json:"reason"`
	Max       int64         `json:"max"`
}

var bulkCodec = taskjson.Reflected[bulkBody]()

// bulkRequest makes a request of the fields of a body, or of parameters with the same names.
func (p parameters) bulkRequest(verb taskbulk.Verb) (taskbulk.Request, error) {
	r := taskbulk.Request{Verb: verb}
	f, err := p.filter()
	if err != nil {
		return r, err
	}
	dead, err := p.deadFilter()
	if err != nil {
		return r, err
	}
	f.Limit, f.Code, f.Queue, f.EndedFor = 0, dead.Code, dead.Queue, dead.OlderThan
	f.Owner, err = p.id("owner")
	r.Filter = f
	return r, err
}

// given are the fields of a body as parameters.
func (b *bulkBody) given() parameters {
	p := parameters{}
	for name, value := range map[string]string{
		"kind": b.Kind, "status": b.Status, "code": b.Code, "queue": b.Queue, "owner": b.Owner, "parent": b.ParentID, "olderThan": b.OlderThan,
	} {
		if value != "" {
			p[name] = value
		}
	}
	return p
}

// startBulk starts a bulk operation. Its jobs are frozen before the answer, however long that takes.
func (s *Server) startBulk(w http.ResponseWriter, r *http.Request, who Caller) error {
	if s.isDraining() {
		return ErrShuttingDown.later(retryLater)
	}
	if _, err := query(r); err != nil {
		return err
	}
	key, err := idempotencyKey(r, who, false)
	if err != nil {
		return err
	}
	raw, err := s.body(w, r, false, bulkCodec.Check)
	if err != nil {
		return err
	}
	var b bulkBody
	if err := bulkCodec.Decode(raw, &b); err != nil {
		return refusedJSON(ErrNotJSON, err)
	}
	if err := checkReason(b.Reason); err != nil {
		return err
	}
	request, err := b.given().bulkRequest(b.Verb)
	if err != nil {
		return err
	}
	request.Filter.IDs, request.Filter.Children = b.IDs, b.Children
	request.All, request.Reason, request.Max, request.Actor = b.All, b.Reason, b.Max, who.Owner
	queue, _, err := taskbulk.Queue(r.Context(), s.client)
	if err != nil {
		return err
	}
	opts := []taskkit.SubmitOption{taskkit.WithQueue(queue), taskkit.RunAs(who.RunAs), taskkit.WithActor(who.Owner), taskkit.WithSchema(s.config.Schema)}
	if key != "" {
		opts = append(opts, taskkit.WithIdempotencyKey(key))
	}
	control := http.NewResponseController(w) // a writer that has no deadlines needs none
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	id, n, err := taskbulk.Submit(r.Context(), s.db, request, opts...)
	if taken, ok := errors.AsType[*taskkit.DuplicateError](err); ok && key != "" && taken.Key == key {
		if n, err = s.sameBulk(r, taken.ID, &request); err != nil {
			return err
		}
		id = taken.ID
		w.Header().Set("Idempotent-Replayed", "true")
	}
	if err != nil {
		return refusedBulk(err)
	}
	w.Header().Set("Location", s.path(id))
	writeJSON(w, http.StatusAccepted, mediaJSON, BulkStarted{id, n})
	return nil
}

// sameBulk returns of how many jobs a bulk operation is that an earlier request has started. It is an error unless that was the same request.
func (s *Server) sameBulk(r *http.Request, id taskkit.ID, request *taskbulk.Request) (int64, error) {
	earlier, err := taskkit.Get(r.Context(), s.client, taskbulk.Kind, id)
	if err != nil {
		return 0, err
	}
	want := request.Spec()
	if have := earlier.Spec; have.Verb != want.Verb || have.Selection != want.Selection || have.Reason != want.Reason || have.Actor != want.Actor {
		return 0, ErrKeyReused
	}
	return earlier.Task.Progress.Total, nil
}

// countBulk counts the jobs that a bulk operation would be for.
func (s *Server) countBulk(w http.ResponseWriter, r *http.Request, _ Caller) error {
	q, err := query(r, "verb", "kind", "status", "code", "queue", "owner", "parent", "olderThan", "children")
	if err != nil {
		return err
	}
	request, err := q.bulkRequest(taskbulk.Verb(q["verb"]))
	if err != nil {
		return err
	}
	request.All = true // nothing is done
	n, exact, err := taskbulk.Count(r.Context(), s.client, request, bulkCounted)
	if err != nil {
		return refusedBulk(err)
	}
	writeJSON(w, http.StatusOK, mediaJSON, BulkCount{n, exact})
	return nil
}

// refusedBulk says why a bulk operation was refused.
func refusedBulk(err error) error {
	if refused := errtree.All[*taskkit.OptionError](err); len(refused) > 0 {
		field := strings.TrimPrefix(refused[0].Option, "taskbulk.Request.")
		if field == "All" { // no schema can say it
			return ErrNotPossible.because("%s", refused[0].Problem)
		}
		if field != refused[0].Option || strings.HasPrefix(field, "Filter.") || field == "WithReason" {
			return ErrBadParameter.because("%s: %s", strings.ToLower(field), refused[0].Problem)
		}
	}
	if a[*taskbulk.FilterError](err) || a[*taskbulk.TooManyError](err) {
		return ErrNotPossible.because("%s", strings.TrimPrefix(err.Error(), "taskbulk: "))
	}
	if errors.Is(err, taskbulk.ErrNone) {
		return ErrNotPossible.because("no job matches, so there is nothing to do")
	}
	return err
}
