package taskhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"taskkit.dev/taskkit"
)

// ItemRecord is what became of an item in one job.
type ItemRecord struct {
	Item

	Job taskkit.ID `json:"job"`
	At  time.Time  `json:"at"` // by the clock of the database
}

// ItemHistory is what became of an item in several jobs, the newest first.
type ItemHistory struct {
	Records []ItemRecord `json:"records"`
}

// The lengths of a history.
const (
	defaultRecords = 5
	maxRecords     = 100
)

// history sends what became of an item in jobs whose items the caller may list.
func (s *Server) history(w http.ResponseWriter, r *http.Request, who Caller) error {
	q, err := query(r, "item", "kind", "limit", "age")
	if err != nil {
		return err
	}
	f, err := q.filter()
	if err != nil {
		return err
	}
	text, ok := q["item"]
	if !ok {
		return ErrBadParameter.because("item must be given: JSON such as 7, or a text")
	}
	item := json.RawMessage(text)
	if !json.Valid(item) {
		if item, err = json.Marshal(text); err != nil {
			return err
		}
	}
	bounds, limit := taskkit.ItemBounds{Records: 1000, PerTask: 3}, defaultRecords
	if text, ok := q["limit"]; ok {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxRecords {
			return ErrBadParameter.because("limit must be between 1 and %d", maxRecords)
		}
	}
	if _, ok := q["age"]; ok {
		if bounds.Age, err = q.duration("age"); err != nil {
			return err
		}
	}
	kind := ""
	if len(f.Kinds) > 0 {
		kind = f.Kinds[0]
	}
	found, err := s.client.ItemHistory(r.Context(), kind, item, bounds)
	if err != nil {
		return err
	}
	var ids []taskkit.ID
	for i := range found {
		ids = append(ids, found[i].Task)
	}
	tasks, err := s.rows(r.Context(), ids)
	if err != nil {
		return err
	}
	history := ItemHistory{Records: []ItemRecord{}}
	for i := range found {
		one, t := &found[i], tasks[found[i].Task]
		if t == nil || len(history.Records) == limit || !s.may(r.Context(), who, OpWatch, t) || !s.may(r.Context(), who, OpItems, t) {
			continue
		}
		history.Records = append(history.Records, ItemRecord{
			Item: Item{Item: one.Key, Outcome: one.Outcome, Code: one.Code}, Job: one.Task, At: one.Created.UTC(),
		})
	}
	writeJSON(w, http.StatusOK, mediaJSON, history)
	return nil
}

// ItemHistory returns what became of an item, given as JSON, in the jobs of a kind, or ("") of all kinds, the newest first: at most limit records,
// or 5 if it is 0, of jobs whose items the caller may list.
func (c *Client) ItemHistory(ctx context.Context, kind string, item json.RawMessage, limit int) ([]ItemRecord, error) {
	query := url.Values{"item": {string(item)}}
	if kind != "" {
		query.Set("kind", kind)
	}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var h ItemHistory
	err := c.read(ctx, call{method: http.MethodGet, path: c.root() + "/items?" + query.Encode(), again: true}, &h)
	return h.Records, err
}
