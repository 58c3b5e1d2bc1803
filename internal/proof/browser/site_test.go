package browser_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

// site is a dashboard over the database of a test.
type site struct {
	db     *testdb.DB
	schema string
	client *taskkit.Client
	url    string
	people map[string]taskui.Person
	away   atomic.Bool // it answers 503
}

// The people of the tests. A tab is the one of an administrator until it is changed.
const (
	admin     = "admin"
	colleague = "colleague" // another administrator
	reader    = "reader"
	owner     = "owner" // sees its own tasks
	stranger  = "stranger"
	nothing   = "nothing"
)

var errStranger = errors.New("nothing is known of the person")

// newSite serves a dashboard at a random port of this machine.
func newSite(tb testing.TB, db *testdb.DB, r *taskkit.Registry) *site {
	tb.Helper()
	return newSiteAt(tb, db, r, strings.TrimSuffix(prefix, "/"))
}

// newSiteAt is newSite with another prefix.
func newSiteAt(tb testing.TB, db *testdb.DB, r *taskkit.Registry, prefix string) *site {
	tb.Helper()
	s := &site{db: db, schema: db.Schema, people: map[string]taskui.Person{
		admin:     {ID: uuid.New(), Name: "Ada Admin", Level: taskui.Admin},
		colleague: {ID: uuid.New(), Name: "Carl Colleague", Level: taskui.Admin},
		reader:    {ID: uuid.New(), Name: "Rita Reader", Level: taskui.Read},
		owner:     {ID: uuid.New(), Name: "Olga Owner", Level: taskui.Operate, Own: true},
		nothing:   {ID: uuid.New(), Name: "Nora Nothing"},
	}}
	if s.schema == "" {
		s.schema = taskkit.DefaultSchema
	}
	s.client = taskkit.NewClient(db.DB, taskkit.WithSchema(s.schema))
	h, err := taskui.New(s.client, r, taskui.Config{
		Access: func(r *http.Request) (taskui.Person, error) {
			signedIn, err := r.Cookie("person")
			if err != nil {
				return taskui.Person{}, err
			}
			p, ok := s.people[signedIn.Value]
			if !ok {
				return p, errStranger
			}
			return p, nil
		},
		Prefix: prefix, Timeout: time.Minute, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	}))
	tb.Cleanup(web.Close)
	s.url = web.URL
	return s
}

// tab opens a tab of an administrator. It closes before the server of the site does.
func (s *site) tab(tb testing.TB, l appearance) *tab {
	tb.Helper()
	t := openTab(tb, s.url, l)
	t.as(admin)
	return t
}

// as changes who uses the tab.
func (t *tab) as(person string) {
	t.Helper()
	call(t, network.SetCookie, network.SetCookieParams{Name: "person", Value: person, URL: t.site + "/"})
}

// eachSite runs a test with a dashboard on each kind of database.
func eachSite(t *testing.T, r func() *taskkit.Registry, f func(t *testing.T, s *site)) {
	t.Helper()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) { f(t, newSite(t, db, r())) })
}

// migrated returns a database with taskkit's tables, for what does not depend on the kind of database.
func migrated(tb testing.TB) *testdb.DB {
	tb.Helper()
	db := testdb.SQLite(tb)
	if err := taskkit.Migrate(tb.Context(), db.DB, taskkit.DefaultSchema); err != nil {
		tb.Fatal(err)
	}
	return db
}
