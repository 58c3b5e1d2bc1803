package command

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/taskkit/taskhttp"
)

// silent returns an application whose answers do not end: they have no head, or a head and no end.
func silent(t *testing.T, head bool, seen func(*http.Request)) *application {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		if head {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	app, err := (&applicationFlags{url: server.URL}).application()
	if err != nil {
		t.Fatal(err)
	}
	app.readWithin, app.startWithin = 50*time.Millisecond, 50*time.Millisecond
	return app
}

// An application that does not answer, or whose answer does not end, keeps no command: the kinds are not read, and whether a task was
// started is said to be unknown, with the key that makes the repetition safe.
func TestSilentApplication(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]bool{"no answer": false, "no end": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				mu   sync.Mutex
				keys []string
			)
			app := silent(t, head, func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Method == http.MethodPost {
					keys = append(keys, r.Header.Get("Idempotency-Key"))
				}
			})
			if _, err := app.kinds(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("read the kinds: %v", err)
			}
			for key, ctx := range map[string]func() (context.Context, context.CancelFunc){
				"": func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
				"of the user": func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), 10*time.Millisecond)
				},
			} {
				ctx, cancel := ctx()
				_, err := app.startWithKey(ctx, "/jobs/odd", key, []byte("{}"))
				interrupted := ctx.Err() != nil
				cancel()
				failed, ok := errors.AsType[*statusError](err)
				if !ok || !strings.Contains(failed.text, "not known whether the task was started") || (failed.code == exitInterrupted) != interrupted {
					t.Fatalf("start a task: %v", err)
				}
				mu.Lock()
				for _, sent := range keys {
					if sent == "" || key != "" && sent != key || !strings.Contains(failed.text, sent) {
						t.Errorf("the key %q is sent, and the error is %q", sent, failed.text)
					}
				}
				keys = nil
				mu.Unlock()
			}
		})
	}
}

// A start that the application refuses is known not to have happened.
func TestRefusedStart(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	t.Cleanup(server.Close)
	app, err := (&applicationFlags{url: server.URL}).application()
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.startWithKey(t.Context(), "/jobs/odd", "", []byte("{}"))
	if refused, ok := errors.AsType[*taskhttp.Error](err); !ok || refused.Status != http.StatusForbidden {
		t.Errorf("start a task: %v", err)
	}
}

// A watched application whose answers do not end is said to be unreachable.
func TestObserveAnswersWithoutEnd(t *testing.T) {
	t.Parallel()
	app := silent(t, true, func(*http.Request) {})
	reports := make(chan error, 10)
	app.observe(func(err error) { reports <- err })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, app.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := app.HTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err = resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = resp.Body.Read(make([]byte, 10))
	}
	if reported := <-reports; !errors.Is(reported, context.Canceled) {
		t.Errorf("reported: %v", reported)
	}
}
