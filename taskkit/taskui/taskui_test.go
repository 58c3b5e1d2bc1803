package taskui_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskui"
)

var stopOnly = []taskhttp.Operation{taskhttp.OpStop}

// Mistakes of a configuration are returned by New, all at once.
func TestNewRefusesMistakes(t *testing.T) {
	t.Parallel()
	h, err := taskui.New(nil, nil, taskui.Config{Prefix: "tasks/", Timeout: -1})
	if h != nil || err == nil {
		t.Fatalf("%v, %v", h, err)
	}
	for _, want := range []string{"Config.Prefix", "Config.Timeout", "client"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if _, ok := errors.AsType[*taskkit.OptionError](err); !ok {
		t.Errorf("%v is no *OptionError", err)
	}
	for _, prefix := range []string{"//", "//other.example", "/a/", "a", "/a/../b"} {
		_, err := taskui.New(taskkit.NewClient(sqlite(t).DB), nil, taskui.Config{Prefix: prefix})
		if _, ok := errors.AsType[*taskkit.OptionError](err); !ok {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
	db := sqlite(t)
	tx, err := db.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := taskui.New(taskkit.NewClient(tx), nil, taskui.Config{}); err == nil || !strings.Contains(err.Error(), "*sql.DB") {
		t.Errorf("a client of a transaction: %v", err)
	}
}

// The dashboard works below any prefix, also one that it does not see: links are relative.
func TestPrefix(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	client := taskkit.NewClient(db.DB)
	for name, c := range map[string]struct {
		config taskui.Config
		wrap   func(http.Handler) http.Handler
		at     string
	}{
		"default":  {taskui.Config{}, nil, "/tasks"},
		"given":    {taskui.Config{Prefix: "/ops/tasks"}, nil, "/ops/tasks"},
		"root":     {taskui.Config{Prefix: "/"}, nil, ""},
		"stripped": {taskui.Config{Prefix: "/"}, func(h http.Handler) http.Handler { return http.StripPrefix("/deep/er", h) }, "/deep/er"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := taskui.New(client, nil, c.config)
			if err != nil {
				t.Fatal(err)
			}
			if c.wrap != nil {
				h = c.wrap(h)
			}
			e := &env{web: httptest.NewServer(h)}
			defer e.web.Close()
			home := e.page(t, c.at+"/", http.StatusOK)
			for _, want := range []string{`action="./list"`, `href="./assets/style-`} {
				if !strings.Contains(home.body, want) {
					t.Errorf("no %s in\n%s", want, home.body)
				}
			}
			style := e.do(t, http.MethodGet, c.at+"/"+firstOf(t, styleLink, home.body), "")
			if style.status != http.StatusOK || style.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || style.header.Get("Content-Type") != "text/css; charset=utf-8" {
				t.Errorf("style: %d %v", style.status, style.header)
			}
			deep := e.page(t, c.at+"/task/x", http.StatusNotFound)
			if !strings.Contains(deep.body, `href="../assets/style-`) {
				t.Errorf("links of a page below:\n%s", deep.body)
			}
			for _, path := range []string{"/nowhere", "/list/", "//list", "/task/../list", "/assets/style.css"} {
				e.page(t, c.at+path, http.StatusNotFound)
			}
			if c.at == "" {
				return
			}
			bare := e.do(t, http.MethodGet, c.at, "")
			if bare.status == http.StatusPermanentRedirect && bare.header.Get("Location") != c.at[strings.LastIndex(c.at, "/")+1:]+"/" {
				t.Errorf("redirect to %q", bare.header.Get("Location"))
			}
			if c.wrap == nil {
				e.page(t, "/elsewhere", http.StatusNotFound)
			}
		})
	}
}

// Without Access only browsers of the own machine are answered, and the others get the line to add.
func TestOnlyThisMachineWithoutAccess(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t), func(c *taskui.Config) { c.Access = nil })
	e.page(t, "/tasks/", http.StatusOK)
	e.page(t, "/tasks/", http.StatusOK, "Host", "localhost:8080")
	for _, header := range [][]string{
		{"X-Forwarded-For", "10.1.2.3"},
		{"X-Forwarded-Proto", "https"},
		{"Forwarded", "for=10.1.2.3"},
		{"Via", "1.1 proxy"},
		{"X-Real-Ip", "127.0.0.1"},
		{"Host", "other.example"},
		{"Host", "localhost.other.example:80"},
	} {
		a := e.page(t, "/tasks/", http.StatusForbidden, header...)
		if !strings.Contains(a.body, "taskui.Config{Access:") {
			t.Errorf("%v: no line to add in\n%s", header, a.body)
		}
	}
	for _, remote := range []string{"10.0.0.1:80", "@", "[fe80::1]:80"} {
		r := httptest.NewRequest(http.MethodGet, "/tasks/", http.NoBody)
		r.RemoteAddr, r.Host = remote, "localhost"
		w := httptest.NewRecorder()
		e.web.Config.Handler.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("from %s: %d", remote, w.Code)
		}
	}
}

// A request without access is refused before anything is read, and the reason is not sent.
func TestAccessIsRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	for _, path := range []string{"/tasks/", "/tasks/list", "/tasks/task/0192f0c1-0000-7000-8000-000000000000", "/tasks/nowhere"} {
		if a := e.as("stranger").page(t, path, http.StatusUnauthorized); strings.Contains(a.body, "MARKER") {
			t.Errorf("GET %s sends the reason:\n%s", path, a.body)
		}
	}
	for _, path := range []string{"/tasks/", "/tasks/list", "/tasks/task/0192f0c1-0000-7000-8000-000000000000"} {
		if a := e.as(nothing).page(t, path, http.StatusForbidden); strings.Contains(a.body, `aria-label="Pages"`) {
			t.Errorf("GET %s without access has a navigation", path)
		}
	}
	e.people["odd"] = taskui.Person{Level: taskui.Admin, Own: true}
	e.as("odd").page(t, "/tasks/", http.StatusUnauthorized)
}

// A page has a deadline, and says what to do when the database does not answer.
func TestDeadlineOfPages(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t), func(c *taskui.Config) { c.Timeout = time.Nanosecond })
	a := e.page(t, "/tasks/", http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "does not answer in time") {
		t.Errorf("%v\n%s", a.header, a.body)
	}
}

// The script is small, and the style has not one rule of another origin.
func TestAssetsAreSmall(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	home := e.page(t, "/tasks/", http.StatusOK)
	script := e.as("stranger").do(t, http.MethodGet, "/tasks/"+firstOf(t, scriptLink, home.body), "")
	if script.status != http.StatusOK || len(script.body) == 0 || len(script.body) > 10_000 || script.header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("script: %d, %d bytes, %v", script.status, len(script.body), script.header)
	}
	style := e.do(t, http.MethodGet, "/tasks/"+firstOf(t, styleLink, home.body), "")
	if lines := strings.Count(style.body, "\n"); lines > 450 || strings.Contains(style.body, "url(") || strings.Contains(style.body, "@import") {
		t.Errorf("style: %d lines", lines)
	}
}
