package taskhttp

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/csvcell"
	"taskkit.dev/taskkit"
)

// Item is an item of a job and what became of it.
type Item struct {
	// Item is the item as JSON, as the executor has it.
	Item    json.RawMessage `json:"item"`
	Outcome taskkit.Outcome `json:"outcome"`
	Code    string          `json:"code,omitempty"` // of an item that failed or was skipped
	// Stage is the stage of the job that has the item; "": the job has no stages. A stage of a stage is "outer/inner".
	Stage string `json:"stage,omitempty"`
	// Source is the job that the item is from, of a job that was started over failed items of several.
	Source taskkit.ID `json:"source,omitzero"`
}

// ItemsPage is a page of the items of a job.
type ItemsPage struct {
	Items []Item `json:"items"`
	// Next is the cursor of the next page; "": there is none.
	Next string `json:"next,omitempty"`
}

// The sizes of a page of items.
const (
	defaultItems = 100
	maxItems     = 10_000
)

// outcomes are the outcomes of items by which they are listed.
var outcomes = []taskkit.Outcome{
	taskkit.OutcomeFailed, taskkit.OutcomeSkipped, taskkit.OutcomeSucceeded, taskkit.OutcomeDeferred, taskkit.OutcomeUnprocessed,
}

// items sends a page of the items of a job, without the text of errors.
func (s *Server) items(w http.ResponseWriter, r *http.Request, who Caller) error {
	t, err := s.task(r, who, OpItems)
	if err != nil {
		return err
	}
	q, err := query(r, "outcome", "limit", "cursor")
	if err != nil {
		return err
	}
	outcome, limit := taskkit.OutcomeFailed, defaultItems
	if text, ok := q["outcome"]; ok {
		if outcome = taskkit.Outcome(text); !slices.Contains(outcomes, outcome) {
			return ErrBadParameter.because("outcome must be one of %v", outcomes)
		}
	}
	if text, ok := q["limit"]; ok {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxItems {
			return ErrBadParameter.because("limit must be between 1 and %d", maxItems)
		}
	}
	mediaType := accepted(r.Header.Values("Accept"), mediaJSON, mediaNDJSON, mediaCSV)
	if mediaType == "" {
		return ErrNotAcceptable
	}
	if j := s.job(r.Context(), who, t, 0); j.Status == Deleted {
		return ErrDeleted.of(j)
	}
	found, next, err := s.client.ItemsPage(r.Context(), t.ID, outcome, q["cursor"], limit)
	if err != nil {
		return unlisted(err)
	}
	page := ItemsPage{Items: []Item{}, Next: next}
	for _, i := range found {
		page.Items = append(page.Items, Item{i.Key, i.Outcome, i.Code, i.Stage, i.Source})
	}
	if next != "" {
		s.nextPage(w, r, next)
	}
	w.Header().Set("Vary", "Accept")
	body, err := page.encode(mediaType)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	// Who does not read the answer any more need not be told.
	_, _ = w.Write(body)
	return nil
}

// unlisted says why items cannot be listed.
func unlisted(err error) error {
	_, isItems := errors.AsType[*taskkit.ItemsError](err)
	option, isOption := errors.AsType[*taskkit.OptionError](err)
	switch {
	case isItems:
		return ErrNotPossible.because("items with this outcome are not recorded of this job")
	case isOption && option.Option == "cursor":
		return ErrBadParameter.because("cursor must be the one of the page before")
	case errors.Is(err, taskkit.ErrNotFound):
		return ErrNoSuchJob
	}
	return err
}

// encode writes a page. In CSV an item is JSON, as in the others.
func (p *ItemsPage) encode(mediaType string) ([]byte, error) {
	var b bytes.Buffer
	switch mediaType {
	case mediaNDJSON:
		lines := json.NewEncoder(&b)
		for _, i := range p.Items {
			if err := lines.Encode(i); err != nil {
				return nil, fmt.Errorf("encode an item: %w", err)
			}
		}
	case mediaCSV:
		rows := csv.NewWriter(&b)
		_ = rows.Write([]string{"item", "outcome", "code"}) // Error has it
		for _, i := range p.Items {
			_ = rows.Write([]string{string(i.Item), string(i.Outcome), csvcell.Write(i.Code)})
		}
		rows.Flush()
		if err := rows.Error(); err != nil {
			return nil, fmt.Errorf("encode an item: %w", err)
		}
	default:
		if err := json.NewEncoder(&b).Encode(p); err != nil {
			return nil, fmt.Errorf("encode a page of items: %w", err)
		}
	}
	return b.Bytes(), nil
}

// accepted returns the offer that the headers Accept like best, the first of equal ones;
// "": none. Without a header that can be read it is the first.
func accepted(lines []string, offers ...string) string {
	best, most, read := "", 0.0, false
	quality := map[string]float64{}
	for text := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		mediaType, params, err := mime.ParseMediaType(text)
		if err != nil {
			continue
		}
		read, quality[mediaType] = true, 1
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			quality[mediaType] = q
		}
	}
	if !read {
		return offers[0]
	}
	for _, offer := range offers {
		name, _, _ := strings.Cut(offer, ";")
		kind, _, _ := strings.Cut(offer, "/")
		for _, pattern := range []string{name, kind + "/*", "*/*"} { // the most specific counts
			if q, ok := quality[pattern]; ok {
				if q > most {
					best, most = offer, q
				}
				break
			}
		}
	}
	return best
}

// Items returns the items of a job with an outcome, page by page. The first error is the
// last element. What is recorded meanwhile may be missing.
func (c *Client) Items(ctx context.Context, id taskkit.ID, outcome taskkit.Outcome) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		query := url.Values{"outcome": {string(outcome)}, "limit": {"1000"}}
		for {
			var p ItemsPage
			if err := c.read(ctx, call{method: http.MethodGet, path: c.path(id, "/items?"+query.Encode()), again: true}, &p); err != nil {
				yield(Item{}, err)
				return
			}
			for _, i := range p.Items {
				if !yield(i, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			query.Set("cursor", p.Next)
		}
	}
}
