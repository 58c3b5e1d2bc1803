package openapi_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// requestsEnv says how many requests each database gets. Without it there are a few hundred.
const requestsEnv = "TASKKIT_OPENAPI_REQUESTS"

// atOnce is how many requests are drawn and shrunk together.
const atOnce = 5

// hastyAfter is when a client leaves that does not wait for the answer.
const hastyAfter = 10 * time.Millisecond

// streamFor is how long a client reads an event stream, and eventsTemplate its path.
const (
	streamFor      = 100 * time.Millisecond
	eventsTemplate = "/jobs/{id}/events"
)

// Requests are drawn from the document that the server sends, and spoilt. Each answer is in
// the document: none says that the server has made a mistake, none has what is private, and
// what the document allows is not refused for its form.
func TestRequestsOfTheDocument(t *testing.T) {
	t.Parallel()
	requests := 400
	if text := os.Getenv(requestsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("read %s, which must be a number of requests: %q", requestsEnv, text)
		}
		requests = n
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		f := &fuzzer{generator: generator{document: read(t, e), person: e.person, own: e.own, others: e.others}, env: e, statuses: map[string]int{}}
		transport := &http.Transport{MaxIdleConnsPerHost: 4}
		t.Cleanup(transport.CloseIdleConnections)
		f.client = &http.Client{Transport: transport}
		for f.sent < requests && !t.Failed() {
			rapid.Check(t, func(rt *rapid.T) {
				for range atOnce {
					if f.sent < requests || rt.Failed() {
						f.request(rt)
					}
				}
			})
		}
		counts := map[string]any{"requests": f.sent, "left": f.left, "unsent": f.unsent}
		for _, status := range slices.Sorted(maps.Keys(f.statuses)) {
			counts["answers "+status] = f.statuses[status]
		}
		prove.Record(t, "openapi-"+db.Short(), counts)
	})
}

// fuzzer sends requests.
type fuzzer struct {
	generator
	env      *env
	client   *http.Client
	sent     int
	left     int // the client did not wait for the answer
	unsent   int // the client refuses to send it
	statuses map[string]int
}

// request draws a request, sends it and checks the answer.
func (f *fuzzer) request(t *rapid.T) {
	r := f.draw(t)
	a, err := f.send(t, r)
	switch {
	case errors.Is(err, errUnsent):
		f.unsent++
		return
	case (r.hasty || r.template == eventsTemplate) && errors.Is(err, context.DeadlineExceeded):
		f.left++
		return
	case err != nil:
		t.Fatalf("%v: %v", r, err)
	}
	f.statuses[strconv.Itoa(a.status)]++
	if wrong := f.wrong(r, a); wrong != "" {
		t.Fatalf("%v\nis answered with %d %v %.2000s\n%s", r, a.status, a.header, a.body, wrong)
	}
	// Later requests are about the jobs that were started, and not often about those that were deleted.
	if r.method == http.MethodDelete && (a.status == http.StatusOK || a.status == http.StatusNoContent) {
		f.own = slices.DeleteFunc(slices.Clone(f.own), func(id taskkit.ID) bool { return r.path == "/jobs/"+id.String() })
	}
	if location, ok := strings.CutPrefix(a.header.Get("Location"), "/jobs/"); ok && len(f.own) < 200 && r.header.Get(personHeader) == f.person.String() {
		id, err := uuid.Parse(location)
		if err != nil {
			t.Fatalf("%v: the location is %q", r, location)
		}
		f.own = append(slices.Clip(f.own), id)
	}
}

// errUnsent: the client refuses to send a request.
var errUnsent = errors.New("not sent")

func (f *fuzzer) send(t *rapid.T, r *request) (*answer, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	switch {
	case r.template == eventsTemplate:
		ctx, cancel = context.WithTimeout(t.Context(), streamFor)
	case r.hasty:
		ctx, cancel = context.WithTimeout(t.Context(), hastyAfter)
	}
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, f.env.web.URL+r.address, strings.NewReader(r.body))
	if err != nil {
		return nil, errUnsent
	}
	for name, lines := range r.header {
		if strings.ContainsFunc(lines[0], func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return nil, errUnsent
		}
		req.Header[name] = lines
	}
	f.sent++
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if r.template == eventsTemplate && errors.Is(err, context.DeadlineExceeded) {
		err = nil // the stream of a job that is not done does not end
	}
	return &answer{resp.StatusCode, resp.Header, string(body)}, err
}
