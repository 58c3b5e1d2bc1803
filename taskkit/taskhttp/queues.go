package taskhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/errtree"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Queue is a queue as operators may see it: one in which jobs wait or run, that a live worker
// serves, or that has been paused once. Jobs that are paused themselves are not counted.
type Queue struct {
	Name    string `json:"name"`
	Waiting int64  `json:"waiting"`
	Due     int64  `json:"due"` // of those that wait
	// MoreWaiting: at least Waiting jobs wait, since not all were counted; MoreDue: at least Due jobs are due.
	MoreWaiting bool  `json:"moreWaiting,omitempty"`
	MoreDue     bool  `json:"moreDue,omitempty"`
	Running     int64 `json:"running"`
	Workers     int   `json:"workers"` // live ones that serve it
	// OldestDueAt is since when the job has been due that has been due for longest, and
	// OldestWaitMS how long ago that was. They are missing if no job is due.
	OldestDueAt  *time.Time `json:"oldestDueAt,omitempty"`
	OldestWaitMS int64      `json:"oldestWaitMs,omitempty"`

	// Paused: no worker claims from it. Who has paused and resumed it last is kept.
	Paused        bool       `json:"paused"`
	PausedBy      uuid.UUID  `json:"pausedBy,omitzero"`
	PausedReason  string     `json:"pausedReason,omitempty"`
	PausedAt      *time.Time `json:"pausedAt,omitempty"`
	ResumedBy     uuid.UUID  `json:"resumedBy,omitzero"`
	ResumedReason string     `json:"resumedReason,omitempty"`
	ResumedAt     *time.Time `json:"resumedAt,omitempty"`

	UnknownKinds []UnknownKind `json:"unknownKinds,omitempty"`
}

// UnknownKind is a kind or a revision of due jobs that no live worker of a queue has.
type UnknownKind struct {
	Kind     string    `json:"kind"`
	Revision int       `json:"revision"`
	Jobs     int64     `json:"jobs"` // at least so many are due
	Since    time.Time `json:"since"`
}

// QueueList is all queues, by name.
type QueueList struct {
	Queues []*Queue `json:"queues"`
}

// listQueues sends the queues.
func (s *Server) listQueues(w http.ResponseWriter, r *http.Request, _ Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	found, err := s.ops.Queues(r.Context())
	if err != nil {
		return err
	}
	list := QueueList{Queues: []*Queue{}}
	for _, q := range found {
		out := &Queue{
			Name: q.Name, Waiting: q.Waiting, Due: q.Due, MoreWaiting: q.MoreWaiting, MoreDue: q.MoreDue, Running: q.Running, Workers: q.Workers,
			OldestDueAt: utc(q.OldestDue), OldestWaitMS: max(q.OldestWait.Milliseconds(), 0),
			Paused: q.Paused, PausedBy: q.PausedBy, PausedReason: q.PausedReason, PausedAt: utc(q.PausedDate),
			ResumedBy: q.ResumedBy, ResumedReason: q.ResumedReason, ResumedAt: utc(q.ResumedDate),
		}
		for _, k := range q.UnknownKinds {
			out.UnknownKinds = append(out.UnknownKinds, UnknownKind{k.Kind, k.Revision, k.Tasks, k.Since.UTC()})
		}
		list.Queues = append(list.Queues, out)
	}
	writeJSON(w, http.StatusOK, mediaJSON, list)
	return nil
}

// queueChange is a request that changes a queue.
type queueChange struct {
	name, summary string
	call          func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) error
}

var queueChanges = []queueChange{
	{"pause", "Keep all workers from claiming jobs of a queue", (*taskops.Operator).PauseQueue},
	{"resume", "Let workers claim jobs of a queue again", (*taskops.Operator).ResumeQueue},
}

// changeQueue returns the handler of a request that changes a queue. The queue needs no job and no worker.
func (s *Server) changeQueue(c queueChange) handler {
	return func(w http.ResponseWriter, r *http.Request, who Caller) error {
		if _, err := query(r); err != nil {
			return err
		}
		opts, err := s.requestOptions(w, r, who)
		if err != nil {
			return err
		}
		err = c.call(s.ops, r.Context(), r.PathValue("name"), opts...)
		if refused := errtree.All[*taskkit.OptionError](err); len(refused) > 0 {
			return ErrNoSuchPath.because("%s", refused[0].Problem) // no queue can have the name
		}
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}
