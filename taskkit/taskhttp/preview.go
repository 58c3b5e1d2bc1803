package taskhttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"taskkit.dev/taskkit"
)

// Preview is what a job that is a preview has found so far: what a job with the same spec
// would do. Its items are listed like the items of any job.
type Preview struct {
	Job taskkit.ID `json:"job"`
	// Complete: the preview is done and was not stopped, so that nothing is missing.
	Complete bool      `json:"complete"`
	Progress *Progress `json:"progress"`
	// Changes count the rows that would be changed, by verb. Of changes that are counted in
	// OtherChanges the database does not tell how many rows they concern.
	Changes      []RowChanges `json:"changes"`
	OtherChanges int64        `json:"otherChanges"`
	// Notes count the items by the note that the executor has made of them, at most 100
	// different notes. OtherNotes counts the other items that have one.
	Notes      []ItemNote `json:"notes"`
	OtherNotes int64      `json:"otherNotes"`
	// Samples are the first items that have a note, at most 100.
	Samples []NotedItem `json:"samples"`
	// ExpectedMS is how long the work will take, in milliseconds, without waits.
	ExpectedMS int64 `json:"expectedMs"`
}

// RowChanges counts the rows that would be changed by statements with a verb. In which
// tables is not for clients.
type RowChanges struct {
	Verb string `json:"verb"` // insert, update, delete or merge
	Rows int64  `json:"rows"`
}

// ItemNote counts the items with a note.
type ItemNote struct {
	Note  string `json:"note"`
	Items int64  `json:"items"`
}

// NotedItem is an item with a note.
type NotedItem struct {
	Item    json.RawMessage `json:"item"` // as in [Item]
	Note    string          `json:"note"`
	Outcome taskkit.Outcome `json:"outcome"`
}

// preview sends what a preview has found.
func (s *Server) preview(w http.ResponseWriter, r *http.Request, who Caller) error {
	t, err := s.task(r, who, OpItems)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	j := s.job(r.Context(), who, t, 0)
	switch {
	case j.Status == Deleted:
		return ErrDeleted.of(j)
	case !t.Preview:
		return ErrNotPossible.because("the job is not a preview: start one with ?preview=true").of(j)
	}
	found, err := s.client.Preview(r.Context(), t.ID)
	if errors.Is(err, taskkit.ErrNotFound) {
		return ErrNoSuchJob // deleted meanwhile
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, mediaJSON, previewOf(j, found))
	return nil
}

// previewOf makes the answer of a report.
func previewOf(j *Job, found *taskkit.PreviewReport) *Preview {
	out := &Preview{
		Job: j.ID, Complete: found.Status == taskkit.StatusCompleted && !found.Partial, Progress: progressOf(found.Progress),
		Changes: []RowChanges{}, OtherChanges: found.OtherChanges, Notes: make([]ItemNote, len(found.Notes)), OtherNotes: found.OtherNotes,
		Samples: make([]NotedItem, len(found.Samples)), ExpectedMS: found.Expected.Milliseconds(),
	}
	at := map[string]int{}
	for _, c := range found.Changes {
		i, ok := at[c.Verb]
		if !ok {
			i = len(out.Changes)
			at[c.Verb], out.Changes = i, append(out.Changes, RowChanges{Verb: c.Verb})
		}
		out.Changes[i].Rows += c.Rows
	}
	for i, n := range found.Notes {
		out.Notes[i] = ItemNote(n)
	}
	for i, n := range found.Samples {
		out.Samples[i] = NotedItem{Item: n.Key, Note: n.Note, Outcome: n.Outcome}
	}
	return out
}

// previewing marks the context of a start that is a preview.
type previewing struct{}

// Previewing reports whether a function that was given to [Before] is called for a preview. What it writes is
// then rolled back, and it must not return [taskkit.WithCoalescing], which no preview can have.
func Previewing(ctx context.Context) bool { return ctx.Value(previewing{}) != nil }

// maxPreviews bounds what previews remembers, in tasks: several times as many as are watched at once.
const maxPreviews = 100_000

// previews caches whether tasks are previews, which never changes. For a kind that has no previews
// on this server nothing is read or cached.
type previews struct {
	mu    sync.Mutex
	known map[taskkit.ID]bool
}

// put remembers of a task whether it is a preview.
func (p *previews) put(id taskkit.ID, preview bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[taskkit.ID]bool{}
	}
	if len(p.known) >= maxPreviews {
		for other := range p.known { // any: it is read again
			delete(p.known, other)
			break
		}
	}
	p.known[id] = preview
}

// mark marks the previews among tasks, as far as they are cached, and returns the
// tasks that are not.
func (p *previews) mark(tasks []*taskkit.Task) (unknown []*taskkit.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range tasks {
		var ok bool
		if t.Preview, ok = p.known[t.ID]; !ok {
			unknown = append(unknown, t)
		}
	}
	return unknown
}

// markPreviews marks the previews of a list, with one more query where that is
// not known.
func (s *Server) markPreviews(ctx context.Context, tasks []*taskkit.Task) error {
	var possible []*taskkit.Task
	for _, t := range tasks {
		if k, ok := s.kind(t.Kind); !ok || k.previews {
			possible = append(possible, t)
		}
	}
	unknown := s.previews.mark(possible)
	if len(unknown) == 0 {
		return nil
	}
	byID := make(map[taskkit.ID]*taskkit.Task, len(unknown))
	ids := make([]taskkit.ID, len(unknown))
	for i, t := range unknown {
		byID[t.ID], ids[i] = t, t.ID
	}
	found, _, err := s.client.Tasks(ctx, taskkit.Filter{IDs: ids, Previews: true, Limit: rowsAtOnce})
	if err != nil {
		return err
	}
	for _, t := range found {
		byID[t.ID].Preview = true
	}
	for _, t := range unknown {
		s.previews.put(t.ID, t.Preview)
	}
	return nil
}
