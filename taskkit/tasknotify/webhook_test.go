package tasknotify_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

// secret returns a secret of n bytes.
func secret(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, n))
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// request is what a receiver was sent.
type request struct {
	id, timestamp, signature string
	body                     []byte
}

// receiver is a real HTTP server, which answers the tries of a notification one after another; the last answer goes on.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	tries []request
}

func newReceiver(t *testing.T, answers ...http.HandlerFunc) *receiver {
	t.Helper()
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		n := len(r.tries)
		r.tries = append(r.tries, request{q.Header.Get("webhook-id"), q.Header.Get("webhook-timestamp"), q.Header.Get("webhook-signature"), body})
		r.mu.Unlock()
		answers[min(n, len(answers)-1)](w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.tries...)
}

func answer(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func webhookTo(url string) *tasknotify.Webhook {
	return &tasknotify.Webhook{URL: url, Secrets: []string{secret(24)}, Allow: loopback, PlainHTTP: true}
}

// A webhook is signed as Standard Webhooks says, by both secrets of a rotation, and all tries have one id.
func TestMID59Webhook(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		to := newReceiver(t, answer(503), answer(429), answer(200))
		hook := webhookTo(to.URL + "/hooks")
		hook.Secrets = append(hook.Secrets, secret(64))
		kind := newKind("numbers", "")
		startedWith(t, db, tasknotify.Config{
			Targets: map[string]tasknotify.Target{"ops": hook},
			Link:    func(n notice.Notice) string { return "https://jobs.example/" + n.Task.String() },
		}, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		id := submitted(t, db, kind, below(11), taskkit.WithNotifications("ops"))
		ended(t, db, id)
		all := deliveries(t, db, id)
		if len(all) != 1 || all[0].Status != taskkit.StatusCompleted || all[0].Progress.Done != 1 {
			t.Fatalf("delivered by %+v", all)
		}
		tries := to.all()
		if len(tries) != 3 {
			t.Fatalf("%d tries, want 3", len(tries))
		}
		for _, try := range tries {
			if try.id != "msg_"+all[0].ID.String() {
				t.Errorf("id %s, want the id of task %s", try.id, all[0].ID)
			}
			signatures := strings.Fields(try.signature)
			for i, n := range []int{24, 64} {
				h := hmac.New(sha256.New, bytes.Repeat([]byte{7}, n))
				fmt.Fprintf(h, "%s.%s.%s", try.id, try.timestamp, try.body)
				if want := "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil)); len(signatures) != 2 || signatures[i] != want {
					t.Errorf("signed as %s, want %s among them", try.signature, want)
				}
			}
		}
		var p tasknotify.Payload
		if err := json.Unmarshal(tries[0].body, &p); err != nil {
			t.Fatal(err)
		}
		want := tasknotify.PayloadData{
			Task: id, Kind: "numbers", Queue: "default", Owner: taskkit.SystemOwner, Status: "COMPLETED",
			Items: tasknotify.Counts{Done: 9, Failed: 2, Total: 11}, Link: "https://jobs.example/" + id.String(),
		}
		if p.Type != "task.completed" || p.Timestamp.IsZero() || p.Data != want {
			t.Errorf("sent %+v, want %+v", p, want)
		}
	})
}

// Each answer of a receiver has its meaning: what is tried again, what is a dead letter, and what unsubscribes.
func TestMID59Answers(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		huge := func(w http.ResponseWriter, _ *http.Request) {
			page := bytes.Repeat([]byte("x"), 1<<16)
			for range 1 << 12 { // 256 MB, of which 64 kB are read
				if _, err := w.Write(page); err != nil {
					return
				}
			}
		}
		silent := func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
		dribbles := func(w http.ResponseWriter, q *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-q.Context().Done()
		}
		elsewhere := newReceiver(t, answer(200))
		type outcome struct {
			answers []http.HandlerFunc
			tries   int
			code    string // of the failure; "": it was delivered
			skipped bool
		}
		cases := map[string]outcome{
			"ok":                 {[]http.HandlerFunc{answer(204)}, 1, "", false},
			"500, then ok":       {[]http.HandlerFunc{answer(500), answer(200)}, 2, "", false},
			"408, then ok":       {[]http.HandlerFunc{answer(408), answer(200)}, 2, "", false},
			"500 for ever":       {[]http.HandlerFunc{answer(500)}, 5, "error", false},
			"404":                {[]http.HandlerFunc{answer(404)}, 1, "webhook_refused", false},
			"redirect":           {[]http.HandlerFunc{answer(302, "Location", elsewhere.URL)}, 1, "webhook_redirect", false},
			"permanent redirect": {[]http.HandlerFunc{answer(308, "Location", elsewhere.URL)}, 1, "webhook_redirect", false},
			"gone":               {[]http.HandlerFunc{answer(410)}, 1, "", true},
			"huge":               {[]http.HandlerFunc{huge}, 1, "", false},
			"silent, then ok":    {[]http.HandlerFunc{silent, answer(200)}, 2, "", false},
			"a body without end": {[]http.HandlerFunc{dribbles}, 1, "", false},
		}
		targets, receivers := make(map[string]tasknotify.Target), make(map[string]*receiver)
		names := make(map[string]string)
		for name, c := range cases {
			target := fmt.Sprintf("t%d", len(names))
			names[name], receivers[name] = target, newReceiver(t, c.answers...)
			hook := webhookTo(receivers[name].URL)
			if strings.Contains(name, "silent") || strings.Contains(name, "without end") {
				hook.SetWithin(500 * time.Millisecond)
			}
			targets[target] = hook
		}
		kind := newKind("numbers", "")
		started(t, db, targets, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				id := submitted(t, db, kind, below(3), taskkit.WithNotifications(names[name]))
				ended(t, db, id)
				all := deliveries(t, db, id)
				if len(all) != 1 {
					t.Fatalf("%d tasks deliver", len(all))
				}
				d := task(t, db, all[0].ID)
				code, _, _ := strings.Cut(d.StatusDetail, ":")
				if (c.code == "") != (d.Status == taskkit.StatusCompleted) || c.code != "" && code != c.code || (d.Progress.Skipped == 1) != c.skipped {
					t.Errorf("ended as %s (%s) with %+v, want code %q", d.Status, d.StatusDetail, d.Progress, c.code)
				}
				if tries := receivers[name].all(); len(tries) != c.tries {
					t.Errorf("%d tries, want %d", len(tries), c.tries)
				}
				if strings.Contains(d.StatusDetail, secret(24)) {
					t.Errorf("the secret is in %q", d.StatusDetail)
				}
			})
		}
		t.Cleanup(func() {
			if n := len(elsewhere.all()); n > 0 {
				t.Errorf("%d redirects were followed", n)
			}
		})
	})
}

// A receiver that has answered 410 gets nothing any more, until it is subscribed again.
func TestMID59Unsubscribed(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		to := newReceiver(t, answer(410), answer(200))
		kind := newKind("numbers", "ops")
		started(t, db, map[string]tasknotify.Target{"ops": webhookTo(to.URL)}, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		notified := func() {
			t.Helper()
			id := submitted(t, db, kind, below(3))
			ended(t, db, id)
			if all := deliveries(t, db, id); len(all) != 1 || all[0].Status != taskkit.StatusCompleted {
				t.Fatalf("delivered by %+v", all)
			}
		}
		for range 3 {
			notified()
		}
		if n := len(to.all()); n != 1 {
			t.Errorf("after a 410 there were %d tries, want 1", n)
		}
		for _, want := range []bool{true, false} {
			if is, err := tasknotify.Resubscribe(t.Context(), db.DB, schemaOf(db), "ops", to.URL); err != nil || is != want {
				t.Errorf("subscribed again: %t, %v, want %t", is, err, want)
			}
		}
		notified()
		if n := len(to.all()); n != 2 {
			t.Errorf("subscribed again there were %d tries, want 2", n)
		}
	})
}

// A receiver says when the next try may be, and the task waits for it.
func TestMID59RetryAfter(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		to := newReceiver(t, answer(429, "Retry-After", "3600"), answer(200))
		kind := newKind("numbers", "ops")
		started(t, db, map[string]tasknotify.Target{"ops": webhookTo(to.URL)}, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		id := submitted(t, db, kind, below(3))
		ended(t, db, id)
		until(t, "the notification waits for an hour", func() bool {
			page, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{Kinds: []string{tasknotify.Kind.Name()}, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return len(page) == 1 && page[0].Status == taskkit.StatusQueued && time.Until(page[0].NotBefore) > 50*time.Minute
		})
		if n := len(to.all()); n != 1 {
			t.Errorf("%d tries, want 1", n)
		}
	})
}

// What is wrong with a target is a typed error before a worker begins.
func TestMID59Refused(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	hook := func(change func(*tasknotify.Webhook)) map[string]tasknotify.Target {
		w := &tasknotify.Webhook{URL: "https://ops.example/hooks", Secrets: []string{secret(24)}}
		change(w)
		return map[string]tasknotify.Target{"ops": w}
	}
	for name, c := range map[string]struct {
		targets map[string]tasknotify.Target
		problem string
	}{
		"no target":      {nil, "empty"},
		"a nil target":   {map[string]tasknotify.Target{"ops": nil}, "is nil"},
		"a nil webhook":  {map[string]tasknotify.Target{"ops": (*tasknotify.Webhook)(nil)}, "nil *Webhook"},
		"a nil mail":     {map[string]tasknotify.Target{"ops": (*tasknotify.Mail)(nil)}, "nil *Mail"},
		"a name":         {map[string]tasknotify.Target{"Ops!": new(inbox)}, `"Ops!"`},
		"no secret":      {hook(func(w *tasknotify.Webhook) { w.Secrets = nil }), "has 0 secrets"},
		"three secrets":  {hook(func(w *tasknotify.Webhook) { w.Secrets = []string{secret(24), secret(25), secret(26)} }), "has 3 secrets"},
		"a short secret": {hook(func(w *tasknotify.Webhook) { w.Secrets = []string{secret(24), secret(23)} }), "has 23 bytes"},
		"a long secret":  {hook(func(w *tasknotify.Webhook) { w.Secrets = []string{secret(65)} }), "has 65 bytes"},
		"a raw secret":   {hook(func(w *tasknotify.Webhook) { w.Secrets = []string{strings.Repeat("a", 32)} }), "does not begin with whsec_"},
		"no base64":      {hook(func(w *tasknotify.Webhook) { w.Secrets = []string{"whsec_" + strings.Repeat("!", 32)} }), "is not base64"},
		"no URL":         {hook(func(w *tasknotify.Webhook) { w.URL = "" }), "is no URL"},
		"plain HTTP":     {hook(func(w *tasknotify.Webhook) { w.URL = "http://ops.example" }), "use https"},
		"another scheme": {hook(func(w *tasknotify.Webhook) { w.URL, w.PlainHTTP = "ftp://ops.example", true }), "begins with ftp"},
		"a user":         {hook(func(w *tasknotify.Webhook) { w.URL = "https://me:pass@ops.example" }), "has a user"},
		"a private host": {hook(func(w *tasknotify.Webhook) { w.URL = "https://10.0.0.7/hooks" }), "10.0.0.7 is no address of the public network"},
		"metadata":       {hook(func(w *tasknotify.Webhook) { w.URL = "https://169.254.169.254/" }), "169.254.169.254 is no address"},
		"a mapped host":  {hook(func(w *tasknotify.Webhook) { w.URL = "https://[::ffff:127.0.0.1]/" }), "is no address of the public network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r taskkit.Registry
			err := tasknotify.Register(&r, tasknotify.Config{DB: db.DB, Targets: c.targets})
			var option *taskkit.OptionError
			if !errors.As(err, &option) || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%v, want an *OptionError with %q", err, c.problem)
			}
			if strings.Contains(fmt.Sprint(err), "pass") || strings.Contains(fmt.Sprint(err), "aaaa") {
				t.Errorf("the error has a secret: %v", err)
			}
		})
	}
}
