package taskhttp

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskops"
)

// DeadGroup are the dead letters, which are the jobs that have FAILED, of a kind with a code.
type DeadGroup struct {
	Kind   string    `json:"kind"`
	Code   string    `json:"code"`
	Jobs   int64     `json:"jobs"`
	Oldest time.Time `json:"oldest"` // when the first and the last of them ended
	Newest time.Time `json:"newest"`
	// Example is the one that was started last.
	Example taskkit.ID `json:"example"`
}

// DeadGroups are the groups of the dead letters, by kind and code.
type DeadGroups struct {
	Groups []DeadGroup `json:"groups"`
	// Truncated are the kinds that have more dead letters than were read: the numbers of their groups are lower bounds, and
	// there may be more of these groups.
	Truncated []string `json:"truncated,omitempty"`
}

// DeadJob is a dead letter as operators may see it: neither spec, state and result nor the text of the error.
type DeadJob struct {
	ID         taskkit.ID `json:"id"`
	Kind       string     `json:"kind"`
	Queue      string     `json:"queue"`
	Owner      uuid.UUID  `json:"owner"`
	Code       string     `json:"code"`
	Attempts   int        `json:"attempts"` // since its last checkpoint
	ParentID   taskkit.ID `json:"parentId,omitzero"`
	CreatedAt  time.Time  `json:"createdAt"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
}

// DeadPage is a page of dead letters, those first that were started last.
type DeadPage struct {
	Jobs []DeadJob `json:"jobs"`
	// Next is the cursor of the next page; "": there is none. A page that has one may
	// have fewer jobs than its limit.
	Next string `json:"next,omitempty"`
}

// DeadReport is what became of the dead letters of a request.
type DeadReport struct {
	Done    int64 `json:"done"`
	Refused int64 `json:"refused"`
	// Refusals are the first 100 of those that were refused.
	Refusals []DeadRefusal `json:"refusals"`
}

// DeadRefusal is a dead letter that could not be retried or deleted, and why.
type DeadRefusal struct {
	ID      taskkit.ID `json:"id"`
	Problem *Error     `json:"problem"`
}

// deadParameters are those that select dead letters.
var deadParameters = []string{"kind", "code", "queue", "olderThan", "children"}

// deadFilter makes a filter of the parameters, or of the fields of a body with the same names.
func (p parameters) deadFilter() (f taskops.DeadFilter, err error) {
	if kind := p["kind"]; kind != "" {
		if !kindForm.MatchString(kind) {
			return f, ErrBadParameter.because("kind must be the name of a kind")
		}
		f.Kinds = []string{kind}
	}
	if f.Code = p["code"]; f.Code != "" && !code.MatchString(f.Code) {
		return f, ErrBadParameter.because("code must be the code of an error, such as database")
	}
	if f.Queue = p["queue"]; f.Queue != "" && !nameForm.MatchString(f.Queue) {
		return f, ErrBadParameter.because("queue must be the name of a queue")
	}
	if _, ok := p["olderThan"]; ok {
		if f.OlderThan, err = p.duration("olderThan"); err != nil {
			return f, ErrBadParameter.because("olderThan must be a duration like 36h or 2160h")
		}
	}
	f.Children, err = p.flag("children")
	return f, err
}

// listDead sends the groups of the dead letters.
func (s *Server) listDead(w http.ResponseWriter, r *http.Request, _ Caller) error {
	q, err := query(r, deadParameters...)
	if err != nil {
		return err
	}
	f, err := q.deadFilter()
	if err != nil {
		return err
	}
	found, err := s.ops.Dead(r.Context(), f)
	if err != nil {
		return err
	}
	groups := DeadGroups{Groups: []DeadGroup{}, Truncated: found.Truncated}
	for _, g := range found.Groups {
		groups.Groups = append(groups.Groups, DeadGroup{g.Kind, codeOf(g.Code), g.Tasks, g.Oldest.UTC(), g.Newest.UTC(), g.Example})
	}
	writeJSON(w, http.StatusOK, mediaJSON, groups)
	return nil
}

// listDeadJobs sends a page of dead letters.
func (s *Server) listDeadJobs(w http.ResponseWriter, r *http.Request, _ Caller) error {
	q, err := query(r, append([]string{"limit", "cursor"}, deadParameters...)...)
	if err != nil {
		return err
	}
	f, err := q.deadFilter()
	if err != nil {
		return err
	}
	limit, err := q.size()
	if err != nil {
		return err
	}
	before, err := q.jobCursor()
	if err != nil {
		return err
	}
	found, next, err := s.ops.DeadTasks(r.Context(), f, before, limit)
	if err != nil {
		return err
	}
	page := DeadPage{Jobs: []DeadJob{}}
	for _, t := range found {
		page.Jobs = append(page.Jobs, DeadJob{
			ID: t.ID, Kind: t.Kind, Queue: t.Queue, Owner: t.Owner, Code: codeOf(t.StatusDetail), Attempts: t.Attempts,
			ParentID: t.Parent, CreatedAt: t.Created.UTC(), FinishedAt: utc(t.Stopped),
		})
	}
	page.Next = s.nextJobs(w, r, next)
	writeJSON(w, http.StatusOK, mediaJSON, page)
	return nil
}

// deadBody is the body of a request about dead letters.
type deadBody struct {
	Kind      string `json:"kind"`
	Code      string `json:"code"`
	Queue     string `json:"queue"`
	OlderThan string `json:"olderThan"`
	All       bool   `json:"all"`
	Children  bool   `json:"children"`
	Reason    string `json:"reason"`
}

var deadCodec = taskjson.Reflected[deadBody]()

// deadChange is a request that is made for dead letters.
type deadChange struct {
	name, summary string
	op            Operation
	call          func(*taskops.Operator, context.Context, taskops.DeadFilter, ...taskkit.RequestOption) (*taskops.DeadReport, error)
}

var deadChanges = []deadChange{
	{"retry", "Retry dead letters from their last checkpoints", OpRetryDead, (*taskops.Operator).RetryDead},
	{"drop", "Delete dead letters and their results, irrevocably", OpDropDead, (*taskops.Operator).DropDead},
}

// selected reads the body of a request about dead letters.
func (s *Server) selected(w http.ResponseWriter, r *http.Request) (f taskops.DeadFilter, reason string, err error) {
	raw, err := s.body(w, r, false, deadCodec.Check)
	if err != nil {
		return f, "", err
	}
	var b deadBody
	if err := deadCodec.Decode(raw, &b); err != nil {
		return f, "", refusedJSON(ErrNotJSON, err)
	}
	p := parameters{"kind": b.Kind, "code": b.Code, "queue": b.Queue}
	if b.OlderThan != "" {
		p["olderThan"] = b.OlderThan
	}
	// An empty body must not delete everything.
	if b.Kind == "" && b.Code == "" && b.Queue == "" && b.OlderThan == "" && !b.All {
		return f, "", ErrBadParameter.because(`select dead letters by kind, code, queue or olderThan, or take them all with "all": true`)
	}
	if f, err = p.deadFilter(); err == nil {
		f.Children, err = b.Children, checkReason(b.Reason)
	}
	return f, b.Reason, err
}

// changeDead returns the handler of a request about dead letters. Each is a transaction of its own: a
// request that is cut off has done a part, and its repetition does the rest.
func (s *Server) changeDead(c deadChange) handler {
	return func(w http.ResponseWriter, r *http.Request, who Caller) error {
		if _, err := query(r); err != nil {
			return err
		}
		f, reason, err := s.selected(w, r)
		if err != nil {
			return err
		}
		opts := []taskkit.RequestOption{taskkit.WithActor(who.Owner)}
		if reason != "" {
			opts = append(opts, taskkit.WithReason(reason))
		}
		// The timeouts of the server are for requests that are short. A writer that has no
		// deadlines needs none.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{})
		_ = control.SetWriteDeadline(time.Time{})
		report, err := c.call(s.ops, r.Context(), f, opts...)
		if err != nil {
			return err
		}
		out := DeadReport{Done: report.Done, Refused: report.Refused, Refusals: []DeadRefusal{}}
		for _, refused := range report.Refusals {
			out.Refusals = append(out.Refusals, DeadRefusal{refused.ID, refusedDead(refused.Err)})
		}
		writeJSON(w, http.StatusOK, mediaJSON, out)
		return nil
	}
}

// refusedDead says why a request about a dead letter was refused.
func refusedDead(err error) *Error {
	detail := refusalDetail(err)
	if a[*taskkit.DuplicateError](err) {
		return ErrKeyTaken.because("%s", detail)
	}
	return ErrNotPossible.because("%s", cmp.Or(detail, "the job has changed since it was listed"))
}
