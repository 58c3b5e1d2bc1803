package taskhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// rollSpec is the spec of a task that writes a file.
type rollSpec struct {
	File  string `json:"file"` // its path
	Lines int    `json:"lines"`
}

// rollResult is where a file is.
type rollResult struct {
	Where string `json:"where"`
}

// rollKind has tasks whose results are files.
var rollKind = taskkit.NewKind(taskkind.Definition[rollSpec, workState, rollResult]{Name: "roll", Preview: true})

const rollPath = "/people/roll"

// roll is the executor of rollKind.
type roll struct{}

func (roll) Execute(context.Context, *taskkit.Batch[rollSpec, workState]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

func (roll) Report(_ context.Context, b *taskkit.Batch[rollSpec, workState]) (rollResult, error) {
	if b.Preview {
		return rollResult{Where: "nowhere"}, nil
	}
	return rollResult{Where: b.Spec.File}, os.WriteFile(b.Spec.File, rollOf(b.Spec.Lines), 0o600)
}

// rollOf is the content of a file.
func rollOf(lines int) []byte {
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.Bytes()
}

// openRoll opens the file of a result. Where names what goes wrong in some tests.
func openRoll(_ context.Context, _ taskhttp.Caller, r rollResult) (*taskhttp.ResultFile, error) {
	switch filepath.Base(r.Where) {
	case "locked.csv":
		return nil, &taskhttp.Error{Type: "https://example.org/locked", Title: "The file is locked", Status: http.StatusLocked}
	case "lost.csv":
		return nil, errors.New("MARKER-STACK of the disk")
	case "broken.csv":
		return &taskhttp.ResultFile{Name: r.Where, Content: broken{strings.NewReader(string(rollOf(100_000)))}}, nil
	}
	f, err := os.Open(r.Where)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &taskhttp.ResultFile{Name: r.Where, Modified: info.ModTime(), Content: f}, nil
}

// broken is a file whose end cannot be read.
type broken struct{ *strings.Reader }

func (b broken) Read(p []byte) (int, error) {
	if b.Len() < 400_000 {
		panic("MARKER-STACK of a reader")
	}
	return b.Reader.Read(p)
}

func (broken) Close() error { return nil }

// rollIn starts a job that writes a file of a directory, and waits for its end.
func (e *env) rollIn(t *testing.T, dir, name string, lines int) taskhttp.Job {
	t.Helper()
	r := e.do(t, "POST", rollPath, fmt.Sprintf(`{"file":%q,"lines":%d}`, filepath.Join(dir, name), lines))
	return e.reach(t, r.job(t).ID, taskhttp.Succeeded)
}

// A result that is a file is sent whole or in ranges, under its name alone, and a failure is a
// problem.
func TestFileResults(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		dir := t.TempDir()
		j := e.rollIn(t, dir, "roll of Müller.csv", 100_000)
		want := string(rollOf(100_000))
		result := path(j.ID) + "/result"
		if link := j.Links["result"]; link.Href != result || !link.File {
			t.Errorf("%+v, want a link to a file", link)
		}
		whole := e.do(t, "GET", result, "")
		if whole.status != 200 || whole.body != want || whole.header.Get("Content-Type") != "text/csv; charset=utf-8" ||
			whole.header.Get("Content-Disposition") != "attachment; filename*=utf-8''roll%20of%20M%C3%BCller.csv" || whole.header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%d %v, %d bytes", whole.status, whole.header, len(whole.body))
		}
		tag := whole.header.Get("ETag")
		for name, c := range map[string]struct {
			header []string
			status int
			body   string
		}{
			"a range":               {[]string{"Range", "bytes=8-23"}, 206, want[8:24]},
			"the end":               {[]string{"Range", "bytes=-8"}, 206, want[len(want)-8:]},
			"of the same":           {[]string{"Range", "bytes=8-", "If-Range", tag}, 206, want[8:]},
			"of another":            {[]string{"Range", "bytes=8-", "If-Range", `"other"`}, 200, want},
			"a unit that is none":   {[]string{"Range", "lines=1-2"}, 200, want},
			"unchanged":             {[]string{"If-None-Match", tag}, 304, ""},
			"a condition of writes": {[]string{"If-Match", `"other"`}, 200, want},
		} {
			r := e.do(t, "GET", result, "", c.header...)
			if r.status != c.status || c.status < 400 && r.body != c.body {
				t.Errorf("%s: %d, %d bytes", name, r.status, len(r.body))
			}
		}
		beyond := e.do(t, "GET", result, "", "Range", "bytes=1000000-")
		check(t, "beyond the end", beyond, 416, taskhttp.ErrRange)
		if beyond.header.Get("Content-Range") != "bytes */800000" || beyond.header.Get("Content-Disposition") != "" || beyond.header.Get("ETag") != "" {
			t.Errorf("beyond the end: %v", beyond.header)
		}
		if r := e.do(t, "HEAD", result, ""); r.status != 200 || r.header.Get("Content-Length") != "800000" {
			t.Errorf("HEAD: %d %v", r.status, r.header)
		}
		check(t, "another's", e.as(uuid.New()).do(t, "GET", result, ""), 404, taskhttp.ErrNoSuchJob)
		preview := e.do(t, "POST", rollPath+"?preview=true", `{"file":"none","lines":1}`).job(t)
		preview = e.reach(t, preview.ID, taskhttp.Succeeded)
		if r := e.do(t, "GET", path(preview.ID)+"/result", ""); r.status != 200 || r.body != `{"where":"nowhere"}` || preview.Links["result"].File {
			t.Errorf("of a preview: %d %s, %v", r.status, r.body, preview.Links)
		}

		if err := os.Remove(filepath.Join(dir, "roll of Müller.csv")); err != nil {
			t.Fatal(err)
		}
		check(t, "removed", e.do(t, "GET", result, ""), 410, taskhttp.ErrExpired)
		lost := e.do(t, "GET", path(e.rollIn(t, dir, "lost.csv", 1).ID)+"/result", "")
		check(t, "lost", lost, 503, taskhttp.ErrUnavailable)
		if locked := e.do(t, "GET", path(e.rollIn(t, dir, "locked.csv", 1).ID)+"/result", ""); locked.status != http.StatusLocked || !strings.Contains(locked.body, "locked") {
			t.Errorf("locked: %d %s", locked.status, locked.body)
		}
		for _, body := range []string{lost.body, beyond.body} {
			if strings.Contains(body, "MARKER") || strings.Contains(body, dir) {
				t.Errorf("%s has what is private", body)
			}
		}
	})
}

// A file whose end cannot be read breaks the connection off, whatever was asked for. Nothing else ends with it.
func TestFileBreaksOff(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.rollIn(t, t.TempDir(), "broken.csv", 1)
		for _, ranges := range []string{"", "bytes=0-799999", "bytes=0-0,8-799999"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.web.URL+path(j.ID)+"/result", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Person", e.person.String())
			if ranges != "" {
				r.Header.Set("Range", ranges)
			}
			resp, err := e.web.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if resp.Body.Close(); !errors.Is(err, io.ErrUnexpectedEOF) || bytes.Contains(body, []byte("MARKER")) || bytes.Contains(body, []byte("problems/")) {
				t.Errorf("%q: %d, %d bytes, %v", ranges, resp.StatusCode, len(body), err)
			}
		}
		if got := e.do(t, "GET", path(j.ID), ""); got.status != 200 {
			t.Errorf("afterwards: %d %s", got.status, got.body)
		}
	})
}

// Only a GET begins the time after which a result may be erased, also of a file.
func TestFetchOfFile(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.rollIn(t, t.TempDir(), "roll.csv", 1)
		at := func() time.Time { return *e.do(t, "GET", path(j.ID), "").job(t).ExpiresAt }
		before := at()
		e.do(t, "HEAD", path(j.ID)+"/result", "")
		if after := at(); !after.Equal(before) {
			t.Errorf("HEAD: it expires at %v, and not at %v", after, before)
		}
		lost := e.rollIn(t, t.TempDir(), "lost.csv", 1)
		e.do(t, "GET", path(lost.ID)+"/result", "")
		if now := e.do(t, "GET", path(lost.ID), "").job(t); !now.ExpiresAt.Equal(*lost.ExpiresAt) {
			t.Errorf("a file that could not be opened was fetched: it expires at %v, and not at %v", now.ExpiresAt, lost.ExpiresAt)
		}
		e.do(t, "GET", path(j.ID)+"/result", "", "Range", "bytes=0-0")
		if after := at(); !after.Before(before) {
			t.Errorf("GET: it expires at %v as before", after)
		}
	})
}

// A download goes on where its connection was lost.
func TestDownload(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		dir := t.TempDir()
		j := e.rollIn(t, dir, "roll.csv", 500_000)
		c := e.caller()
		cut := &cutting{RoundTripper: e.web.Client().Transport, after: 1 << 20}
		c.HTTP = &http.Client{Transport: cut}
		var got bytes.Buffer
		name, n, err := c.Download(t.Context(), j.ID, &got)
		if err != nil || name != "roll.csv" || n != 4_000_000 || !bytes.Equal(got.Bytes(), rollOf(500_000)) || cut.cuts < 3 {
			t.Errorf("%s, %d bytes after %d lost connections: %v", name, n, cut.cuts, err)
		}
		if _, err := taskhttp.Fetch[rollResult](t.Context(), e.caller(), j.ID); err == nil || !strings.Contains(err.Error(), "Client.Download") {
			t.Errorf("a fetch as JSON: %v", err)
		}

		got.Reset()
		job, name, n, err := e.caller().AwaitFile(t.Context(), rollPath, rollSpec{File: filepath.Join(dir, "other.csv"), Lines: 2}, &got, nil)
		if err != nil || job.Status != taskhttp.Succeeded || name != "other.csv" || n != 16 || got.String() != "0000000\n0000001\n" {
			t.Errorf("awaited: %+v %s %d %q, %v", job, name, n, got.String(), err)
		}

		// A file that changes between two parts is not put together of both.
		cut.then = func() {
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "roll.csv"), later, later); err != nil {
				t.Error(err)
			}
		}
		if _, n, err := c.Download(t.Context(), j.ID, io.Discard); err == nil || !strings.Contains(err.Error(), "changed") || n != 1<<20 {
			t.Errorf("a changed file: %d bytes, %v", n, err)
		}
		full := errors.New("the disk is full")
		if _, _, err := c.Download(t.Context(), j.ID, writer(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
			t.Errorf("a writer that fails: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "roll.csv")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if _, _, err := c.Download(t.Context(), j.ID, io.Discard); !errors.Is(err, taskhttp.ErrExpired) {
			t.Errorf("a removed file: %v", err)
		}
		got.Reset()
		plain := e.reach(t, e.start(t, done).ID, taskhttp.Succeeded)
		if name, _, err := c.Download(t.Context(), plain.ID, &got); err != nil || name != "" || got.String() != `{"items":4}` {
			t.Errorf("a result that is no file: %q %q %v", name, got.String(), err)
		}
	})
}

// cutting loses each connection after so many bytes of a body.
type cutting struct {
	http.RoundTripper

	after int64
	cuts  int
	then  func()
}

// RoundTrip implements http.RoundTripper.
func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err != nil || resp.ContentLength <= c.after {
		return resp, err
	}
	body := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(body, c.after), reader(func([]byte) (int, error) {
		c.cuts++
		if c.then != nil {
			c.then()
		}
		return 0, io.ErrUnexpectedEOF
	})), body}
	return resp, nil
}

type reader func([]byte) (int, error)

func (f reader) Read(b []byte) (int, error) { return f(b) }

type writer func([]byte) (int, error)

func (f writer) Write(b []byte) (int, error) { return f(b) }
